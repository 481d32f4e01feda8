//! Content-addressed pieces of saved state: what providers save into and load from.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// The name of a chunk: the BLAKE3 hash of its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ChunkId(pub [u8; 32]);

impl ChunkId {
    /// The name of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }
}

impl fmt::Display for ChunkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&data_encoding::HEXLOWER.encode(&self.0))
    }
}

impl fmt::Debug for ChunkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ChunkId({self})")
    }
}

/// Takes chunks. Nothing that was put is visible to others before the whole save is acknowledged.
pub trait ChunkSink {
    /// Keeps a chunk of at most 1 MiB; one that is there already costs nothing.
    ///
    /// # Errors
    /// What keeps it from being written.
    fn put(&mut self, id: ChunkId, bytes: &[u8]) -> Result<()>;

    /// Whether a chunk is there already, so that its bytes need not be made. Says nothing of the chunks that it names: each
    /// chunk of a state is put or asked for in each save.
    ///
    /// # Errors
    /// What keeps it from being looked up.
    fn has(&mut self, id: &ChunkId) -> Result<bool>;
}

/// Gives chunks back, each checked against its name.
pub trait ChunkSource: Send + Sync {
    /// The bytes of a chunk.
    ///
    /// # Errors
    /// `state_damaged` when it is missing or is not what it was.
    fn get(&self, id: &ChunkId) -> Result<Arc<[u8]>>;

    /// The bytes of several chunks, in the order asked for.
    ///
    /// # Errors
    /// As [`ChunkSource::get`], for the first that fails.
    fn get_many(&self, ids: &[ChunkId]) -> Result<Vec<Arc<[u8]>>> {
        ids.iter().map(|id| self.get(id)).collect()
    }
}

/// The error for a chunk, or what it holds, that is not what it was.
pub fn damaged(what: impl fmt::Display) -> Error {
    Error::new(crate::ErrorCode::StateDamaged, format!("saved state is damaged: {what}"))
        .with_hint("restore another checkpoint; nothing was changed")
}
