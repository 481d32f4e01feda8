//! What an opened project depends on: the files and folders that were looked at, as they were.

use std::collections::BTreeSet;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Stat};
use serde::{Deserialize, Serialize};

/// Names below a project's folder and what they were. A name that was missing counts as well.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamp(Vec<(String, Look)>);

/// A name as it is, and as what it links to.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Look {
    itself: Option<[i64; 7]>,
    target: Option<[i64; 7]>,
}

impl Stamp {
    /// The names as they are now.
    pub(super) fn of(folder: &Path, names: BTreeSet<String>) -> Self {
        Self(
            names
                .into_iter()
                .map(|name| {
                    let look = look(folder, &name);
                    (name, look)
                })
                .collect(),
        )
    }

    /// Whether every name still is what it was: kind, size, place on the disk, times of its content and of itself.
    pub(super) fn holds(&self, folder: &Path) -> bool {
        self.0.iter().all(|(name, then)| look(folder, name) == *then)
    }
}

fn look(folder: &Path, name: &str) -> Look {
    let path = folder.join(name);
    let at = |flags| rustix::fs::statat(CWD, &path, flags).ok();
    let itself = at(AtFlags::SYMLINK_NOFOLLOW);
    let link = itself.as_ref().is_some_and(|stat| FileType::from_raw_mode(stat.st_mode).is_symlink());
    let target = if link { at(AtFlags::empty()) } else { None };
    Look { itself: itself.as_ref().map(essence), target: target.as_ref().map(essence) }
}

fn essence(stat: &Stat) -> [i64; 7] {
    [
        i64::from(stat.st_mode),
        stat.st_ino.cast_signed(),
        stat.st_size,
        stat.st_mtime,
        i64::try_from(stat.st_mtime_nsec).unwrap_or_default(),
        stat.st_ctime,
        i64::try_from(stat.st_ctime_nsec).unwrap_or_default(),
    ]
}
