//! The entries of a folder, one after the other.
//!
//! Owns: the iteration, which sees the folder as it was when it began. Does not own: the folder.

use std::sync::Arc;

use crate::Kind;
use crate::map::Map;
use crate::node::Entry;

/// One entry of a folder, as `directory-entry`. `.` and `..` are none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirEntry {
    /// Its name.
    pub name: Arc<str>,
    /// What it stands for.
    pub kind: Kind,
}

/// The entries of a folder in the order of their names, as they were when the listing began: each once, whatever is made,
/// renamed or removed meanwhile. Holding it costs what changes meanwhile, no more.
#[derive(Clone, Debug)]
pub struct Listing {
    entries: Map<Arc<str>, Entry>,
    last: Option<Arc<str>>,
}

impl Listing {
    pub(crate) fn new(entries: &Map<Arc<str>, Entry>) -> Self {
        Self { entries: entries.clone(), last: None }
    }
}

impl Iterator for Listing {
    type Item = DirEntry;

    fn next(&mut self) -> Option<DirEntry> {
        let (name, entry) = match &self.last {
            None => self.entries.iter().next(),
            Some(last) => self.entries.from::<str>(last).find(|(name, _)| *name != last),
        }?;
        self.last = Some(name.clone());
        Some(DirEntry { name: name.clone(), kind: entry.kind })
    }
}
