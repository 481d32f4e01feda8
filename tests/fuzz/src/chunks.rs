//! A saved state as one input: its chunks one after the other, each after those that it names, the root last.
//!
//! ```text
//! input     = chunk*
//! chunk     = length (u16, little-endian), bytes
//! reference = "chunk:" number of an earlier chunk (u16, little-endian), 24 zeroes     in the place of its name
//! ```
//!
//! Names are hashes. With references instead, a change of one chunk is a state whose names are true, so that what is tried is
//! the reader and not the hash.

use dormouse_core::sandbox::ChunkId;
use dormouse_files::{ChunkSource as _, MemoryChunks};

/// How a reference begins.
const BEGIN: &[u8; 6] = b"chunk:";
/// Bytes of a chunk's name.
const NAME: usize = 32;

/// The chunks of an input, and the name of the last one.
pub(crate) fn read(input: &[u8]) -> Option<(MemoryChunks, ChunkId)> {
    let (chunks, mut names) = (MemoryChunks::default(), Vec::new());
    let mut rest = input;
    while let Some((length, after)) = rest.split_first_chunk::<2>() {
        let length = usize::from(u16::from_le_bytes(*length)).min(after.len());
        let (bytes, after) = after.split_at(length);
        let mut bytes = bytes.to_vec();
        resolve(&mut bytes, &names);
        let name = ChunkId::of(&bytes);
        chunks.replace(name, bytes);
        names.push(name);
        rest = after;
    }
    names.pop().map(|root| (chunks, root))
}

/// Puts names in the places of references.
fn resolve(bytes: &mut [u8], names: &[ChunkId]) {
    let mut at = 0;
    while let Some(place) = bytes.get_mut(at..at + NAME) {
        let number = place.strip_prefix(BEGIN).and_then(|rest| rest.first_chunk::<2>());
        let name = number.and_then(|number| names.get(usize::from(u16::from_le_bytes(*number))));
        match name {
            Some(name) => {
                place.copy_from_slice(name.as_bytes());
                at += NAME;
            }
            None => at += 1,
        }
    }
}

/// The input of a state whose chunks are these; `root` and what it names.
pub(crate) fn write(chunks: &MemoryChunks, root: ChunkId) -> Vec<u8> {
    let (mut input, mut written) = (Vec::new(), Vec::new());
    add(chunks, root, &mut written, &mut input);
    input
}

fn add(chunks: &MemoryChunks, id: ChunkId, written: &mut Vec<ChunkId>, input: &mut Vec<u8>) {
    if written.contains(&id) {
        return;
    }
    let mut bytes = chunks.get(&id).ok().flatten().unwrap_or_default();
    for named in chunks.ids() {
        if bytes.windows(NAME).any(|window| window == named.as_bytes()) {
            add(chunks, named, written, input);
        }
    }
    for (number, name) in written.iter().enumerate() {
        while let Some(at) = bytes.windows(NAME).position(|window| window == name.as_bytes()) {
            let number = u16::try_from(number).unwrap_or(u16::MAX).to_le_bytes();
            bytes[at..at + NAME].copy_from_slice(&[BEGIN, &number[..], &[0; 24]].concat());
        }
    }
    let length = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
    input.extend_from_slice(&length.to_le_bytes());
    input.extend_from_slice(&bytes[..usize::from(length)]);
    written.push(id);
}

#[cfg(test)]
mod tests {
    use dormouse_core::GuestPath;
    use dormouse_files::{Files, Root, Tree, save};

    use super::*;

    #[test]
    fn a_state_comes_back_under_the_same_names() {
        let files = Files::new(Tree::default());
        for number in 0..60 {
            let path = GuestPath::parse(&format!("/folder/file {number}")).unwrap();
            files.write(&path, &vec![number; 700]).unwrap();
        }
        let mut chunks = MemoryChunks::default();
        let Root(root) = save(&files.snapshot(), &mut chunks).unwrap();
        let (read, last) = read(&write(&chunks, root)).unwrap();
        assert_eq!((last, read.ids()), (root, chunks.ids()));
    }
}
