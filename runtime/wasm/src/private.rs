//! Folders and files of the cache that nobody but this user can have written.
//!
//! Whatever is looked at is opened first and examined through the descriptor, so that what was examined is what is used,
//! even if somebody moves folders about meanwhile. Files are written beside their names and renamed: nobody ever sees
//! half of one, and nobody writes to one that somebody else has mapped.

mod draft;
mod tidy;

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use dormouse_core::{Error, ErrorCode, Result};
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;

use self::draft::Draft;

/// What a loss of power may do to a file that has just been written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// Nothing: it is on the disk before it gets its name.
    Synced,
    /// It may end early or hold zeroes. For files that carry a checksum of their own.
    Unsynced,
}

/// Who may own a folder and its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    User,
    UserOrRoot,
}

impl Owner {
    /// A refusal with the hint that fits: what was installed is not removed for being refused.
    fn advises(self, error: Error) -> Error {
        match self {
            Self::User => error,
            Self::UserOrRoot => error.with_hint(
                "it was installed with the program, and must be its owner's alone: `chmod -R go-w` the folder, or install the release again",
            ),
        }
    }
}

/// A folder that this user owns and nobody else can write, or, where something was installed, root.
pub(crate) struct Folder {
    path: PathBuf,
    descriptor: OwnedFd,
    owner: Owner,
}

impl Folder {
    /// The folder, or none if it is not there.
    ///
    /// # Errors
    /// `internal` when another user owns or can write it, or when it is a link or no folder.
    pub(crate) fn open(path: &Path) -> Result<Option<Self>> {
        Self::of(path, Owner::User)
    }

    /// A folder that this user or root owns and nobody else can write, as a program and what is installed with it are. None
    /// if it is not there.
    ///
    /// # Errors
    /// `internal` when somebody else owns or can write it, or when it is a link or no folder.
    pub(crate) fn installed(path: &Path) -> Result<Option<Self>> {
        Self::of(path, Owner::UserOrRoot)
    }

    fn of(path: &Path, owner: Owner) -> Result<Option<Self>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let descriptor = opened(CWD, path, path, flags).map_err(|error| owner.advises(error))?;
        let Some(descriptor) = descriptor else { return Ok(None) };
        let folder = File::from(descriptor);
        check(&folder, path, owner).map_err(|error| owner.advises(error))?;
        Ok(Some(Self { path: path.to_owned(), descriptor: folder.into(), owner }))
    }

    /// The folder, which is made with mode 0700 if need be.
    ///
    /// # Errors
    /// As [`Folder::open`]; `internal` when it cannot be made.
    pub(crate) fn make(path: &Path) -> Result<Self> {
        let failed = |error: io::Error| cannot_write(path, error);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
        Self::open(path)?.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))
    }

    /// Where it is, for words.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a file in it for reading. None: there is none of that name.
    ///
    /// # Errors
    /// `internal` when another user owns or can write it, or when it is a link or no file.
    pub(crate) fn file(&self, name: &str) -> Result<Option<File>> {
        let path = self.path.join(name);
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let Some(descriptor) = opened(&self.descriptor, Path::new(name), &path, flags)? else {
            return Ok(None);
        };
        let file = File::from(descriptor);
        check(&file, &path, self.owner).map_err(|error| self.owner.advises(error))?;
        match file.metadata() {
            Ok(metadata) if metadata.is_file() => Ok(Some(file)),
            _ => Err(refused(&path, "it is no file")),
        }
    }

    /// Writes a file whole or not at all, with mode 0600 whatever the umask is, and returns it opened. One that has the name
    /// already is replaced; who has it open keeps the old one.
    ///
    /// # Errors
    /// `internal` with that of the file system; nothing is left behind.
    pub(crate) fn write(&self, name: &str, bytes: &[u8], durability: Durability) -> Result<File> {
        let written = || -> io::Result<File> {
            let draft = Draft::new(&self.descriptor)?;
            draft.fill(bytes)?;
            if durability == Durability::Unsynced {
                return draft.rename(name);
            }
            draft.sync()?;
            let file = draft.rename(name)?;
            rustix::fs::fsync(&self.descriptor)?;
            Ok(file)
        };
        written().map_err(|error| cannot_write(&self.path, error))
    }

    /// Removes a file, if there is one.
    pub(crate) fn remove(&self, name: &str) {
        let _gone = rustix::fs::unlinkat(&self.descriptor, name, AtFlags::empty());
    }

    /// Removes drafts that their processes have left behind and, with a bound, the oldest files until that many bytes are
    /// left. Files that differ only in their extension go together; those of `newest` stay.
    pub(crate) fn tidy(&self, bound: Option<u64>, newest: &str) {
        tidy::tidy(&self.descriptor, bound, newest);
    }
}

/// Opens what `name` names in a folder. `path` is for words.
fn opened(folder: impl AsFd, name: &Path, path: &Path, flags: OFlags) -> Result<Option<OwnedFd>> {
    match rustix::fs::openat(folder, name, flags, Mode::empty()) {
        Ok(descriptor) => Ok(Some(descriptor)),
        Err(Errno::NOENT) => Ok(None),
        // One of the folders above it is none.
        Err(Errno::NOTDIR) if path.symlink_metadata().is_err() => Ok(None),
        // A link to a folder is no folder to the kernel.
        Err(Errno::LOOP | Errno::NOTDIR) if path.is_symlink() => Err(refused(path, "it is a symbolic link")),
        Err(errno) => Err(refused(path, "it cannot be opened").with_source(io::Error::from(errno))),
    }
}

/// Refuses what another user owns or can write.
fn check(file: &File, path: &Path, owner: Owner) -> Result<()> {
    let metadata =
        file.metadata().map_err(|error| refused(path, "it cannot be examined").with_source(error))?;
    let is_own = metadata.uid() == rustix::process::geteuid().as_raw();
    let is_root_allowed = owner == Owner::UserOrRoot && metadata.uid() == 0;
    if !is_own && !is_root_allowed {
        return Err(refused(path, "another user owns it"));
    }
    if metadata.mode() & 0o022 != 0 {
        return Err(refused(path, "others can write it"));
    }
    Ok(())
}

fn refused(path: &Path, why: &str) -> Error {
    Error::new(ErrorCode::Internal, format!("`{}` is not used: {why}", path.display()))
        .with_hint(format!(
            "it holds what was made for you, and must be private to you: if nobody else has written there, `chmod go-w {}` and see that you own it; else remove it, and what it held is made or unpacked anew",
            path.display()
        ))
}

fn cannot_write(folder: &Path, error: io::Error) -> Error {
    Error::internal(format!("nothing can be written below `{}`", folder.display()), error)
        .with_hint("check free space and permissions, or set DORMOUSE_CACHE_DIR")
}

#[cfg(test)]
mod tests;
