//! The tree: nodes by their number, what they cost, and changes of one node.
//!
//! Owns: the table of nodes, the account of bytes and names, and the content and times of a node. Does not own: names and
//! their changes (`naming`), paths (`resolve`), who has what open (`files`).

use std::sync::Arc;

use dormouse_types::chunk;

use crate::content::Content;
use crate::map::Map;
use crate::node::{Body, Entry, Folder, Ino, Node, ROOT};
use crate::{ChunkSource, Errno, Quota, Stat, Times, Usage};

/// A sandbox's files as they were at one moment.
///
/// A clone is a fork: it takes constant time, shares what neither changes, and a change of one is never seen in another.
/// A tree is looked at and changed through [`Files`](crate::Files); kept through [`save`](crate::save()).
#[derive(Clone, Debug)]
pub struct Tree {
    pub(crate) nodes: Map<Ino, Node>,
    /// The number of the next node.
    pub(crate) next: Ino,
    pub(crate) used: Usage,
    pub(crate) quota: Quota,
    /// Nodes without a name that belong to it all the same, because an interpreter that was saved with it has them open.
    /// True of a snapshot and of a tree that was loaded; who has what open in a live tree, `files` knows.
    pub(crate) unnamed: usize,
}

impl Default for Tree {
    fn default() -> Self {
        Self::new(Quota::default())
    }
}

impl Tree {
    /// An empty tree: `/`, which costs nothing, with all times 0. Names longer than 255 bytes are refused whatever the quota.
    pub fn new(mut quota: Quota) -> Self {
        quota.name_bytes = quota.name_bytes.min(255);
        let mut nodes = Map::default();
        nodes.insert(ROOT, Node::new(Body::Folder(Folder::new(ROOT)), 0));
        Self { nodes, next: ROOT + 1, used: Usage::default(), quota, unnamed: 0 }
    }

    /// What it may hold.
    pub fn quota(&self) -> Quota {
        self.quota
    }

    /// The same tree with another quota. One that holds more than the quota can be read and can shrink.
    #[must_use]
    pub fn with_quota(mut self, mut quota: Quota) -> Self {
        quota.name_bytes = quota.name_bytes.min(255);
        self.quota = quota;
        self
    }

    /// What it holds. Exact after every operation; files that have no name but are open count until they are closed.
    pub fn usage(&self) -> Usage {
        self.used
    }

    /// Bytes of its files that are in memory, those that it shares with other trees included.
    pub fn in_memory(&self) -> u64 {
        self.contents().map(Content::here).sum()
    }

    /// Lets go of the bytes of files that can be read again from `source`, in this tree and in all that share them: how many.
    /// To be called when the whole tree was saved there, for a store that keeps it for as long as any of these trees lives.
    pub fn let_go(&self, source: &Arc<dyn ChunkSource>) -> u64 {
        self.contents().map(|content| content.let_go(source)).sum()
    }

    /// Reads all bytes of files that are in a store only, and holds them from now on.
    ///
    /// # Errors
    /// `state_damaged`: a block is not there any more, or not what its name says.
    pub fn hold(&self) -> dormouse_types::Result<()> {
        let mut blocks = self.contents().flat_map(|content| content.blocks().iter());
        let lost = |_| chunk::damaged("a block of the files is gone or damaged");
        blocks.try_for_each(|(_, block)| block.bytes().map(drop).map_err(lost))
    }

    fn contents(&self) -> impl Iterator<Item = &Content> {
        self.nodes.iter().filter_map(|(_, node)| match &node.body {
            Body::File(content) => Some(content),
            _ => None,
        })
    }

    pub(crate) fn node(&self, ino: Ino) -> Result<&Node, Errno> {
        self.nodes.get(&ino).ok_or(Errno::BadDescriptor)
    }

    pub(crate) fn node_mut(&mut self, ino: Ino) -> Result<&mut Node, Errno> {
        self.nodes.get_mut(&ino).ok_or(Errno::BadDescriptor)
    }

    /// Whether a node has lost its last name.
    pub(crate) fn is_unnamed(&self, ino: Ino) -> bool {
        self.nodes.get(&ino).is_some_and(|node| node.links == 0)
    }

    /// The nodes without a name that came with a tree just put in place. Where there are none, nothing is looked through.
    pub(crate) fn unnamed_nodes(&self) -> Vec<Ino> {
        if self.unnamed == 0 {
            return Vec::new();
        }
        self.nodes.iter().filter(|(_, node)| node.links == 0).map(|(ino, _)| *ino).collect()
    }

    pub(crate) fn stat(&self, ino: Ino) -> Result<Stat, Errno> {
        Ok(self.node(ino)?.stat(ino))
    }

    pub(crate) fn folder(&self, ino: Ino) -> Result<&Folder, Errno> {
        match &self.node(ino)?.body {
            Body::Folder(folder) => Ok(folder),
            _ => Err(Errno::NotDirectory),
        }
    }

    pub(crate) fn folder_mut(&mut self, ino: Ino) -> Result<&mut Folder, Errno> {
        match &mut self.node_mut(ino)?.body {
            Body::Folder(folder) => Ok(folder),
            _ => Err(Errno::NotDirectory),
        }
    }

    /// What a name stands for in a folder.
    pub(crate) fn entry(&self, folder: Ino, name: &str) -> Result<Option<Entry>, Errno> {
        Ok(self.folder(folder)?.entries.get(name).copied())
    }

    pub(crate) fn content(&self, ino: Ino) -> Result<&Content, Errno> {
        match &self.node(ino)?.body {
            Body::File(content) => Ok(content),
            Body::Folder(_) => Err(Errno::IsDirectory),
            Body::Link(_) => Err(Errno::Invalid),
        }
    }

    fn content_mut(&mut self, ino: Ino) -> Result<&mut Content, Errno> {
        match &mut self.node_mut(ino)?.body {
            Body::File(content) => Ok(content),
            Body::Folder(_) => Err(Errno::IsDirectory),
            Body::Link(_) => Err(Errno::Invalid),
        }
    }

    /// The target of a symbolic link.
    pub(crate) fn target(&self, ino: Ino) -> Result<Arc<str>, Errno> {
        match &self.node(ino)?.body {
            Body::Link(target) => Ok(target.clone()),
            _ => Err(Errno::Invalid),
        }
    }

    /// Writes all of `bytes` at an offset, or nothing.
    ///
    /// # Errors
    /// `NoSpace`, `FileTooLarge`, `IsDirectory`, `Io`.
    pub(crate) fn write(&mut self, ino: Ino, offset: u64, bytes: &[u8], now: u64) -> Result<(), Errno> {
        let size = self.content(ino)?.size();
        let end = offset.checked_add(bytes.len() as u64).filter(|end| *end <= Quota::MAX_FILE);
        let end = end.ok_or(Errno::FileTooLarge)?;
        if bytes.is_empty() {
            return Ok(());
        }
        let used = self.used.plus(end.saturating_sub(size), 0, &self.quota)?;
        self.content_mut(ino)?.write(offset, bytes)?;
        self.used = used;
        self.node_mut(ino)?.times.touch(now);
        Ok(())
    }

    /// Sets the size of a file; what is added is a hole, and costs as much as bytes.
    ///
    /// # Errors
    /// `NoSpace`, `FileTooLarge`, `IsDirectory`, `Io`.
    pub(crate) fn resize(&mut self, ino: Ino, size: u64, now: u64) -> Result<(), Errno> {
        let before = self.content(ino)?.size();
        if size > Quota::MAX_FILE {
            return Err(Errno::FileTooLarge);
        }
        let grown = self.used.plus(size.saturating_sub(before), 0, &self.quota)?;
        self.content_mut(ino)?.resize(size)?;
        self.used = grown.minus(before.saturating_sub(size), 0);
        self.node_mut(ino)?.times.touch(now);
        Ok(())
    }

    /// Replaces the whole content of a file.
    pub(crate) fn replace(&mut self, ino: Ino, content: Content, now: u64) -> Result<(), Errno> {
        let (before, size) = (self.content(ino)?.size(), content.size());
        let grown = self.used.plus(size.saturating_sub(before), 0, &self.quota)?;
        *self.content_mut(ino)? = content;
        self.used = grown.minus(before.saturating_sub(size), 0);
        self.node_mut(ino)?.times.touch(now);
        Ok(())
    }

    /// Sets the times that are given.
    pub(crate) fn set_times(
        &mut self,
        ino: Ino,
        accessed: Option<u64>,
        modified: Option<u64>,
        now: u64,
    ) -> Result<(), Errno> {
        let times = self.node(ino)?.times;
        self.node_mut(ino)?.times = Times {
            accessed: accessed.unwrap_or(times.accessed),
            modified: modified.unwrap_or(times.modified),
            changed: now,
        };
        Ok(())
    }
}
