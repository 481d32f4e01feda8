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

/// State that has been saved: the chunk from which everything else is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedState {
    /// The chunk to begin with.
    pub root: ChunkId,
    /// Bytes of all its chunks, uncompressed, shared ones included.
    pub bytes: u64,
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

    /// Whether the chunk is kept, but is known not to be what it was, so that only who has its bytes can mend it. [`ChunkSink::has`]
    /// is false then. Who has not may name it all the same: it stays as damaged as it is. Default: never.
    ///
    /// # Errors
    /// `state_unavailable`: what kept the store from answering.
    fn is_damaged(&mut self, id: &ChunkId) -> Result<bool> {
        let _ = id;
        Ok(false)
    }

    /// Whether some chunk is known to be damaged: what is in memory is then to be put as a whole, also below chunks that are kept, so that
    /// what it has of the damaged ones is written anew. Default: none is.
    fn mends(&self) -> bool {
        false
    }

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
    let bytes = source.get(id)?.ok_or_else(|| damaged_chunk(*id, "is missing"))?;
    if bytes.len() > MAX_CHUNK {
        return Err(damaged_chunk(*id, format_args!("has {} bytes, more than {MAX_CHUNK}", bytes.len())));
    }
    if ChunkId::of(&bytes) != *id {
        return Err(damaged_chunk(*id, "is not what its name says"));
    }
    Ok(bytes)
}

/// Saved state that is not what was saved.
pub fn damaged(what: impl fmt::Display) -> Error {
    Error::new(ErrorCode::StateDamaged, format!("the saved state is damaged: {what}")).with_hint(WAY_OUT)
}

/// What can be done about damaged state.
const WAY_OUT: &str = "restore an earlier checkpoint (sandbox_restore); if only variables are damaged, sandbox_reset starts fresh interpreters and keeps the files; `dormouse state check` shows what is intact";

/// A chunk that is missing, or is not what was saved under its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DamagedChunk(ChunkId);

impl fmt::Display for DamagedChunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "chunk {} is damaged", self.0)
    }
}

impl std::error::Error for DamagedChunk {}

/// The error of a chunk that is missing, or is not what was saved under its name.
pub fn damaged_chunk(id: ChunkId, what: impl fmt::Display) -> Error {
    damaged(format_args!("chunk {id} {what}")).with_source(DamagedChunk(id))
}

/// Whether an error is [`damaged_chunk`]'s: a chunk could not be read, and nothing was found to be wrong with what states say.
pub fn is_damaged_chunk(error: &Error) -> Option<ChunkId> {
    let source = std::error::Error::source(error)?;
    source.downcast_ref::<DamagedChunk>().map(|chunk| chunk.0)
}
