//! Which chunks saved states consist of, learnt state by state.

use std::collections::HashSet;

use crate::Result;
use crate::chunk::{ChunkId, is_damaged_chunk};

/// Chunks that states were found to consist of. What two states share is followed once.
#[derive(Clone, Debug, Default)]
pub struct Reached {
    all: HashSet<ChunkId>,
    followed: HashSet<ChunkId>,
    damaged: Vec<ChunkId>,
}

impl Reached {
    /// Notes a chunk that names no others.
    pub fn leaf(&mut self, id: ChunkId) {
        self.all.insert(id);
    }

    /// Notes a chunk that names others. True: these have to be noted now; false: they have been. The bytes of a file can be
    /// those of a chunk that names others, so a chunk that was noted as a leaf is still to be followed.
    #[must_use]
    pub fn branch(&mut self, id: ChunkId) -> bool {
        self.all.insert(id);
        self.followed.insert(id)
    }

    /// Reads a chunk that was noted as one that names others. None: it cannot be read; what it names is not noted, and nothing else is
    /// kept from being so.
    ///
    /// # Errors
    /// Those of `read`, but damage of a chunk.
    pub fn follow<T>(&mut self, read: impl FnOnce() -> Result<T>) -> Result<Option<T>> {
        match read() {
            Ok(read) => Ok(Some(read)),
            Err(error) => match is_damaged_chunk(&error) {
                Some(id) => {
                    self.damaged.push(id);
                    Ok(None)
                }
                None => Err(error),
            },
        }
    }

    /// The chunks that could not be followed, in the order in which they were found.
    pub fn damaged(&self) -> &[ChunkId] {
        &self.damaged
    }

    /// Whether a chunk was noted.
    pub fn has(&self, id: &ChunkId) -> bool {
        self.all.contains(id)
    }

    /// How many chunks were noted.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether none was.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// All that were noted, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &ChunkId> {
        self.all.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_the_bytes_of_a_file_is_followed_all_the_same() {
        let (mut reached, id) = (Reached::default(), ChunkId::of(b"both"));
        reached.leaf(id);
        assert!(reached.branch(id));
        assert!(!reached.branch(id));
        assert!(reached.has(&id) && reached.len() == 1);
    }
}
