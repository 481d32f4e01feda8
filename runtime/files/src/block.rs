//! Blocks: the pieces of a file's content.
//!
//! Owns: bytes that are here or still in a store, fetched and verified at the first use, and changed in place when nobody
//! shares them. Does not own: which blocks make a file; `content` does that.

use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::{ChunkId, ChunkSource, Errno};

/// Largest block, in bytes: 64 KiB.
pub(crate) const BLOCK: usize = 64 << 10;

/// Up to [`BLOCK`] bytes; what is missing up to the next block is zeroes.
pub(crate) struct Block {
    saved: OnceLock<ChunkId>,
    bytes: OnceLock<Vec<u8>>,
    source: Option<Arc<dyn ChunkSource>>,
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Block").field(&self.bytes.get().map(Vec::len)).field(&self.saved.get()).finish()
    }
}

impl Block {
    /// A block with these bytes, at most [`BLOCK`].
    pub(crate) fn new(bytes: Vec<u8>) -> Arc<Self> {
        Arc::new(Self { saved: OnceLock::new(), bytes: bytes.into(), source: None })
    }

    /// A block that is fetched when it is needed.
    pub(crate) fn away(id: ChunkId, source: Arc<dyn ChunkSource>) -> Arc<Self> {
        Arc::new(Self { saved: id.into(), bytes: OnceLock::new(), source: Some(source) })
    }

    /// Whether the bytes need not be fetched.
    pub(crate) fn is_here(&self) -> bool {
        self.bytes.get().is_some()
    }

    /// The chunk that holds this block: known, or named now, for which the bytes must be here.
    ///
    /// # Errors
    /// `Io` when they are not and cannot be fetched.
    pub(crate) fn id(&self) -> Result<ChunkId, Errno> {
        if let Some(id) = self.saved.get() {
            return Ok(*id);
        }
        let id = ChunkId::of(self.bytes()?);
        Ok(*self.saved.get_or_init(|| id))
    }

    /// The bytes.
    ///
    /// # Errors
    /// `Io` when the store has no such chunk, or not what its name says.
    pub(crate) fn bytes(&self) -> Result<&[u8], Errno> {
        if let Some(bytes) = self.bytes.get() {
            return Ok(bytes);
        }
        let (Some(id), Some(source)) = (self.saved.get(), &self.source) else { return Err(Errno::Io) };
        let bytes = source.get(id).ok().flatten().ok_or(Errno::Io)?;
        if bytes.len() > BLOCK || ChunkId::of(&bytes) != *id {
            return Err(Errno::Io);
        }
        Ok(self.bytes.get_or_init(|| bytes))
    }

    /// Cuts a block, which gives its memory back.
    pub(crate) fn cut(block: &mut Arc<Self>, len: usize) -> Result<(), Errno> {
        let bytes = Self::edit(block)?;
        bytes.truncate(len);
        bytes.shrink_to_fit();
        Ok(())
    }

    /// The bytes, to be changed: in place if no fork has this block, else in a copy.
    pub(crate) fn edit(block: &mut Arc<Self>) -> Result<&mut Vec<u8>, Errno> {
        block.bytes()?;
        if Arc::get_mut(block).is_none() {
            *block = Self::new(block.bytes()?.to_vec());
        }
        let own = Arc::get_mut(block).ok_or(Errno::Io)?;
        own.saved = OnceLock::new();
        own.source = None;
        own.bytes.get_mut().ok_or(Errno::Io)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_that_was_cut_keeps_no_memory_that_nobody_pays_for() {
        let mut block = Block::new(vec![1; BLOCK]);
        Block::cut(&mut block, 3).unwrap();
        assert_eq!(block.bytes().unwrap(), [1, 1, 1]);
        assert!(Block::edit(&mut block).unwrap().capacity() < 100);
    }

    #[test]
    fn a_shared_block_is_copied_and_its_name_stays_with_the_old() {
        let mut block = Block::new(vec![1; 10]);
        let (other, id) = (block.clone(), block.id().unwrap());
        Block::edit(&mut block).unwrap()[0] = 2;
        assert_eq!((other.id().unwrap(), other.bytes().unwrap()[0]), (id, 1));
        let changed = block.id().unwrap();
        assert_ne!(changed, id);
        Block::edit(&mut block).unwrap()[0] = 1;
        assert_eq!(block.id().unwrap(), id);
    }
}
