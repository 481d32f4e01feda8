//! Content-addressed pieces of saved state: what providers save into and load from.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Error, ErrorCode, Result};

/// The largest chunk, in bytes: 256 KiB.
pub const MAX_CHUNK: usize = 256 << 10;

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

/// Where state is saved. A chunk is put after all those that it names. Nothing that was put is seen by others before the
/// whole save is acknowledged.
pub trait ChunkSink {
    /// Whether the chunk *and everything that it names* is kept here. Saved state that did not change since is not
    /// visited when this answers true, so a store that removes chunks must remove those that name others with them.
    ///
    /// # Errors
    /// `state_unavailable`: what kept the store from answering.
    fn has(&mut self, id: &ChunkId) -> Result<bool>;

    /// Keeps a chunk of 1 byte to [`MAX_CHUNK`] bytes. `id` is the name of `bytes`. May be called for a chunk that is kept.
    ///
    /// # Errors
    /// `state_unavailable`: what kept the store from keeping it.
    fn put(&mut self, id: &ChunkId, bytes: &[u8]) -> Result<()>;
}

/// Where saved state is read from, for as long as anything lives that was loaded from it.
pub trait ChunkSource: Send + Sync {
    /// The bytes of a chunk, or none. They need not be verified: [`fetch`] does that.
    ///
    /// # Errors
    /// `state_unavailable`: what kept the store from reading.
    fn get(&self, id: &ChunkId) -> Result<Option<Vec<u8>>>;
}

/// The bytes of a chunk, verified.
///
/// # Errors
/// `state_damaged` when it is missing, too large, or not what its name says; what the source says.
pub fn fetch(source: &dyn ChunkSource, id: &ChunkId) -> Result<Vec<u8>> {
    let bytes = source.get(id)?.ok_or_else(|| damaged(format!("chunk {id} is missing")))?;
    if bytes.len() > MAX_CHUNK {
        return Err(damaged(format!("chunk {id} has {} bytes, more than {MAX_CHUNK}", bytes.len())));
    }
    if ChunkId::of(&bytes) != *id {
        return Err(damaged(format!("chunk {id} is not what its name says")));
    }
    Ok(bytes)
}

/// Saved state that is not what was saved.
pub fn damaged(what: impl fmt::Display) -> Error {
    Error::new(ErrorCode::StateDamaged, format!("the saved state is damaged: {what}"))
        .with_hint("restore an earlier checkpoint")
}
