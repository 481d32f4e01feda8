//! Which chunks a saved tree needs.
//!
//! Owns: the walk from a root over all that it names. Does not own: removing the others; the store does that.

use dormouse_types::Reached;
use dormouse_types::Result;
use serde::de::DeserializeOwned;

use crate::format::{self, BlockRecord, BodyRecord, NameRecord, NodeRecord, Pages, damaged};
use crate::load::LEVELS;
use crate::save::Root;
use crate::{ChunkId, ChunkSource};

/// Notes every chunk of a saved tree. What is noted already is not followed again, so one set over many roots makes the walk
/// as long as what they do not share.
///
/// # Errors
/// `state_damaged` for a page that was saved in another form. Blocks are named, not read. A page that is missing or changed is left to
/// [`Reached::damaged`], and the others are followed.
pub fn reachable(root: Root, source: &dyn ChunkSource, reached: &mut Reached) -> Result<()> {
    if !reached.branch(root.0) {
        return Ok(());
    }
    let Some(head) = reached.follow(|| format::fetch(source, &root.0))? else { return Ok(()) };
    let (head, _) = format::decode_head(&head, &root.0)?;
    let mut reach = Reach { source, reached };
    reach.pages(head.nodes, &mut Reach::node)
}

struct Reach<'a> {
    source: &'a dyn ChunkSource,
    reached: &'a mut Reached,
}

type Each<'a, 'r, R> = &'a mut dyn FnMut(&mut Reach<'r>, R) -> Result<()>;

impl<'r> Reach<'r> {
    fn pages<R: DeserializeOwned>(&mut self, pages: Pages<R>, each: Each<'_, 'r, R>) -> Result<()> {
        match pages {
            Pages::Empty => Ok(()),
            Pages::Few(records) => records.into_iter().try_for_each(|record| each(self, record)),
            Pages::Root(id) => self.page(id, LEVELS, each),
        }
    }

    fn page<R: DeserializeOwned>(&mut self, id: ChunkId, levels: u32, each: Each<'_, 'r, R>) -> Result<()> {
        let levels = levels.checked_sub(1).ok_or_else(|| damaged(format!("chunk {id} lies too deep")))?;
        if !self.reached.branch(id) {
            return Ok(());
        }
        let Some(page) = self.reached.follow(|| format::fetch(self.source, &id))? else { return Ok(()) };
        match format::decode(&page, &id)? {
            format::Page::Leaf(records) => records.into_iter().try_for_each(|record| each(self, record)),
            format::Page::Branch(ids) => ids.into_iter().try_for_each(|id| self.page(id, levels, each)),
        }
    }

    fn node(&mut self, record: NodeRecord) -> Result<()> {
        match record.body {
            BodyRecord::Folder { names, .. } => self.pages(names, &mut Self::name),
            BodyRecord::File { blocks, .. } => self.pages(blocks, &mut Self::block),
            BodyRecord::Small { .. } | BodyRecord::Link { .. } => Ok(()),
        }
    }

    fn name(&mut self, _: NameRecord) -> Result<()> {
        Ok(())
    }

    fn block(&mut self, record: BlockRecord) -> Result<()> {
        self.reached.leaf(record.id);
        Ok(())
    }
}
