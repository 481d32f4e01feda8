//! An instance's own files: a tree of ours, and no folder of the host.
//!
//! Owns: when the tree of a stateless run is made, how much it may hold, and which folders of a tree a guest is shown. Does
//! not own: the tree (`dormouse_files`), the interface (`host`), which gives a guest the tree's handles as descriptors.

mod stream;
#[cfg(test)]
mod tests;
mod words;

use std::time::SystemTime;

use dormouse_core::grants::WallClock;
use dormouse_core::{Access, GuestPath, Result};
use dormouse_files::{Errno, Files, Handle, Quota, Tree};

use super::DiskLimits;
use crate::grants::Missing;

pub(super) use self::stream::{Reads, Writes};
pub(super) use self::words::{
    answer, code, descriptor_flags, flags, follow, kind, new_time, open_flags, stat,
};

/// The folder that all others lie in.
pub(super) const ROOT: &str = "/";
/// The folder that a fresh tree begins with, and where guests start.
const TMP: &str = "/tmp";
/// Folders that a guest may write to, where the tree has them. The first is shown first.
const WRITABLE: [&str; 2] = [TMP, "/workspace"];

/// Where an instance's own files come from. Said by its first run, it holds for the instance's life.
#[derive(Clone, Debug)]
pub(crate) enum OwnFiles {
    /// Made for the instance, gone with it: nothing but `/tmp`, bounded by each run's limits.
    Fresh,
    /// A sandbox's: there before the instance, and after it, with a quota of their own.
    Kept(Files),
}

impl OwnFiles {
    /// What becomes of mounts that are not there: a sandbox goes on without them.
    pub(crate) fn missing_mounts(&self) -> Missing {
        match self {
            Self::Fresh => Missing::Refused,
            Self::Kept(_) => Missing::LeftOut,
        }
    }

    /// Whether they outlive their instance.
    pub(crate) fn is_kept(&self) -> bool {
        matches!(self, Self::Kept(_))
    }
}

/// An instance's own files, made when the guest first asks which folders there are: most runs never do.
#[derive(Debug)]
pub(crate) struct OwnTree {
    files: Option<Files>,
    /// What the run may keep in them; none when the files have a quota of their own.
    quota: Option<Quota>,
    clock: WallClock,
    /// A folder that a fresh tree has besides: where the project is shown, so that it is found in `/`.
    place: Option<&'static str>,
}

impl OwnTree {
    /// The files of an instance whose clock is `clock`; fresh ones have the folder `place` besides.
    pub(super) fn new(own: &OwnFiles, clock: WallClock, place: Option<&'static str>) -> Self {
        match own {
            OwnFiles::Fresh => Self { files: None, quota: Some(Quota::default()), clock, place },
            OwnFiles::Kept(files) => Self { files: Some(files.clone()), quota: None, clock, place: None },
        }
    }

    /// Fresh files that begin as a copy of a tree.
    pub(super) fn copy_of(tree: Tree, place: Option<&'static str>) -> Self {
        Self { files: Some(Files::new(tree)), quota: Some(Quota::default()), clock: WallClock::System, place }
    }

    /// What fresh files hold before the first run, counted as their quota counts.
    fn names(&self) -> u64 {
        1 + u64::from(self.place.is_some())
    }

    /// The folder of fresh files that was named when they were made.
    ///
    /// # Errors
    /// `internal` when they cannot be made.
    pub(super) fn place(&mut self) -> Result<Option<Handle>> {
        let Some(place) = self.place else { return Ok(None) };
        let path = GuestPath::parse(place)?;
        self.files()?.open_folder(&path, Access::ReadWrite).map(Some)
    }

    /// Whether they outlive their instance.
    pub(super) fn is_kept(&self) -> bool {
        self.quota.is_none()
    }

    /// Begins a run: fresh files may hold what its limits say.
    pub(super) fn arm(&mut self, limits: DiskLimits) {
        let names = self.names();
        let Some(quota) = &mut self.quota else { return };
        quota.bytes = limits.bytes;
        quota.files = limits.files.saturating_add(names);
        if let Some(files) = &self.files {
            files.set_quota(*quota);
        }
    }

    /// The files as they are now, if they were fresh, and runs have left any or something else makes them worth keeping.
    pub(super) fn left(&self, worth: bool) -> Option<Tree> {
        self.quota?;
        let files = self.files.as_ref().filter(|files| worth || files.usage().files > self.names())?;
        Some(files.snapshot())
    }

    /// The first handles that a guest gets: the folders that it may write to, and `/` for reading.
    ///
    /// # Errors
    /// `internal` when a fresh tree cannot be made.
    pub(super) fn shown(&mut self) -> Result<Vec<(Handle, &'static str)>> {
        let files = self.files()?;
        let mut shown = Vec::with_capacity(WRITABLE.len() + 1);
        for path in WRITABLE {
            if let Ok(folder) = files.open_folder(&GuestPath::parse(path)?, Access::ReadWrite) {
                shown.push((folder, path));
            }
        }
        shown.push((files.open_folder(&GuestPath::parse(ROOT)?, Access::ReadOnly)?, ROOT));
        Ok(shown)
    }

    /// Replaces a file as a whole, or makes it and its folders.
    ///
    /// # Errors
    /// As [`Files::write`].
    pub(super) fn write(&mut self, path: &GuestPath, bytes: &[u8]) -> Result<()> {
        self.files()?.write(path, bytes)
    }

    fn files(&mut self) -> Result<&Files> {
        let files = match self.files.take() {
            Some(files) => files,
            None => self.make()?,
        };
        Ok(self.files.insert(files))
    }

    fn make(&self) -> Result<Files> {
        let tree = Tree::new(self.quota.unwrap_or_default());
        let files = match self.clock {
            WallClock::System => Files::new(tree),
            WallClock::Fixed(instant) => {
                let since = instant.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
                let time = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
                Files::with_clock(tree, move || time)
            }
        };
        for path in [Some(TMP), self.place].into_iter().flatten() {
            files.make_folder(&GuestPath::parse(path)?)?;
        }
        Ok(files)
    }
}

/// What a removal came to. Below a folder that nothing may change, what is missing is missing before it is refused: programs
/// remove what may not be there and expect `ENOENT`.
pub(super) fn or_missing(
    removed: std::result::Result<(), Errno>,
    folder: &Handle,
    path: &str,
) -> std::result::Result<(), Errno> {
    match removed {
        Err(Errno::NotPermitted) if folder.stat_at(path, false) == Err(Errno::NoEntry) => Err(Errno::NoEntry),
        removed => removed,
    }
}
