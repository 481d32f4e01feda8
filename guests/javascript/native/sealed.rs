//! Ciphers that make a tag of what passes: GCM (NIST SP 800-38D) and ChaCha20-Poly1305 (RFC 8439). Bytes go in and out piece by piece, as
//! in Node.js, so a text is given before its tag is known.

use chacha20::ChaCha20;
use cipher::generic_array::GenericArray;
use cipher::{KeyIvInit as _, StreamCipher as _};
use ghash::GHash;
use ghash::universal_hash::{KeyInit as _, UniversalHash as _};
use poly1305::Poly1305;

use crate::cipher::{BLOCK, Block, Key, count};

/// A text under way.
pub(crate) struct Sealed {
    hash: Hash,
    stream: Stream,
    /// Bytes of additional data and of the text, and what of them is less than a block.
    additional: u64,
    passed: u64,
    part: Vec<u8>,
}

enum Hash {
    Ghash(GHash),
    Poly(Poly1305),
}

enum Stream {
    Counter {
        /// The block that the tag is masked with.
        mask: Block,
        counter: Block,
        stream: Block,
        used: usize,
    },
    ChaCha(ChaCha20),
}

impl Hash {
    fn update_padded(&mut self, bytes: &[u8]) {
        match self {
            Self::Ghash(hash) => hash.update_padded(bytes),
            Self::Poly(hash) => hash.update_padded(bytes),
        }
    }
}

impl Sealed {
    fn new(hash: Hash, stream: Stream) -> Self {
        Self { hash, stream, additional: 0, passed: 0, part: Vec::with_capacity(BLOCK) }
    }

    pub(crate) fn gcm(key: &Key, nonce: &[u8]) -> Self {
        let mut secret = Block::default();
        key.encrypt(&mut secret);
        let hash = GHash::new(GenericArray::from_slice(&secret));
        let mut counter = Block::default();
        if nonce.len() == 12 {
            counter[..12].copy_from_slice(nonce);
            counter[15] = 1;
        } else {
            let mut of_nonce = hash.clone();
            of_nonce.update_padded(nonce);
            let mut lengths = Block::default();
            lengths[8..].copy_from_slice(&(nonce.len() as u64 * 8).to_be_bytes());
            of_nonce.update(&[*GenericArray::from_slice(&lengths)]);
            counter = of_nonce.finalize().into();
        }
        let mut mask = counter;
        key.encrypt(&mut mask);
        Self::new(Hash::Ghash(hash), Stream::Counter { mask, counter, stream: Block::default(), used: BLOCK })
    }

    /// None: the key is not one of 32 bytes, or the nonce is not one of 1 to 12.
    pub(crate) fn chacha(key: &[u8], nonce: &[u8]) -> Option<Self> {
        if nonce.is_empty() {
            return None;
        }
        let mut whole = [0; 12];
        whole[12_usize.checked_sub(nonce.len())?..].copy_from_slice(nonce);
        let mut stream = ChaCha20::new_from_slices(key, &whole).ok()?;
        // The first block is the key of the hash; the text begins with the next one.
        let mut first = [0; 64];
        stream.apply_keystream(&mut first);
        let hash = Poly1305::new(GenericArray::from_slice(&first[..32]));
        Some(Self::new(Hash::Poly(hash), Stream::ChaCha(stream)))
    }

    fn hash(&mut self, bytes: &[u8]) {
        self.part.extend_from_slice(bytes);
        let whole = self.part.len() / BLOCK * BLOCK;
        self.hash.update_padded(&self.part[..whole]);
        self.part.drain(..whole);
    }

    /// What comes now is of another kind, and begins a block.
    fn separate(&mut self) {
        self.hash.update_padded(&self.part);
        self.part.clear();
    }

    pub(crate) fn add(&mut self, data: &[u8]) {
        self.additional += data.len() as u64;
        self.hash(data);
    }

    pub(crate) fn update(&mut self, key: Option<&Key>, decrypts: bool, bytes: &[u8], out: &mut Vec<u8>) {
        if self.passed == 0 {
            self.separate();
        }
        self.passed += bytes.len() as u64;
        if decrypts {
            self.hash(bytes);
        }
        let begin = out.len();
        out.extend_from_slice(bytes);
        self.mix(key, &mut out[begin..]);
        if !decrypts {
            self.hash(&out[begin..]);
        }
    }

    fn mix(&mut self, key: Option<&Key>, text: &mut [u8]) {
        match &mut self.stream {
            Stream::ChaCha(stream) => stream.apply_keystream(text),
            Stream::Counter { counter, stream, used, .. } => {
                for byte in text {
                    if *used == BLOCK {
                        count(counter, 4);
                        (*stream, *used) = (*counter, 0);
                        if let Some(key) = key {
                            key.encrypt(stream);
                        }
                    }
                    *byte ^= stream[*used];
                    *used += 1;
                }
            }
        }
    }

    pub(crate) fn tag(mut self) -> Block {
        self.separate();
        let mut lengths = Block::default();
        match self.hash {
            Hash::Ghash(mut hash) => {
                lengths[..8].copy_from_slice(&(self.additional * 8).to_be_bytes());
                lengths[8..].copy_from_slice(&(self.passed * 8).to_be_bytes());
                hash.update(&[*GenericArray::from_slice(&lengths)]);
                let mut tag: Block = hash.finalize().into();
                if let Stream::Counter { mask, .. } = self.stream {
                    tag.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= mask);
                }
                tag
            }
            Hash::Poly(mut hash) => {
                lengths[..8].copy_from_slice(&self.additional.to_le_bytes());
                lengths[8..].copy_from_slice(&self.passed.to_le_bytes());
                hash.update(&[*GenericArray::from_slice(&lengths)]);
                hash.finalize().into()
            }
        }
    }
}
