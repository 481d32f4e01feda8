//! Chunks: pieces of saved state, named by their content.
//!
//! Owns: the id, the two ports to wherever chunks are kept, and a store in memory. Does not own: what stands in a chunk
//! (`format`), or a store that lasts.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use dormouse_core::{Error, Result};
use serde::{Deserialize, Serialize};

/// The name of a chunk: BLAKE3-256 of its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ChunkId([u8; 32]);

impl ChunkId {
    /// The name of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// The 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// A name from its 32 bytes. Nothing needs to have it.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Reads 64 hexadecimal digits, as [`fmt::Display`] writes them.
    ///
    /// # Errors
    /// `args_invalid` for anything else.
    pub fn parse(text: &str) -> Result<Self> {
        match blake3::Hash::from_hex(text) {
            Ok(hash) => Ok(Self(*hash.as_bytes())),
            Err(_) => Err(Error::args_invalid(format!("`{}` is not the id of a chunk", text.escape_debug()))),
        }
    }
}

impl fmt::Display for ChunkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ChunkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Where [`save`](crate::save) puts chunks. A chunk is put after all those that it names.
pub trait ChunkSink {
    /// Whether the chunk *and everything that it names* is kept here. A saved subtree that did not change since is not
    /// visited when this answers true, so a store that removes chunks must remove those that name others with them.
    ///
    /// # Errors
    /// What kept the store from answering.
    fn has(&mut self, id: &ChunkId) -> io::Result<bool>;

    /// Keeps a chunk of 1 byte to [`MAX_CHUNK`] bytes. `id` is the name of `bytes`. May be called for a chunk that is kept.
    ///
    /// # Errors
    /// What kept the store from keeping it.
    fn put(&mut self, id: &ChunkId, bytes: &[u8]) -> io::Result<()>;
}

/// Where [`load`](crate::load) and a loaded tree find chunks, for as long as the tree and its forks live.
pub trait ChunkSource: Send + Sync {
    /// The bytes of a chunk, or none. They need not be verified: who asks does that.
    ///
    /// # Errors
    /// What kept the store from reading.
    fn get(&self, id: &ChunkId) -> io::Result<Option<Vec<u8>>>;
}

/// The largest chunk, in bytes: 256 KiB. Blocks of files are at most 64 KiB.
pub const MAX_CHUNK: usize = 256 << 10;

/// Chunks in memory: for tests, and for moving a tree from one store to another. Clones share their chunks.
#[derive(Clone, Debug, Default)]
pub struct MemoryChunks(Arc<Mutex<HashMap<ChunkId, Vec<u8>>>>);

impl MemoryChunks {
    /// Number of chunks.
    pub fn len(&self) -> usize {
        self.all(|chunks| chunks.len())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of all chunks.
    pub fn bytes(&self) -> u64 {
        self.all(|chunks| chunks.values().map(|bytes| bytes.len() as u64).sum())
    }

    /// The names of all chunks, in order.
    pub fn ids(&self) -> Vec<ChunkId> {
        let mut ids: Vec<ChunkId> = self.all(|chunks| chunks.keys().copied().collect());
        ids.sort_unstable();
        ids
    }

    /// Keeps only the chunks that `wanted` says yes to.
    pub fn retain(&self, mut wanted: impl FnMut(&ChunkId) -> bool) {
        self.all(|chunks| chunks.retain(|id, _| wanted(id)));
    }

    /// Replaces what stands under a name, which may then be false: for tests of damage.
    pub fn replace(&self, id: ChunkId, bytes: Vec<u8>) {
        self.all(|chunks| chunks.insert(id, bytes));
    }

    fn all<T>(&self, with: impl FnOnce(&mut HashMap<ChunkId, Vec<u8>>) -> T) -> T {
        with(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ChunkSink for MemoryChunks {
    fn has(&mut self, id: &ChunkId) -> io::Result<bool> {
        Ok(self.all(|chunks| chunks.contains_key(id)))
    }

    fn put(&mut self, id: &ChunkId, bytes: &[u8]) -> io::Result<()> {
        self.all(|chunks| {
            chunks.entry(*id).or_insert_with(|| bytes.to_vec());
        });
        Ok(())
    }
}

impl ChunkSource for MemoryChunks {
    fn get(&self, id: &ChunkId) -> io::Result<Option<Vec<u8>>> {
        Ok(self.all(|chunks| chunks.get(id).cloned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_back_from_its_text_and_other_text_is_refused() {
        let id = ChunkId::of(b"abc");
        assert_eq!(id.to_string(), "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85");
        assert_eq!(ChunkId::parse(&id.to_string()).unwrap(), id);
        for bad in ["", "64", &format!("{id}0"), &"g".repeat(64)] {
            assert!(ChunkId::parse(bad).is_err(), "{bad}");
        }
    }
}
