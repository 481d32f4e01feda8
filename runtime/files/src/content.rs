//! The content of a file: a size, and the blocks that are not holes.
//!
//! Owns: reading, writing and cutting at any offset. Does not own: what a size costs; `tree` charges it.

use std::sync::Arc;

use crate::block::{BLOCK, Block};
use crate::format::SMALL;
use crate::map::Map;
use crate::{ChunkSource, Errno, Quota};

/// A block's size as an offset.
const STEP: u64 = BLOCK as u64;

/// What a file holds. A copy takes constant time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Content {
    size: u64,
    blocks: Map<u32, Arc<Block>>,
}

impl Content {
    /// A content whose blocks are known to lie within its size.
    pub(crate) fn from_parts(size: u64, blocks: Map<u32, Arc<Block>>) -> Self {
        Self { size, blocks }
    }

    /// A content of these bytes.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, Errno> {
        let mut content = Self::default();
        content.write(0, bytes)?;
        Ok(content)
    }

    /// Bytes, holes included.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Whether this is the other content, unchanged since it was copied. Equal bytes alone do not make it that.
    pub(crate) fn is_still(&self, copy: &Self) -> bool {
        let same = match (self.blocks.root(), copy.blocks.root()) {
            (None, None) => true,
            (Some(ours), Some(theirs)) => Arc::ptr_eq(ours, theirs),
            _ => false,
        };
        same && self.size == copy.size
    }

    /// The bytes of a content that has but one small block, and that first: it is saved within the record of its node. A block
    /// that is not here is not fetched for it.
    ///
    /// # Errors
    /// `Io`, which no block that is here answers.
    pub(crate) fn small(&self) -> Result<Option<Arc<Vec<u8>>>, Errno> {
        match (self.blocks.len(), self.blocks.iter().next()) {
            (1, Some((0, block))) if block.here().is_some_and(|len| len <= SMALL) => block.bytes().map(Some),
            _ => Ok(None),
        }
    }

    /// Bytes that are in memory.
    pub(crate) fn here(&self) -> u64 {
        self.blocks.iter().filter_map(|(_, block)| block.here()).sum::<usize>() as u64
    }

    /// Lets go of the blocks that a save of this content has put into a store: how many bytes.
    pub(crate) fn let_go(&self, source: &Arc<dyn ChunkSource>) -> u64 {
        match self.small() {
            Ok(None) => self.blocks.iter().map(|(_, block)| block.let_go(source)).sum::<usize>() as u64,
            _ => 0,
        }
    }

    /// The blocks that are not holes, by their number.
    pub(crate) fn blocks(&self) -> &Map<u32, Arc<Block>> {
        &self.blocks
    }

    /// Up to `len` bytes from `offset`; fewer at the end, none past it.
    ///
    /// # Errors
    /// `Io` when a block cannot be fetched.
    pub(crate) fn read(&self, offset: u64, len: usize) -> Result<Vec<u8>, Errno> {
        let end = self.size.min(offset.saturating_add(len as u64));
        let mut bytes =
            vec![0; usize::try_from(end.saturating_sub(offset)).map_err(|_| Errno::FileTooLarge)?];
        let Some(last) = end.checked_sub(1).filter(|last| *last >= offset) else { return Ok(bytes) };
        let (first, last) = (number(offset)?, number(last)?);
        for (index, block) in self.blocks.from(&first).take_while(|(index, _)| **index <= last) {
            let start = u64::from(*index) * STEP;
            let skip = usize::try_from(offset.saturating_sub(start)).map_err(|_| Errno::FileTooLarge)?;
            let at = usize::try_from(start.saturating_sub(offset)).map_err(|_| Errno::FileTooLarge)?;
            let held = block.bytes()?;
            let from = held.get(skip..).unwrap_or_default();
            let to = bytes.get_mut(at..).unwrap_or_default();
            let both = from.len().min(to.len());
            if let (Some(to), Some(from)) = (to.get_mut(..both), from.get(..both)) {
                to.copy_from_slice(from);
            }
        }
        Ok(bytes)
    }

    /// Writes all bytes at `offset`; what lies between the old end and `offset` becomes a hole. No bytes change nothing.
    ///
    /// # Errors
    /// `FileTooLarge`; `Io` when a block that is only partly written cannot be fetched. Nothing is changed then.
    pub(crate) fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Errno> {
        let end = offset.checked_add(bytes.len() as u64).filter(|end| *end <= Quota::MAX_FILE);
        let end = end.ok_or(Errno::FileTooLarge)?;
        if bytes.is_empty() {
            return Ok(());
        }
        // Blocks that are written whole need not be here.
        for (edge, whole) in [
            (number(offset)?, offset.is_multiple_of(STEP) && end - offset >= STEP),
            (number(end - 1)?, end.is_multiple_of(STEP) && end - offset >= STEP),
        ] {
            if let Some(block) = self.blocks.get(&edge).filter(|_| !whole) {
                block.bytes()?;
            }
        }
        let (mut rest, mut at) = (bytes, offset);
        while !rest.is_empty() {
            let within = usize::try_from(at % STEP).map_err(|_| Errno::FileTooLarge)?;
            let (now, later) = rest.split_at(rest.len().min(BLOCK - within));
            self.write_block(number(at)?, within, now)?;
            (rest, at) = (later, at + now.len() as u64);
        }
        self.size = self.size.max(end);
        Ok(())
    }

    fn write_block(&mut self, index: u32, within: usize, bytes: &[u8]) -> Result<(), Errno> {
        let end = within + bytes.len();
        let whole = within == 0 && bytes.len() == BLOCK;
        if !whole && let Some(block) = self.blocks.get_mut(&index) {
            let held = Block::edit(block)?;
            if held.len() < end {
                held.resize(end, 0);
            }
            if let Some(place) = held.get_mut(within..end) {
                place.copy_from_slice(bytes);
            }
        } else {
            let mut held = Vec::with_capacity(end);
            held.resize(within, 0);
            held.extend_from_slice(bytes);
            self.blocks.insert(index, Block::new(held));
        }
        Ok(())
    }

    /// Cuts the content, or makes it longer by a hole.
    ///
    /// # Errors
    /// `FileTooLarge`; `Io` when the block of the new end cannot be fetched. Nothing is changed then.
    pub(crate) fn resize(&mut self, size: u64) -> Result<(), Errno> {
        if size > Quota::MAX_FILE {
            return Err(Errno::FileTooLarge);
        }
        if size < self.size {
            let keep = usize::try_from(size % STEP).map_err(|_| Errno::FileTooLarge)?;
            let edge = number(size)?;
            if keep > 0
                && let Some(block) = self.blocks.get_mut(&edge)
            {
                Block::cut(block, keep)?;
            }
            let first = if keep > 0 { edge + 1 } else { edge };
            let gone: Vec<u32> = self.blocks.from(&first).map(|(index, _)| *index).collect();
            for index in gone {
                self.blocks.remove(&index);
            }
        }
        self.size = size;
        Ok(())
    }
}

/// The number of the block that holds an offset.
fn number(offset: u64) -> Result<u32, Errno> {
    u32::try_from(offset / STEP).map_err(|_| Errno::FileTooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    #[test]
    fn random_writes_cuts_and_reads_are_those_of_a_plain_vector() {
        for seed in 0..30 {
            let mut random = Random::new(seed);
            let (mut content, mut plain) = (Content::default(), Vec::new());
            let mut copies: Vec<(Content, Vec<u8>)> = Vec::new();
            for step in 0..300_u32 {
                let near = [0, BLOCK, 2 * BLOCK, 3 * BLOCK][random.below(4)];
                let at = (near + random.below(300)).saturating_sub(150);
                match random.below(5) {
                    0 => {
                        content.resize(at as u64).unwrap();
                        plain.resize(at, 0);
                    }
                    1 | 2 => {
                        let len = [random.below(200), random.below(2 * BLOCK), BLOCK][random.below(3)];
                        let bytes = vec![u8::try_from(step % 255).unwrap() + 1; len];
                        content.write(at as u64, &bytes).unwrap();
                        if !bytes.is_empty() {
                            plain.resize(plain.len().max(at + len), 0);
                            plain[at..at + len].copy_from_slice(&bytes);
                        }
                    }
                    3 => {
                        let len = random.below(3 * BLOCK);
                        let from = plain.get(at.min(plain.len())..).unwrap_or_default();
                        assert_eq!(content.read(at as u64, len).unwrap(), from[..from.len().min(len)]);
                    }
                    _ if copies.len() < 8 => copies.push((content.clone(), plain.clone())),
                    _ => {}
                }
                assert_eq!(content.size(), plain.len() as u64);
            }
            copies.push((content, plain));
            for (content, plain) in copies {
                assert_eq!(content.read(0, usize::MAX).unwrap(), plain);
            }
        }
    }

    #[test]
    fn what_was_cut_off_does_not_come_back() {
        let whole = vec![1; 2 * BLOCK + 7];
        for near in [0, BLOCK, 2 * BLOCK] {
            for size in near.saturating_sub(2)..near + 3 {
                let mut content = Content::from_bytes(&whole).unwrap();
                content.resize(size as u64).unwrap();
                content.resize(3 * STEP).unwrap();
                let read = content.read(0, usize::MAX).unwrap();
                assert_eq!(read.len(), 3 * BLOCK);
                assert!(read.iter().take(size).all(|byte| *byte == 1), "{size}");
                assert!(read.iter().skip(size).all(|byte| *byte == 0), "{size}");
            }
        }
    }

    #[test]
    fn a_hole_has_no_blocks_and_the_last_possible_byte_can_be_written() {
        let mut content = Content::default();
        content.write(Quota::MAX_FILE - 1, b"x").unwrap();
        assert_eq!((content.size(), content.blocks().len()), (Quota::MAX_FILE, 1));
        assert_eq!(content.read(Quota::MAX_FILE - 2, 9).unwrap(), b"\0x");
        assert_eq!(content.write(Quota::MAX_FILE, b"x"), Err(Errno::FileTooLarge));
        assert_eq!(content.write(u64::MAX, b"x"), Err(Errno::FileTooLarge));
        assert_eq!(content.resize(Quota::MAX_FILE + 1), Err(Errno::FileTooLarge));
        content.resize(3).unwrap();
        assert!(content.blocks().is_empty());
        assert_eq!(content.read(u64::MAX, usize::MAX).unwrap(), b"");
    }
}
