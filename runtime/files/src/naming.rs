//! Names: making, linking, removing and renaming them in folders that are known by number.
//!
//! Owns: the rules of each change and the account of names. Does not own: how a path leads to a folder and a name
//! (`resolve`).

use std::sync::Arc;

use crate::node::{Body, Entry, Folder, Ino, Kind, Node, ROOT};
use crate::tree::Tree;
use crate::{Errno, Quota};

impl Tree {
    /// Makes an empty file.
    ///
    /// # Errors
    /// `Exists`, `NoSpace`, `NoEntry` when the folder itself was removed.
    pub(crate) fn add_file(&mut self, folder: Ino, name: &Arc<str>, now: u64) -> Result<Ino, Errno> {
        self.add(folder, name, Body::File(Default::default()), now)
    }

    /// Makes an empty folder.
    ///
    /// # Errors
    /// As for a file, and `NameTooLong` past the quota's depth.
    pub(crate) fn add_folder(&mut self, folder: Ino, name: &Arc<str>, now: u64) -> Result<Ino, Errno> {
        if self.entry(folder, name)?.is_none() && self.depth(folder)? >= self.quota.depth {
            return Err(Errno::NameTooLong);
        }
        self.add(folder, name, Body::Folder(Folder::new(folder)), now)
    }

    /// Makes a symbolic link. The target leads to nothing that must exist, but is not absolute.
    ///
    /// # Errors
    /// As for a file; `NotPermitted` for an absolute target, `NoEntry` for an empty one, `NameTooLong`, `Invalid` with NUL.
    pub(crate) fn add_link(
        &mut self,
        folder: Ino,
        name: &Arc<str>,
        target: &str,
        now: u64,
    ) -> Result<Ino, Errno> {
        if target.is_empty() {
            return Err(Errno::NoEntry);
        }
        if target.starts_with('/') {
            return Err(Errno::NotPermitted);
        }
        if target.len() >= Quota::MAX_PATH {
            return Err(Errno::NameTooLong);
        }
        if target.contains('\0') {
            return Err(Errno::Invalid);
        }
        self.add(folder, name, Body::Link(target.into()), now)
    }

    fn add(&mut self, folder: Ino, name: &Arc<str>, body: Body, now: u64) -> Result<Ino, Errno> {
        self.free_name(folder, name)?;
        let node = Node::new(body, now);
        self.used = self.used.plus(node.size(), 1, &self.quota)?;
        let (ino, kind) = (self.next, node.kind());
        self.next += 1;
        self.nodes.insert(ino, node);
        self.put_name(folder, name.clone(), Entry { ino, kind }, now)?;
        Ok(ino)
    }

    /// Gives a file or a symbolic link one more name.
    ///
    /// # Errors
    /// `NotPermitted` for a folder, `Exists`, `TooManyLinks`, `NoSpace`.
    pub(crate) fn add_name(&mut self, ino: Ino, folder: Ino, name: &Arc<str>, now: u64) -> Result<(), Errno> {
        self.free_name(folder, name)?;
        let node = self.node(ino)?;
        let kind = node.kind();
        if kind == Kind::Folder {
            return Err(Errno::NotPermitted);
        }
        match node.links {
            0 => return Err(Errno::NoEntry),
            Quota::MAX_LINKS.. => return Err(Errno::TooManyLinks),
            _ => {}
        }
        self.used = self.used.plus(0, 1, &self.quota)?;
        let node = self.node_mut(ino)?;
        node.links += 1;
        node.times.changed = now;
        self.put_name(folder, name.clone(), Entry { ino, kind }, now)
    }

    /// Takes a name away. Answers the node if that was its last: it stays in the table until [`Tree::forget`].
    ///
    /// # Errors
    /// `NoEntry`; for a folder that is not empty `NotEmpty`.
    pub(crate) fn remove_name(&mut self, folder: Ino, name: &str, now: u64) -> Result<Option<Ino>, Errno> {
        let entry = self.entry(folder, name)?.ok_or(Errno::NoEntry)?;
        if entry.kind == Kind::Folder && !self.folder(entry.ino)?.entries.is_empty() {
            return Err(Errno::NotEmpty);
        }
        self.take_name(folder, name, now)?;
        let node = self.node_mut(entry.ino)?;
        node.links -= 1;
        node.times.changed = now;
        let last = node.links == 0;
        // The last name of a node is given back with the node, so that open files stay bounded by the quota.
        if !last {
            self.used = self.used.minus(0, 1);
        }
        Ok(last.then_some(entry.ino))
    }

    /// Lets go of a node that has no name.
    pub(crate) fn forget(&mut self, ino: Ino) {
        if self.nodes.get(&ino).is_some_and(|node| node.links == 0)
            && let Some(node) = self.nodes.remove(&ino)
        {
            self.used = self.used.minus(node.size(), 1);
        }
    }

    /// Renames. Answers the node that lost its last name because the new name was its own.
    ///
    /// # Errors
    /// `NoEntry`; `Invalid` for a folder that would move into itself; `NotDirectory` and `IsDirectory` when one is a
    /// folder and the other is not; `NotEmpty`; `NameTooLong` when folders would lie too deep.
    pub(crate) fn rename(
        &mut self,
        from: (Ino, &str),
        to: (Ino, &Arc<str>),
        now: u64,
    ) -> Result<Option<Ino>, Errno> {
        let entry = self.entry(from.0, from.1)?.ok_or(Errno::NoEntry)?;
        if entry.kind == Kind::Folder && self.holds(entry.ino, to.0)? {
            return Err(Errno::Invalid);
        }
        let over = self.entry(to.0, to.1)?;
        if let Some(over) = over {
            if over.ino == entry.ino {
                return Ok(None);
            }
            if over.kind == Kind::Folder && self.holds(over.ino, from.0)? {
                return Err(Errno::NotEmpty);
            }
            match (entry.kind == Kind::Folder, over.kind == Kind::Folder) {
                (true, false) => return Err(Errno::NotDirectory),
                (false, true) => return Err(Errno::IsDirectory),
                _ => {}
            }
        } else if self.node(to.0)?.links == 0 {
            return Err(Errno::NoEntry);
        }
        if entry.kind == Kind::Folder {
            let (before, after) = (self.depth(from.0)?, self.depth(to.0)?);
            if after > before && after + self.height(entry.ino, self.quota.depth)? > self.quota.depth {
                return Err(Errno::NameTooLong);
            }
        }
        let gone = if over.is_some() { self.remove_name(to.0, to.1, now)? } else { None };
        self.take_name(from.0, from.1, now)?;
        self.put_name(to.0, to.1.clone(), entry, now)?;
        let node = self.node_mut(entry.ino)?;
        node.times.changed = now;
        if let Body::Folder(folder) = &mut node.body {
            folder.parent = to.0;
        }
        Ok(gone)
    }

    /// Refuses a name that is taken, or a folder that was removed.
    fn free_name(&self, folder: Ino, name: &str) -> Result<(), Errno> {
        match self.entry(folder, name)? {
            Some(_) => Err(Errno::Exists),
            None if self.node(folder)?.links == 0 => Err(Errno::NoEntry),
            None => Ok(()),
        }
    }

    fn put_name(&mut self, folder: Ino, name: Arc<str>, entry: Entry, now: u64) -> Result<(), Errno> {
        let held = self.folder_mut(folder)?;
        held.folders += u64::from(entry.kind == Kind::Folder);
        held.entries.insert(name, entry);
        self.node_mut(folder)?.times.touch(now);
        Ok(())
    }

    fn take_name(&mut self, folder: Ino, name: &str, now: u64) -> Result<(), Errno> {
        let held = self.folder_mut(folder)?;
        let entry = held.entries.remove(name).ok_or(Errno::NoEntry)?;
        held.folders -= u64::from(entry.kind == Kind::Folder);
        self.node_mut(folder)?.times.touch(now);
        Ok(())
    }

    /// Folders from `/` down to this one; `/` itself is 0.
    pub(crate) fn depth(&self, folder: Ino) -> Result<u32, Errno> {
        let (mut at, mut depth) = (folder, 0);
        while at != ROOT && self.node(at)?.links > 0 {
            at = self.folder(at)?.parent;
            depth += 1;
        }
        Ok(depth)
    }

    /// Whether `inner` is `outer` or lies below it.
    fn holds(&self, outer: Ino, inner: Ino) -> Result<bool, Errno> {
        let mut at = inner;
        while at != outer {
            if at == ROOT || self.node(at)?.links == 0 {
                return Ok(false);
            }
            at = self.folder(at)?.parent;
        }
        Ok(true)
    }

    /// Levels of folders from this one down, itself included; stops counting past `most`. Looks only at folders that
    /// hold folders, and only when one moves to a deeper place.
    fn height(&self, folder: Ino, most: u32) -> Result<u32, Errno> {
        let (mut height, mut level) = (0, vec![folder]);
        while !level.is_empty() && height <= most {
            let mut below = Vec::new();
            for ino in level {
                let folder = self.folder(ino)?;
                if folder.folders > 0 {
                    let entries = folder.entries.iter().map(|(_, entry)| entry);
                    below.extend(entries.filter(|entry| entry.kind == Kind::Folder).map(|entry| entry.ino));
                }
            }
            level = below;
            height += 1;
        }
        Ok(height)
    }
}
