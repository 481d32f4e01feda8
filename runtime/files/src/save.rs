//! Saving a tree: every page and block that its store does not have yet, each after what it names.
//!
//! Owns: the walk, and that an unchanged page or block costs one question to the store. Does not own: the records
//! (`format`).

use std::fmt;
use std::sync::Arc;

use dormouse_types::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::format::{self, BlockRecord, BodyRecord, FEW, Head, NameRecord, NodeRecord, Pages};
use crate::map::{Body as PageBody, Map, Page};
use crate::node::{Body, Entry, Ino, Node};
use crate::tree::Tree;
use crate::{ChunkId, ChunkSink};

/// A saved tree: the id of the chunk from which all others are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Root(pub ChunkId);

impl fmt::Display for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Saves a tree. Chunks that the store has, with all they name, are not written again; holes are not written at all.
///
/// # Errors
/// `internal` with the cause when the store fails, or when a block of the tree itself cannot be fetched. What was written
/// until then is without harm: nothing names it.
pub fn save(tree: &Tree, sink: &mut dyn ChunkSink) -> Result<Root> {
    let mut save = Save { sink };
    let nodes = save.pages(&tree.nodes, &mut Save::node)?;
    let bytes = format::encode_head(&Head { next: tree.next, nodes }, tree.unnamed > 0)?;
    let id = ChunkId::of(&bytes);
    save.put(&id, &bytes)?;
    Ok(Root(id))
}

struct Save<'a> {
    sink: &'a mut dyn ChunkSink,
}

/// How one entry of a map becomes a record.
type Record<'a, 's, K, V, R> = &'a mut dyn FnMut(&mut Save<'s>, &K, &V) -> Result<R>;

impl<'s> Save<'s> {
    fn has(&mut self, id: &ChunkId) -> Result<bool> {
        self.sink.has(id)
    }

    fn put(&mut self, id: &ChunkId, bytes: &[u8]) -> Result<()> {
        if self.has(id)? {
            return Ok(());
        }
        self.sink.put(id, bytes)
    }

    fn pages<K, V, R: Serialize>(
        &mut self,
        map: &Map<K, V>,
        record: Record<'_, 's, K, V, R>,
    ) -> Result<Pages<R>> {
        match map.root() {
            None => Ok(Pages::Empty),
            Some(page) => match &page.body {
                PageBody::Leaf(items) if items.len() <= FEW => Ok(Pages::Few(self.leaf(items, record)?)),
                _ => Ok(Pages::Root(self.page(page, record)?)),
            },
        }
    }

    fn leaf<K, V, R>(&mut self, items: &[(K, V)], record: Record<'_, 's, K, V, R>) -> Result<Vec<R>> {
        items.iter().map(|(key, value)| record(self, key, value)).collect()
    }

    /// The recursion is as deep as the map: 13 pages for 2⁶⁴ entries.
    fn page<K, V, R: Serialize>(
        &mut self,
        page: &Arc<Page<K, V>>,
        record: Record<'_, 's, K, V, R>,
    ) -> Result<ChunkId> {
        if let Some(id) = page.saved.get()
            && !self.sink.mends()
            && self.has(id)?
        {
            return Ok(*id);
        }
        let written = match &page.body {
            PageBody::Leaf(items) => format::Page::Leaf(self.leaf(items, record)?),
            PageBody::Branch(pages) => {
                let mut ids = Vec::with_capacity(pages.len());
                for (_, child) in pages {
                    ids.push(self.page(child, record)?);
                }
                format::Page::Branch(ids)
            }
        };
        let bytes = format::encode(&written)?;
        let id = ChunkId::of(&bytes);
        self.put(&id, &bytes)?;
        page.saved.get_or_init(|| id);
        Ok(id)
    }

    fn node(&mut self, ino: &Ino, node: &Node) -> Result<NodeRecord> {
        let body = match &node.body {
            Body::Folder(folder) => BodyRecord::Folder {
                parent: folder.parent,
                names: self.pages(&folder.entries, &mut Self::name)?,
            },
            Body::File(content) => match content.small().map_err(lost)? {
                Some(bytes) => BodyRecord::Small { size: content.size(), bytes: bytes.to_vec() },
                None => BodyRecord::File {
                    size: content.size(),
                    blocks: self.pages(content.blocks(), &mut Self::block)?,
                },
            },
            Body::Link(target) => BodyRecord::Link { target: target.to_string() },
        };
        Ok(NodeRecord { ino: *ino, links: node.links, times: node.times, body })
    }

    fn name(&mut self, name: &Arc<str>, entry: &Entry) -> Result<NameRecord> {
        Ok(NameRecord { name: name.to_string(), ino: entry.ino, kind: entry.kind })
    }

    fn block(&mut self, index: &u32, block: &Arc<Block>) -> Result<BlockRecord> {
        let id = block.id().map_err(lost)?;
        if !self.has(&id)? {
            match block.bytes() {
                Ok(bytes) => self.put(&id, &bytes)?,
                // It was damaged before, and stays so: the error of who reads this file, and of nobody else.
                Err(_) if self.sink.is_damaged(&id)? => {}
                Err(errno) => return Err(lost(errno)),
            }
        }
        Ok(BlockRecord { index: *index, id })
    }
}

fn lost(errno: crate::Errno) -> Error {
    Error::internal("a block of the files is gone or damaged", errno)
}
