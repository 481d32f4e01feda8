//! What a tree is made of: folders, files and symbolic links, and what is known about each.
//!
//! Owns: the nodes and their description. Does not own: how they hang together; `tree` does that.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::content::Content;
use crate::map::Map;

/// The number of a node. Never used twice in one tree.
pub(crate) type Ino = u64;

/// The number of `/`.
pub(crate) const ROOT: Ino = 1;

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// A folder.
    Folder,
    /// A regular file.
    File,
    /// A symbolic link.
    Link,
}

/// Nanoseconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    /// Set when the node is made and by the program. Reading does not change it, so that reading does not change a tree.
    pub accessed: u64,
    /// The last change of the content or of a folder's names.
    pub modified: u64,
    /// The last change of anything.
    pub changed: u64,
}

impl Times {
    pub(crate) fn all(now: u64) -> Self {
        Self { accessed: now, modified: now, changed: now }
    }

    /// The content changed.
    pub(crate) fn touch(&mut self, now: u64) {
        (self.modified, self.changed) = (now, now);
    }
}

/// What is known about a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// What it is.
    pub kind: Kind,
    /// Bytes of a file, holes included, or of a link's target; 0 for a folder.
    pub size: u64,
    /// Names of a file or link, 0 once it has none; for a folder 2 and one for each folder in it.
    pub links: u64,
    /// When it was used and changed.
    pub times: Times,
    /// Its number in the tree, never used twice.
    pub inode: u64,
}

/// A node.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// Names that lead here; a folder has one, or none once it was removed.
    pub(crate) links: u32,
    pub(crate) times: Times,
    pub(crate) body: Body,
}

/// What only one kind of node has.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    Folder(Folder),
    File(Content),
    Link(Arc<str>),
}

/// A folder: who holds it, and its names.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    /// The folder that holds this one; `/` holds itself.
    pub(crate) parent: Ino,
    /// How many of its entries are folders.
    pub(crate) folders: u64,
    pub(crate) entries: Map<Arc<str>, Entry>,
}

/// What a name stands for. The kind is that of the node, so that listing a folder looks at no node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) ino: Ino,
    pub(crate) kind: Kind,
}

impl Folder {
    pub(crate) fn new(parent: Ino) -> Self {
        Self { parent, folders: 0, entries: Map::default() }
    }
}

impl Node {
    /// A node with one name.
    pub(crate) fn new(body: Body, now: u64) -> Self {
        Self { links: 1, times: Times::all(now), body }
    }

    pub(crate) fn kind(&self) -> Kind {
        match self.body {
            Body::Folder(_) => Kind::Folder,
            Body::File(_) => Kind::File,
            Body::Link(_) => Kind::Link,
        }
    }

    /// What it costs: bytes of a file or of a link's target.
    pub(crate) fn size(&self) -> u64 {
        match &self.body {
            Body::Folder(_) => 0,
            Body::File(content) => content.size(),
            Body::Link(target) => target.len() as u64,
        }
    }

    pub(crate) fn stat(&self, inode: Ino) -> Stat {
        let links = match &self.body {
            Body::Folder(folder) if self.links > 0 => folder.folders + 2,
            _ => u64::from(self.links),
        };
        Stat { kind: self.kind(), size: self.size(), links, times: self.times, inode }
    }
}
