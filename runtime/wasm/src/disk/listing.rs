//! Listing a folder in bounded memory.
//!
//! `wasmtime-wasi` reads a folder whole and asks for the metadata of each entry before the guest sees the first. Here a
//! listing holds one handle and [`BATCH`] entries whatever the folder's size, and the kernel's own entry type is used.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::sync::Arc;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorType, DirectoryEntry, ErrorCode};
use wasmtime_wasi::runtime::spawn_blocking;

/// Entries looked at ahead of the guest: at most 64 KiB of names.
const BATCH: usize = 256;

/// A folder being listed. Names that are not UTF-8 are left out: no guest could be given them, and an error would end its listing.
pub(super) struct Listing {
    /// `None` once the folder has no more.
    rest: Option<Dir>,
    ready: VecDeque<Result<DirectoryEntry, ErrorCode>>,
    in_place: bool,
}

impl Listing {
    /// Starts to list `folder`; the position of its own handle is not used.
    pub(super) async fn open(folder: &Arc<File>, in_place: bool) -> FsResult<Self> {
        let rest = super::blocking(in_place, folder, |folder| -> io::Result<Dir> {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            Ok(Dir::new(rustix::fs::openat(folder, ".", flags, Mode::empty())?)?)
        })
        .await?;
        Ok(Self { rest: Some(rest), ready: VecDeque::new(), in_place })
    }

    /// The next entry, in the file system's order, without `.` and `..`.
    pub(super) async fn next(&mut self) -> FsResult<Option<DirectoryEntry>> {
        while self.ready.is_empty()
            && let Some(rest) = self.rest.take()
        {
            let (rest, ready) =
                if self.in_place { batch(rest) } else { spawn_blocking(move || batch(rest)).await };
            self.rest = rest;
            self.ready = ready;
        }
        Ok(self.ready.pop_front().transpose()?)
    }
}

fn batch(mut rest: Dir) -> (Option<Dir>, VecDeque<Result<DirectoryEntry, ErrorCode>>) {
    let mut ready = VecDeque::with_capacity(16);
    for _ in 0..BATCH {
        match rest.read() {
            None => return (None, ready),
            Some(Err(error)) => {
                ready.push_back(Err(io::Error::from(error).into()));
                return (None, ready);
            }
            Some(Ok(entry)) => match entry.file_name().to_str() {
                Ok("." | "..") => {}
                Ok(name) => {
                    let mut kind = entry.file_type();
                    if kind == FileType::Unknown {
                        kind = kind_of(&rest, name);
                    }
                    ready.push_back(Ok(DirectoryEntry {
                        type_: descriptor_type(kind),
                        name: name.to_owned(),
                    }));
                }
                Err(_) => tracing::debug!(name = ?entry.file_name(), "a name that is not UTF-8 is left out"),
            },
        }
    }
    (Some(rest), ready)
}

/// Asks for the type where the file system does not list it; unknown when the entry has gone meanwhile.
fn kind_of(folder: &Dir, name: &str) -> FileType {
    folder
        .fd()
        .and_then(|folder| rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW))
        .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
}

fn descriptor_type(kind: FileType) -> DescriptorType {
    match kind {
        FileType::RegularFile => DescriptorType::RegularFile,
        FileType::Directory => DescriptorType::Directory,
        FileType::Symlink => DescriptorType::SymbolicLink,
        FileType::CharacterDevice => DescriptorType::CharacterDevice,
        FileType::BlockDevice => DescriptorType::BlockDevice,
        FileType::Fifo | FileType::Socket | FileType::Unknown => DescriptorType::Unknown,
    }
}
