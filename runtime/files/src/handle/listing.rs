//! The entries of a folder, one after the other.
//!
//! Owns: the iteration, which goes on after the last name whatever happens to the folder. Does not own: the folder.

use std::sync::Arc;

use crate::handle::Handle;
use crate::{Errno, Kind};

/// One entry of a folder, as `directory-entry`. `.` and `..` are none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirEntry {
    /// Its name.
    pub name: Arc<str>,
    /// What it stands for.
    pub kind: Kind,
}

/// The entries of a folder in the order of their names, as `directory-entry-stream`. What is there all the time is shown
/// once; what is made, renamed or removed meanwhile is shown if its name is still to come. Nothing is copied, so listings
/// that a guest leaves open keep no old names in memory.
#[derive(Clone, Debug)]
pub struct Listing {
    folder: Handle,
    last: Option<Arc<str>>,
}

impl Listing {
    pub(crate) fn new(folder: Handle) -> Self {
        Self { folder, last: None }
    }
}

/// `BadDescriptor` once the tree was replaced, again and again.
impl Iterator for Listing {
    type Item = Result<DirEntry, Errno>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.folder.with(|live, _| {
            let entries = &live.tree.folder(self.folder.ino)?.entries;
            let next = match &self.last {
                None => entries.iter().next(),
                Some(last) => entries.from::<str>(last).find(|(name, _)| *name != last),
            };
            Ok(next.map(|(name, entry)| DirEntry { name: name.clone(), kind: entry.kind }))
        });
        if let Ok(Some(entry)) = &next {
            self.last = Some(entry.name.clone());
        }
        next.transpose()
    }
}
