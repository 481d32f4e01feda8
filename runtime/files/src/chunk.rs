//! Chunks in memory: for tests, and for moving state from one store to another.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use dormouse_types::Result;
use dormouse_types::chunk::{ChunkId, ChunkSink, ChunkSource};

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
    fn has(&mut self, id: &ChunkId) -> Result<bool> {
        Ok(self.all(|chunks| chunks.contains_key(id)))
    }

    fn put(&mut self, id: &ChunkId, bytes: &[u8]) -> Result<()> {
        self.all(|chunks| {
            chunks.entry(*id).or_insert_with(|| bytes.to_vec());
        });
        Ok(())
    }
}

impl ChunkSource for MemoryChunks {
    fn get(&self, id: &ChunkId) -> Result<Option<Vec<u8>>> {
        Ok(self.all(|chunks| chunks.get(id).cloned()))
    }
}
