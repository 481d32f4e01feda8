//! Loading a saved tree: every page is read and checked, no block is read before it is needed.
//!
//! Owns: the check of bytes that are not trusted: form, order, counts, names and sizes while they are read, so that little
//! bytes never make much memory; how nodes hang together is audited at the end. Does not own: the records (`format`).

use std::sync::Arc;

use dormouse_types::{Error, ErrorCode, Result};
use serde::de::DeserializeOwned;

use crate::block::{BLOCK, Block};
use crate::content::Content;
use crate::format::{self, BlockRecord, BodyRecord, NameRecord, NodeRecord, Pages, SMALL, damaged};
use crate::map::{Body as PageBody, FANOUT, Map, Page};
use crate::node::{Body, Entry, Folder, Ino, Kind, Node, ROOT};
use crate::save::Root;
use crate::tree::Tree;
use crate::{ChunkId, ChunkSource, Quota, Usage};

/// Levels of pages that a map can have.
pub(crate) const LEVELS: u32 = 13;
/// The highest number of a node that can be loaded; making one each nanosecond takes 292 years to pass it.
const HIGHEST: u64 = u64::MAX / 2;

/// Loads a tree, which reads its files from `source` block by block as they are used.
///
/// The names, sizes and small files of the whole tree are read now: about 100 bytes a file. A block that is missing or
/// damaged is found when it is read, as `Io`.
///
/// # Errors
/// `internal` naming the damage; `too_large` when the tree holds more than the quota: load it with a larger one, and lower
/// it by [`Tree::with_quota`] if need be.
pub fn load(root: Root, source: Arc<dyn ChunkSource>, quota: Quota) -> Result<Tree> {
    let (head, unnamed) = format::decode_head(&format::fetch(&*source, &root.0)?, &root.0)?;
    let mut tree = Tree::new(quota);
    if head.next > HIGHEST {
        return Err(damaged("the next node's number is out of range"));
    }
    let mut load = Load { source, quota: tree.quota, used: Usage::default(), nodes: 0, unnamed: 0 };
    tree.nodes = load.pages(head.nodes, &mut Load::node)?;
    tree.next = head.next;
    tree.used = load.used;
    if !tree.nodes.get(&ROOT).is_some_and(|node| node.kind() == Kind::Folder) {
        return Err(damaged("there is no root folder"));
    }
    tree.unnamed = load.unnamed;
    tree.audit(if unnamed { load.unnamed } else { 0 }).map_err(damaged)?;
    Ok(tree)
}

struct Load {
    source: Arc<dyn ChunkSource>,
    quota: Quota,
    used: Usage,
    nodes: u64,
    /// Nodes that say that they have no name.
    unnamed: usize,
}

/// How a record becomes an entry of a map.
type Entries<'a, R, K, V> = &'a mut dyn FnMut(&mut Load, R) -> Result<(K, V)>;

/// A page, its level above the leaves, and its first key.
type Read<K, V> = (Arc<Page<K, V>>, u32, K);

impl Load {
    fn pages<R: DeserializeOwned, K: Ord + Clone, V>(
        &mut self,
        pages: Pages<R>,
        entry: Entries<'_, R, K, V>,
    ) -> Result<Map<K, V>> {
        let mut order = Order { last: None, len: 0 };
        let root = match pages {
            Pages::Empty => None,
            Pages::Few(records) => Some(self.leaf(records, entry, &mut order)?.0),
            Pages::Root(id) => Some(self.page(id, LEVELS, entry, &mut order)?.0),
        };
        Ok(Map::from_root(root, order.len))
    }

    fn page<R: DeserializeOwned, K: Ord + Clone, V>(
        &mut self,
        id: ChunkId,
        levels: u32,
        entry: Entries<'_, R, K, V>,
        order: &mut Order<K>,
    ) -> Result<Read<K, V>> {
        let levels = levels.checked_sub(1).ok_or_else(|| damaged(format!("chunk {id} lies too deep")))?;
        let read = match format::decode(&format::fetch(&*self.source, &id)?, &id)? {
            format::Page::Leaf(records) => self.leaf(records, entry, order)?,
            format::Page::Branch(ids) => {
                check_len(ids.len())?;
                let mut pages = Vec::with_capacity(ids.len());
                let mut level = None;
                for id in ids {
                    let (page, above, first) = self.page(id, levels, entry, order)?;
                    if *level.get_or_insert(above) != above {
                        return Err(damaged(format!("chunk {id} is at another level than its neighbours")));
                    }
                    pages.push((first, page));
                }
                let first = pages.first().map(|(first, _)| first.clone());
                let (Some(first), Some(level)) = (first, level) else {
                    return Err(damaged("a page is empty"));
                };
                (Arc::new(Page::new(PageBody::Branch(pages))), level + 1, first)
            }
        };
        let _ = read.0.saved.set(id);
        Ok(read)
    }

    fn leaf<R, K: Ord + Clone, V>(
        &mut self,
        records: Vec<R>,
        entry: Entries<'_, R, K, V>,
        order: &mut Order<K>,
    ) -> Result<Read<K, V>> {
        check_len(records.len())?;
        let mut items = Vec::with_capacity(records.len());
        for record in records {
            let (key, value) = entry(self, record)?;
            order.next(&key)?;
            items.push((key, value));
        }
        let first = items.first().map(|(key, _): &(K, V)| key.clone());
        let first = first.ok_or_else(|| damaged("a page is empty"))?;
        Ok((Arc::new(Page::new(PageBody::Leaf(items))), 0, first))
    }

    fn node(&mut self, record: NodeRecord) -> Result<(Ino, Node)> {
        self.nodes += 1;
        if self.nodes > self.quota.files.saturating_add(1) {
            return Err(self.over());
        }
        if record.links == 0 {
            self.unnamed += 1;
            self.count_name()?;
        }
        let body = match record.body {
            BodyRecord::Folder { parent, names } => {
                let entries = self.pages(names, &mut Self::name)?;
                let folders = entries.iter().filter(|(_, entry)| entry.kind == Kind::Folder).count() as u64;
                Body::Folder(Folder { parent, folders, entries })
            }
            BodyRecord::File { size, blocks } => {
                self.charge(size)?;
                let blocks = self.pages(blocks, &mut |load, record| load.block(record, size))?;
                Body::File(Content::from_parts(size, blocks))
            }
            BodyRecord::Small { size, bytes } => {
                self.charge(size)?;
                if bytes.is_empty() || bytes.len() > SMALL || bytes.len() as u64 > size {
                    return Err(damaged(format!("node {} has {} bytes inside", record.ino, bytes.len())));
                }
                let mut blocks = Map::default();
                blocks.insert(0, Block::new(bytes));
                Body::File(Content::from_parts(size, blocks))
            }
            BodyRecord::Link { target } => {
                self.charge(target.len() as u64)?;
                if target.is_empty()
                    || target.len() >= Quota::MAX_PATH
                    || target.starts_with('/')
                    || target.contains('\0')
                {
                    return Err(damaged(format!("the link {} leads nowhere", record.ino)));
                }
                Body::Link(target.into())
            }
        };
        Ok((record.ino, Node { links: record.links, times: record.times, body }))
    }

    /// Counts one name. A node that has none costs as much.
    fn count_name(&mut self) -> Result<()> {
        self.used.files += 1;
        if self.used.files > self.quota.files { Err(self.over()) } else { Ok(()) }
    }

    fn name(&mut self, record: NameRecord) -> Result<(Arc<str>, Entry)> {
        self.count_name()?;
        Ok((record.name.into(), Entry { ino: record.ino, kind: record.kind }))
    }

    fn block(&self, record: BlockRecord, size: u64) -> Result<(u32, Arc<Block>)> {
        if u64::from(record.index) * BLOCK as u64 >= size {
            return Err(damaged(format!("block {} lies past the end of its file", record.index)));
        }
        Ok((record.index, Block::away(record.id, self.source.clone())))
    }

    fn charge(&mut self, bytes: u64) -> Result<()> {
        if bytes > Quota::MAX_FILE {
            return Err(damaged(format!("a file of {bytes} bytes")));
        }
        self.used.bytes = self.used.bytes.saturating_add(bytes);
        if self.used.bytes > self.quota.bytes { Err(self.over()) } else { Ok(()) }
    }

    fn over(&self) -> Error {
        let Quota { bytes, files, .. } = self.quota;
        Error::new(
            ErrorCode::TooLarge,
            format!("the saved files hold more than the quota of {bytes} bytes and {files} names"),
        )
        .with_hint("make a sandbox with more room for files")
    }
}

/// The keys of a map as they come.
struct Order<K> {
    last: Option<K>,
    len: usize,
}

impl<K: Ord + Clone> Order<K> {
    fn next(&mut self, key: &K) -> Result<()> {
        if self.last.as_ref().is_some_and(|last| last >= key) {
            return Err(damaged("a page is out of order"));
        }
        self.last = Some(key.clone());
        self.len += 1;
        Ok(())
    }
}

fn check_len(len: usize) -> Result<()> {
    if (1..=FANOUT).contains(&len) {
        Ok(())
    } else {
        Err(damaged(format!("a page of {len} entries, not 1 to {FANOUT}")))
    }
}
