//! Chunks as they lie in the database: what is unpacked is what the name says, or is refused.

use dormouse_core::sandbox::ChunkId;
use dormouse_core::sandbox::chunk::MAX_CHUNK;
use dormouse_store::fuzz::{pack, unpack};

use crate::Target;

pub(crate) const TARGET: Target = Target {
    seeds,
    words: &["\u{28}\u{b5}\u{2f}\u{fd}"],
    ..Target::new("chunk", "packed chunks of the database (runtime/store)", run)
};

/// The form (1 byte), the size that was noted (4 bytes), how the packed bytes are changed (4 bytes), and bytes.
fn run(input: &[u8]) {
    let Some(([form, a, b, c, d, at, place, mask, often], bytes)) = input.split_first_chunk() else { return };
    let noted = i64::from(i32::from_le_bytes([*a, *b, *c, *d]));
    // As they are: the database lies.
    for id in [ChunkId::of(bytes), ChunkId::of(b"")] {
        if let Ok(read) = unpack(&id, i64::from(*form), noted, bytes) {
            assert_eq!(ChunkId::of(&read), id);
            assert!(read.len() <= MAX_CHUNK);
        }
    }
    // Packed by us, and then changed.
    let whole = bytes.repeat(1 + usize::from(*often & 3));
    let id = ChunkId::of(&whole);
    let Ok((form, size, mut packed)) = pack(id, &whole) else { panic!("a chunk can be packed") };
    let size = i64::try_from(size).expect("a size");
    assert_eq!(
        unpack(&id, form, size, &packed).ok().as_deref(),
        Some(&whole[..]),
        "what is packed comes back"
    );
    let at = usize::from(u16::from_le_bytes([*at, *place]));
    if let Some(byte) = packed.get_mut(at) {
        *byte ^= mask;
    }
    for size in [size, size - 1, size + 1, noted] {
        if let Ok(read) = unpack(&id, form, size, &packed) {
            assert_eq!(read, whole);
        }
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let seed = |form: u8, bytes: &[u8]| {
        let size = u32::try_from(bytes.len()).unwrap_or_default().to_le_bytes();
        [&[form], &size[..], &[3, 0, 0x40, 1], bytes].concat()
    };
    let text = b"def f(x):\n    return x + 1\n".repeat(40);
    let frame = pack(ChunkId::of(&text), &text).map(|(_, _, packed)| packed).unwrap_or_default();
    vec![seed(0, b"bytes"), seed(1, &text), seed(1, &frame)]
}
