//! A file before it has its name.

use std::fs::{File, Permissions};
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;

use rustix::fs::{AtFlags, Mode, OFlags};

use crate::hex::hex;

/// How the names of drafts begin; no other file's does.
pub(super) const PREFIX: &str = ".draft-";

/// Only its owner reads and writes it.
const MODE: u32 = 0o600;

/// A new file under a random name. It is removed with this value, unless it has been renamed.
///
/// The name is random because a process id tells nobody apart: in each of two containers that share the folder the process
/// can be number 1, and a process has many threads.
pub(super) struct Draft<'a> {
    folder: &'a OwnedFd,
    name: String,
    file: Option<File>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(folder: &'a OwnedFd) -> io::Result<Self> {
        let mut random = [0; 16];
        getrandom::fill(&mut random)?;
        let name = format!("{PREFIX}{}", hex(&random));
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(folder, &name, flags, Mode::RUSR | Mode::WUSR)?);
        let draft = Self { folder, name, file: Some(file) };
        // A umask can take from the mode, such as the owner's own right to read. A confined process may change no modes.
        let file = draft.file()?;
        if file.metadata()?.permissions().mode() & 0o777 != MODE {
            file.set_permissions(Permissions::from_mode(MODE))?;
        }
        Ok(draft)
    }

    pub(super) fn fill(&self, bytes: &[u8]) -> io::Result<()> {
        self.file()?.write_all(bytes)
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        self.file()?.sync_all()
    }

    /// Gives it its name, in place of the file that has it.
    pub(super) fn rename(mut self, name: &str) -> io::Result<File> {
        rustix::fs::renameat(self.folder, &self.name, self.folder, name)?;
        self.file.take().ok_or_else(closed)
    }

    fn file(&self) -> io::Result<&File> {
        self.file.as_ref().ok_or_else(closed)
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        if self.file.is_some() {
            let _gone = rustix::fs::unlinkat(self.folder, &self.name, AtFlags::empty());
        }
    }
}

fn closed() -> io::Error {
    io::Error::other("the draft has been renamed")
}
