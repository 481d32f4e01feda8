//! The host's side of a mount: what tools read, write and list below it. Nothing here waits for anybody, whatever lies there.
//!
//! Owns: opening, reading, writing and listing below one mount. Does not own: which mount a path belongs to.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, FileExt as _, FileType, Metadata, OpenOptions, OpenOptionsExt as _};
use dormouse_core::sandbox::{Entry, EntryKind, Piece, SpecMount};
use dormouse_core::{Access, Error, ErrorCode, GuestPath, Result};
use rustix::fs::OFlags;

/// Entries of a mount that are looked at for one listing.
const MAX_ENTRIES: usize = 100_000;
/// Bytes of all their paths (32 MiB).
const MAX_PATHS: usize = 32 << 20;
/// Longest path below a mount that is looked at, in bytes, as the system has it.
const MAX_PATH: usize = 4_095;
/// Most bytes of a mounted file that one call reads (256 MiB): the host's files have no quota.
pub(super) const MAX_READ: u64 = 256 << 20;

/// A path below a mount.
#[derive(Clone)]
pub(super) struct Below {
    pub(super) path: GuestPath,
    /// What is left of it below the mount.
    pub(super) rest: String,
    pub(super) mount: SpecMount,
}

impl Below {
    /// Does what may wait for a disk or a network away from the event loop.
    pub(super) async fn blocking<T: Send + 'static>(
        self,
        work: impl FnOnce(&Self, &Dir) -> io::Result<T> + Send + 'static,
    ) -> Result<T> {
        tokio::task::spawn_blocking(move || {
            let done = Dir::open_ambient_dir(&self.mount.source, ambient_authority())
                .and_then(|folder| work(&self, &folder));
            done.map_err(|error| self.failed(error))
        })
        .await
        .map_err(|error| Error::internal("a mounted folder was not reached", error))?
    }

    fn failed(&self, error: io::Error) -> Error {
        let shown = self.path.as_str().escape_debug();
        let (code, why, hint) = match error.kind() {
            io::ErrorKind::NotFound => (
                ErrorCode::NotFound,
                "there is no such file or folder",
                "list the folder to see what there is",
            ),
            io::ErrorKind::PermissionDenied => (
                ErrorCode::PathDenied,
                "it cannot be reached",
                "links of a mounted folder lead nowhere outside it",
            ),
            io::ErrorKind::AlreadyExists => (
                ErrorCode::ArgsInvalid,
                "the new name is taken",
                "choose another name, or have it take the place with `replace`",
            ),
            io::ErrorKind::FileTooLarge => (
                ErrorCode::TooLarge,
                "there is too much of it for one call",
                "look at a part of it, or work on it with a program of the sandbox",
            ),
            io::ErrorKind::DirectoryNotEmpty => (
                ErrorCode::ArgsInvalid,
                "the folder is not empty",
                "to remove it with all that it holds, say `recursive`",
            ),
            _ => (ErrorCode::ArgsInvalid, "it is no file or folder that this can be done with", ""),
        };
        let told = Error::new(code, format!("`{shown}`: {why}")).with_source(error);
        if hint.is_empty() { told } else { told.with_hint(hint) }
    }

    /// # Errors
    /// `write_denied` below a read-only mount.
    pub(super) fn writable(self) -> Result<Self> {
        if self.mount.access == Access::ReadWrite {
            return Ok(self);
        }
        let (shown, target) = (self.path.as_str().escape_debug(), &self.mount.target);
        Err(Error::new(ErrorCode::WriteDenied, format!("`{shown}`: `{target}` is mounted read-only"))
            .with_hint("copy it to a place of the sandbox's own, such as below `/workspace`"))
    }

    /// # Errors
    /// `args_invalid` for the mount itself, which neither goes nor gets another name.
    pub(super) fn inner(self) -> Result<Self> {
        if self.rest != "." {
            return Ok(self);
        }
        Err(Error::args_invalid(format!("`{}` is a mount", self.path)).with_hint("name something below it"))
    }

    /// Gives it another name below the same mount, and makes the folders above that.
    ///
    /// # Errors
    /// With the path that is in the way: the new one for what stands there or above it.
    pub(super) fn rename(&self, folder: &Dir, onto: &Self, replace: bool) -> Result<()> {
        folder.symlink_metadata(&self.rest).map_err(|error| self.failed(error))?;
        let renamed = if !replace && folder.symlink_metadata(&onto.rest).is_ok() {
            Err(io::ErrorKind::AlreadyExists.into())
        } else {
            make_above(folder, &onto.rest).and_then(|()| folder.rename(&self.rest, folder, &onto.rest))
        };
        renamed.map_err(|error| match error.kind() {
            io::ErrorKind::DirectoryNotEmpty => {
                onto.failed(error).with_hint("choose another name, or remove what is in that folder")
            }
            // A folder that would move into itself.
            io::ErrorKind::InvalidInput => self.failed(error),
            _ => onto.failed(error),
        })
    }

    /// An open regular file.
    pub(super) fn file(&self, folder: &Dir) -> io::Result<File> {
        self.opened(folder, OpenOptions::new().read(true))
    }

    /// Writes the whole of a regular file, and makes the folders above it.
    pub(super) fn put(&self, folder: &Dir, bytes: &[u8]) -> io::Result<()> {
        make_above(folder, &self.rest)?;
        // It is emptied once it is known to be a file.
        let mut file = self.opened(folder, OpenOptions::new().write(true).create(true).truncate(false))?;
        file.set_len(0)?;
        file.write_all(bytes)
    }

    /// Adds to the end of a regular file; answers its size. When not all fits, it is as it was.
    pub(super) fn add(&self, folder: &Dir, bytes: &[u8]) -> io::Result<u64> {
        make_above(folder, &self.rest)?;
        let mut file = self.opened(folder, OpenOptions::new().append(true).create(true))?;
        let before = file.metadata()?.len();
        if let Err(error) = file.write_all(bytes) {
            file.set_len(before)?;
            return Err(error);
        }
        Ok(before.saturating_add(bytes.len() as u64))
    }

    /// Opens what must be a regular file: without waiting for the other end of a pipe, and looked at once it is open.
    fn opened(&self, folder: &Dir, options: &mut OpenOptions) -> io::Result<File> {
        let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits();
        options.custom_flags(i32::try_from(flags).unwrap_or_default());
        let file = folder.open_with(&self.rest, options)?;
        if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
    }
}

/// Makes the folders above a path.
fn make_above(folder: &Dir, path: &str) -> io::Result<()> {
    match Path::new(path).parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => folder.create_dir_all(parent),
        None => Ok(()),
    }
}

/// A part of a file.
pub(super) fn read(file: &File, offset: u64, most: u64) -> io::Result<Piece> {
    let about = file.metadata()?;
    let size = about.len();
    let most = most.min(size.saturating_sub(offset));
    if most > MAX_READ {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let most = usize::try_from(most).map_err(|_| io::ErrorKind::FileTooLarge)?;
    let mut bytes = vec![0; most];
    let mut had = 0;
    while had < most {
        match file.read_at(bytes.get_mut(had..).unwrap_or_default(), offset + had as u64)? {
            0 => break,
            count => had += count,
        }
    }
    bytes.truncate(had);
    Ok(Piece { bytes, size, modified_ms: modified(&about) })
}

/// An entry as tools show it. What is neither folder nor link is shown as a file.
pub(super) fn entry(path: String, kind: FileType, about: &Metadata) -> Entry {
    let kind = match kind {
        kind if kind.is_dir() => EntryKind::Folder,
        kind if kind.is_symlink() => EntryKind::Link,
        _ => EntryKind::File,
    };
    let bytes = if kind == EntryKind::File { about.len() } else { 0 };
    Entry { path, kind, bytes, modified_ms: modified(about), target: None }
}

/// When its content was changed, in milliseconds since 1970; 0 where that cannot be told.
fn modified(about: &Metadata) -> u64 {
    let since = about.modified().ok().and_then(|time| {
        let time = time.into_std().duration_since(std::time::UNIX_EPOCH).ok()?;
        u64::try_from(time.as_millis()).ok()
    });
    since.unwrap_or_default()
}

/// What lies in a folder of the host, in the order of the paths. Links are not followed. One folder is open at a time, so
/// that no number of folders takes the process's descriptors.
pub(super) fn list(root: &Dir, recursive: bool) -> io::Result<Vec<Entry>> {
    let (mut found, mut bytes) = (Vec::new(), 0);
    let mut left = vec![PathBuf::new()];
    while let Some(above) = left.pop() {
        let folder = match above.as_os_str().len() {
            0 => root.try_clone()?,
            1..=MAX_PATH => match root.open_dir(&above) {
                // It went meanwhile, or something else took its place.
                Err(error) if is_gone(&error) => continue,
                opened => opened?,
            },
            _ => return Err(io::ErrorKind::FileTooLarge.into()),
        };
        for item in folder.entries()? {
            let item = item?;
            let about = match item.metadata() {
                Err(error) if is_gone(&error) => continue,
                about => about?,
            };
            let path = above.join(item.file_name());
            let shown = path.to_string_lossy().into_owned();
            bytes += shown.len();
            found.push(entry(shown, about.file_type(), &about));
            if found.len() > MAX_ENTRIES || bytes > MAX_PATHS {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            if recursive && about.is_dir() {
                left.push(path);
            }
        }
    }
    found.sort_by(|a, b| a.path.split('/').cmp(b.path.split('/')));
    Ok(found)
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
