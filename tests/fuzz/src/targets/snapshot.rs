//! Saved interpreters: a checkpoint in one piece, and the state of a sandbox in chunks.
//!
//! The first byte says which. `i`: a checkpoint without its checksum, which is added. Else: chunks.

use std::sync::Arc;

use dormouse_core::sandbox::{ChunkSource, Reached, SavedState};
use dormouse_files::{MemoryChunks, Quota};
use dormouse_wasm::{SavedInterpreter, fuzz};
use sha2::{Digest as _, Sha256};

use crate::{Target, chunks};

pub(crate) const TARGET: Target = Target {
    seeds,
    words: &[
        "DMOUSE\0\u{2}",
        "dms\u{1}",
        "dms\u{2}",
        "dmd\u{1}",
        "python",
        "javascript",
        "chunk:\0\0",
        "chunk:\u{1}\0",
    ],
    ..Target::new("snapshot", "saved interpreters (runtime/wasm)", run)
};

fn run(input: &[u8]) {
    match input.split_first() {
        Some((b'i', rest)) => interpreter(rest),
        Some((_, rest)) => state(rest),
        None => {}
    }
}

fn interpreter(content: &[u8]) {
    let bytes = summed(content);
    if let Ok(read) = SavedInterpreter::from_bytes(&bytes) {
        assert_eq!(read.to_bytes(), bytes, "a checkpoint has one form");
    }
}

fn state(input: &[u8]) {
    let Some((mut chunks, root)) = chunks::read(input) else { return };
    let state = SavedState { root, bytes: 0 };
    let walked = fuzz::reach(&state, &chunks, &mut Reached::default());
    let source: Arc<dyn ChunkSource> = Arc::new(chunks.clone());
    let Ok(saved) = fuzz::resave(&state, &source, Quota::default(), &mut chunks) else { return };
    walked.expect("what can be loaded can be walked");
    let source: Arc<dyn ChunkSource> = Arc::new(chunks.clone());
    let again =
        fuzz::resave(&saved, &source, Quota::default(), &mut chunks).expect("what is saved can be loaded");
    assert_eq!(again.root, saved.root, "a state that is saved again is the same");
}

fn summed(content: &[u8]) -> Vec<u8> {
    [content, Sha256::digest(content).as_slice()].concat()
}

fn seeds() -> Vec<Vec<u8>> {
    let content = |pages: &[u32]| {
        let mut bytes = b"DMOUSE\0\x02\x06python\x40".to_vec();
        bytes.extend_from_slice(&[b'a'; 64]);
        bytes.extend_from_slice(&(1_u32 << 16).to_le_bytes());
        bytes.extend_from_slice(&(1_u64 << 20).to_le_bytes());
        bytes.extend_from_slice(&(pages.len() as u64).to_le_bytes());
        pages.iter().for_each(|page| bytes.extend_from_slice(&page.to_le_bytes()));
        pages.iter().for_each(|_| bytes.extend_from_slice(&[7; 4096]));
        bytes
    };
    let one = content(&[1, 40]);
    let mut chunks = MemoryChunks::default();
    let read = SavedInterpreter::from_bytes(&summed(&one)).expect("the form of a checkpoint");
    let state = fuzz::save(read, &mut chunks).expect("a state can be saved");
    let state = chunks::write(&chunks, state.root);
    vec![[b"i", &one[..]].concat(), [b"i", &content(&[])[..]].concat(), [b"s", &state[..]].concat()]
}
