//! The guest's face: handles, as descriptors of `wasi:filesystem/types` know them.
//!
//! Owns: what a handle may do, and everything done with the node it stands for. Does not own: what is done by a path
//! below it (`at`).

mod at;
mod listing;
#[cfg(test)]
mod tests;

use crate::files::{Files, Live};
use crate::node::Ino;
use crate::{Errno, Kind, Stat};

pub use self::at::OpenFlags;
pub use self::listing::{DirEntry, Listing};

/// What a handle is open for, as `descriptor-flags`. The three synchronising flags do not exist: nothing here is on a disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// A file can be read, a folder listed.
    pub read: bool,
    /// A file can be written.
    pub write: bool,
    /// What is below a folder can be changed.
    pub mutate: bool,
}

/// A time to set, as `new-timestamp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewTime {
    /// It stays.
    Keep,
    /// The time of the call.
    Now,
    /// Nanoseconds since 1970.
    At(u64),
}

/// An open file or folder. A clone is one more handle; the node lives as long as one of them or a name does.
#[derive(Debug)]
pub struct Handle {
    pub(crate) files: Files,
    pub(crate) ino: Ino,
    pub(crate) era: u64,
    pub(crate) kind: Kind,
    /// What the handle is open for.
    pub(crate) flags: Flags,
    /// Whether the folder that all began with was granted for writing.
    pub(crate) granted: bool,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.files.with(|live, _| live.close(self.ino, self.era));
    }
}

impl Clone for Handle {
    fn clone(&self) -> Self {
        let open = |live: &mut Live| live.alive(self.era).map_or(self.era, |()| live.open(self.ino));
        let era = self.files.with(|live, _| open(live));
        Self { files: self.files.clone(), era, ..*self }
    }
}

impl Handle {
    /// Most bytes of one [`Handle::read`]: 1 MiB.
    pub const MAX_READ: usize = 1 << 20;

    pub(crate) fn folder(files: &Files, live: &mut Live, ino: Ino, granted: bool) -> Self {
        let flags = Flags { read: true, write: false, mutate: granted };
        Self { files: files.clone(), ino, era: live.open(ino), kind: Kind::Folder, flags, granted }
    }

    /// What it is open for (`get-flags`).
    pub fn flags(&self) -> Flags {
        self.flags
    }

    /// What it stands for (`get-type`).
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// What is known about it (`stat`).
    ///
    /// # Errors
    /// `BadDescriptor` once the tree was replaced. This goes for every call of a handle.
    pub fn stat(&self) -> Result<Stat, Errno> {
        self.with(|live, _| live.tree.stat(self.ino))
    }

    /// Up to `len` bytes from `offset`, at most [`Handle::MAX_READ`], and whether they reach the end of the file (`read`).
    ///
    /// # Errors
    /// `IsDirectory`; `BadDescriptor` when it is not open for reading; `Io` when a saved block is damaged.
    pub fn read(&self, offset: u64, len: u64) -> Result<(Vec<u8>, bool), Errno> {
        let content = self.with(|live, _| live.tree.content(self.ino).cloned())?;
        if !self.flags.read {
            return Err(Errno::BadDescriptor);
        }
        // The copy of the content is read after the lock: a block may have to come from a store.
        let len = usize::try_from(len).unwrap_or(usize::MAX).min(Self::MAX_READ);
        let bytes = content.read(offset, len)?;
        let end = offset.saturating_add(bytes.len() as u64) >= content.size();
        Ok((bytes, end))
    }

    /// Writes all bytes at `offset`, or none (`write`). Past the end a hole is left, which costs like bytes.
    ///
    /// # Errors
    /// `NoSpace`, `FileTooLarge`, `IsDirectory`, `Io`; `BadDescriptor` when it is not open for writing; `NotPermitted`
    /// below a folder that was granted for reading.
    pub fn write(&self, offset: u64, bytes: &[u8]) -> Result<u64, Errno> {
        self.writable()?;
        self.with(|live, now| live.tree.write(self.ino, offset, bytes, now))?;
        Ok(bytes.len() as u64)
    }

    /// Writes all bytes at the end, wherever that is by now, or none (`append-via-stream`).
    ///
    /// # Errors
    /// As [`Handle::write`].
    pub fn append(&self, bytes: &[u8]) -> Result<u64, Errno> {
        self.writable()?;
        self.with(|live, now| {
            let end = live.tree.content(self.ino)?.size();
            live.tree.write(self.ino, end, bytes, now)
        })?;
        Ok(bytes.len() as u64)
    }

    /// Cuts the file, or makes it longer by a hole (`set-size`).
    ///
    /// # Errors
    /// As [`Handle::write`].
    pub fn set_size(&self, size: u64) -> Result<(), Errno> {
        self.writable()?;
        self.with(|live, now| live.tree.resize(self.ino, size, now))
    }

    /// Sets the times (`set-times`). The file need not be open for writing, as on Linux.
    ///
    /// # Errors
    /// `NotPermitted` below a folder that was granted for reading.
    pub fn set_times(&self, accessed: NewTime, modified: NewTime) -> Result<(), Errno> {
        self.may_change()?;
        self.with(|live, now| live.tree.set_times(self.ino, accessed.or(now), modified.or(now), now))
    }

    /// Nothing to do: a tree is in memory until it is saved (`sync`, `sync-data`).
    ///
    /// # Errors
    /// `BadDescriptor` once the tree was replaced.
    pub fn sync(&self) -> Result<(), Errno> {
        self.with(|_, _| Ok(()))
    }

    /// Whether both stand for one node (`is-same-object`).
    pub fn is_same(&self, other: &Self) -> bool {
        self.files.same(&other.files) && (self.ino, self.era) == (other.ino, other.era)
    }

    /// The number that stands for the node (`metadata-hash`): lower and upper half. It is the node's own number and does
    /// not change with the content, because WASI's C libraries show it as `st_ino`.
    ///
    /// # Errors
    /// `BadDescriptor` once the tree was replaced.
    pub fn metadata_hash(&self) -> Result<(u64, u64), Errno> {
        self.with(|_, _| Ok(hash(self.ino)))
    }

    /// The entries of a folder (`read-directory`).
    ///
    /// # Errors
    /// `NotDirectory`.
    pub fn list(&self) -> Result<Listing, Errno> {
        self.with(|live, _| live.tree.folder(self.ino).map(|_| ()))?;
        Ok(Listing::new(self.clone()))
    }

    /// Works under the lock, if the tree is still the one that was opened.
    fn with<T>(&self, work: impl FnOnce(&mut Live, u64) -> Result<T, Errno>) -> Result<T, Errno> {
        self.files.with(|live, now| {
            live.alive(self.era)?;
            work(live, now)
        })
    }

    fn may_change(&self) -> Result<(), Errno> {
        if self.granted { Ok(()) } else { Err(Errno::NotPermitted) }
    }

    fn writable(&self) -> Result<(), Errno> {
        self.may_change()?;
        match (self.kind, self.flags.write) {
            (Kind::Folder, _) => Err(Errno::IsDirectory),
            (_, false) => Err(Errno::BadDescriptor),
            _ => Ok(()),
        }
    }
}

impl NewTime {
    fn or(self, now: u64) -> Option<u64> {
        match self {
            Self::Keep => None,
            Self::Now => Some(now),
            Self::At(time) => Some(time),
        }
    }
}

/// Halves of a node's number among all 128-bit numbers.
fn hash(ino: Ino) -> (u64, u64) {
    (ino, !ino)
}
