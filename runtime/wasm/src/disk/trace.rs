//! What a guest looked at below one of its folders, for as long as that is recorded.

use std::collections::{BTreeSet, HashMap};

/// Paths that are recorded; past it, the trace is of no use.
const MOST: usize = 20_000;

/// The files, folders and missing names of one preopened folder that were opened, listed or asked about.
#[derive(Debug)]
pub(crate) struct Trace {
    /// The guest path of the preopened folder.
    target: &'static str,
    /// Paths of open folders below it, by the number of their descriptor.
    folders: HashMap<u32, String>,
    seen: BTreeSet<String>,
    overflown: bool,
}

impl Trace {
    /// Records what is seen below the preopened folder `target`.
    pub(crate) fn new(target: &'static str) -> Self {
        Self { target, folders: HashMap::new(), seen: BTreeSet::new(), overflown: false }
    }

    /// The paths, relative to the folder, sorted; the folder itself is the empty one. None when there are too many.
    pub(crate) fn paths(self) -> Option<BTreeSet<String>> {
        (!self.overflown).then_some(self.seen)
    }

    /// A preopened folder was handed out under this number.
    pub(super) fn handed_out(&mut self, descriptor: u32, path: &str) {
        if path == self.target {
            self.folders.insert(descriptor, String::new());
        }
    }

    /// A name below an open folder was looked at.
    pub(super) fn looked(&mut self, folder: u32, name: &str) {
        if let Some(path) = self.join(folder, name) {
            self.see(path);
        }
    }

    /// A folder was opened by a name below another.
    pub(super) fn opened(&mut self, folder: u32, name: &str, descriptor: u32) {
        if let Some(path) = self.join(folder, name) {
            self.folders.insert(descriptor, path);
        }
    }

    /// An open folder was listed.
    pub(super) fn listed(&mut self, folder: u32) {
        if let Some(path) = self.folders.get(&folder).cloned() {
            self.see(path);
        }
    }

    /// A descriptor was closed; its number may be used again.
    pub(super) fn closed(&mut self, descriptor: u32) {
        self.folders.remove(&descriptor);
    }

    fn join(&self, folder: u32, name: &str) -> Option<String> {
        let folder = self.folders.get(&folder)?;
        Some(if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") })
    }

    fn see(&mut self, path: String) {
        self.overflown |= self.seen.len() >= MOST;
        if !self.overflown {
            self.seen.insert(path);
        }
    }
}
