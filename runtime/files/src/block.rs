//! Blocks: the pieces of a file's content.
//!
//! Owns: bytes that are here or still in a store, fetched and verified when they are used, changed in place when nobody shares
//! them, and let go of when a store has them. Does not own: which blocks make a file; `content` does that.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::{ChunkId, ChunkSource, Errno};

/// Largest block, in bytes: 64 KiB.
pub(crate) const BLOCK: usize = 64 << 10;

/// Bytes of all blocks of the process that have come into memory, and that were let go of. What grows within a block is not
/// among them.
static MOVED: AtomicU64 = AtomicU64::new(0);

/// How many bytes have come and gone since the process began.
pub(crate) fn moved() -> u64 {
    MOVED.load(Ordering::Relaxed)
}

fn moves(bytes: usize) {
    MOVED.fetch_add(bytes as u64, Ordering::Relaxed);
}

/// Up to [`BLOCK`] bytes; what is missing up to the next block is zeroes.
pub(crate) struct Block {
    saved: OnceLock<ChunkId>,
    held: Mutex<Held>,
}

/// Where the bytes are: here, in a store, or both.
struct Held {
    bytes: Option<Arc<Vec<u8>>>,
    source: Option<Arc<dyn ChunkSource>>,
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let here = self.held().bytes.as_ref().map(|bytes| bytes.len());
        f.debug_tuple("Block").field(&here).field(&self.saved.get()).finish()
    }
}

impl Block {
    /// A block with these bytes, at most [`BLOCK`].
    pub(crate) fn new(bytes: Vec<u8>) -> Arc<Self> {
        moves(bytes.len());
        let held = Held { bytes: Some(Arc::new(bytes)), source: None };
        Arc::new(Self { saved: OnceLock::new(), held: Mutex::new(held) })
    }

    /// A block that is fetched when it is needed.
    pub(crate) fn away(id: ChunkId, source: Arc<dyn ChunkSource>) -> Arc<Self> {
        Arc::new(Self { saved: id.into(), held: Mutex::new(Held { bytes: None, source: Some(source) }) })
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many bytes are here. None: they would have to be fetched.
    pub(crate) fn here(&self) -> Option<usize> {
        self.held().bytes.as_ref().map(|bytes| bytes.len())
    }

    /// The chunk that holds this block: known, or named now, for which the bytes must be here.
    ///
    /// # Errors
    /// `Io` when they are not and cannot be fetched.
    pub(crate) fn id(&self) -> Result<ChunkId, Errno> {
        if let Some(id) = self.saved.get() {
            return Ok(*id);
        }
        let id = ChunkId::of(&self.bytes()?);
        Ok(*self.saved.get_or_init(|| id))
    }

    /// The bytes. They stay here once they were fetched.
    ///
    /// # Errors
    /// `Io` when the store has no such chunk, or not what its name says.
    pub(crate) fn bytes(&self) -> Result<Arc<Vec<u8>>, Errno> {
        let mut held = self.held();
        if let Some(bytes) = &held.bytes {
            return Ok(bytes.clone());
        }
        let (Some(id), Some(source)) = (self.saved.get(), &held.source) else { return Err(Errno::Io) };
        let bytes = source.get(id).ok().flatten().ok_or(Errno::Io)?;
        if bytes.len() > BLOCK || ChunkId::of(&bytes) != *id {
            return Err(Errno::Io);
        }
        moves(bytes.len());
        let bytes = Arc::new(bytes);
        held.bytes = Some(bytes.clone());
        Ok(bytes)
    }

    /// Lets go of bytes that a store has under the block's name: how many. One without a name was never saved, and keeps them.
    pub(crate) fn let_go(&self, source: &Arc<dyn ChunkSource>) -> usize {
        if self.saved.get().is_none() {
            return 0;
        }
        let mut held = self.held();
        let Some(bytes) = held.bytes.take() else { return 0 };
        held.source = Some(source.clone());
        moves(bytes.len());
        bytes.len()
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
        let bytes = block.bytes()?;
        if Arc::get_mut(block).is_none() {
            *block = Self::new(bytes.to_vec());
        }
        drop(bytes);
        let own = Arc::get_mut(block).ok_or(Errno::Io)?;
        own.saved = OnceLock::new();
        let held = own.held.get_mut().unwrap_or_else(PoisonError::into_inner);
        held.source = None;
        held.bytes.as_mut().map(Arc::make_mut).ok_or(Errno::Io)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryChunks;

    #[test]
    fn a_block_that_was_cut_keeps_no_memory_that_nobody_pays_for() {
        let mut block = Block::new(vec![1; BLOCK]);
        Block::cut(&mut block, 3).unwrap();
        assert_eq!(*block.bytes().unwrap(), [1, 1, 1]);
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

    #[test]
    fn what_was_let_go_comes_back_and_what_was_never_saved_stays() {
        let chunks = MemoryChunks::default();
        let source: Arc<dyn ChunkSource> = Arc::new(chunks.clone());
        let mut block = Block::new(vec![7; 100]);
        assert_eq!((block.let_go(&source), block.here()), (0, Some(100)));
        chunks.replace(block.id().unwrap(), vec![7; 100]);
        let shared = block.clone();
        assert_eq!((block.let_go(&source), shared.here()), (100, None));
        assert_eq!(block.let_go(&source), 0);
        // Somebody who has the bytes keeps them; a change is made to a copy that has no name.
        let before = shared.bytes().unwrap();
        Block::edit(&mut block).unwrap()[0] = 8;
        assert_eq!((before[0], block.bytes().unwrap()[0], block.let_go(&source)), (7, 8, 0));
        shared.let_go(&source);
        chunks.replace(shared.id().unwrap(), vec![8; 100]);
        assert_eq!(shared.bytes(), Err(Errno::Io));
    }
}
