//! AES in the modes that people use: CBC with PKCS#7 padding, CTR, ECB, and GCM, whose tag is made while bytes pass.

use aes::{Aes128, Aes192, Aes256};
use cipher::generic_array::GenericArray;
use cipher::{BlockDecrypt, BlockEncrypt, KeyInit};
use ghash::GHash;
use ghash::universal_hash::UniversalHash;
use subtle::ConstantTimeEq as _;

use crate::border::{bytes, end, give, place, text};

/// Bytes of a block of AES.
const BLOCK: usize = 16;

type Block = [u8; BLOCK];

enum Key {
    Aes128(Aes128),
    Aes192(Aes192),
    Aes256(Aes256),
}

impl Key {
    fn new(key: &[u8]) -> Option<Self> {
        match key.len() {
            16 => Aes128::new_from_slice(key).ok().map(Self::Aes128),
            24 => Aes192::new_from_slice(key).ok().map(Self::Aes192),
            32 => Aes256::new_from_slice(key).ok().map(Self::Aes256),
            _ => None,
        }
    }

    fn encrypt(&self, block: &mut Block) {
        let block = GenericArray::from_mut_slice(block);
        match self {
            Self::Aes128(key) => key.encrypt_block(block),
            Self::Aes192(key) => key.encrypt_block(block),
            Self::Aes256(key) => key.encrypt_block(block),
        }
    }

    fn decrypt(&self, block: &mut Block) {
        let block = GenericArray::from_mut_slice(block);
        match self {
            Self::Aes128(key) => key.decrypt_block(block),
            Self::Aes192(key) => key.decrypt_block(block),
            Self::Aes256(key) => key.decrypt_block(block),
        }
    }
}

/// Bytes that are encrypted or decrypted.
pub struct Cipher {
    key: Key,
    decrypts: bool,
    mode: Mode,
    /// What is less than a block, or, where padding is taken off, the last block.
    rest: Vec<u8>,
}

enum Mode {
    Ecb { pads: bool },
    Cbc { last: Block, pads: bool },
    Ctr { counter: Block, stream: Block, used: usize },
    Gcm(Box<Gcm>),
}

/// GCM (NIST SP 800-38D).
struct Gcm {
    hash: GHash,
    /// The block that the tag is masked with.
    mask: Block,
    counter: Block,
    stream: Block,
    used: usize,
    /// Bytes of additional data and of the text, and what of them is less than a block.
    additional: u64,
    passed: u64,
    part: Vec<u8>,
}

impl Gcm {
    fn new(key: &Key, nonce: &[u8]) -> Self {
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
        Self {
            hash,
            mask,
            counter,
            stream: Block::default(),
            used: BLOCK,
            additional: 0,
            passed: 0,
            part: Vec::with_capacity(BLOCK),
        }
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

    fn tag(mut self) -> Block {
        self.separate();
        let mut lengths = Block::default();
        lengths[..8].copy_from_slice(&(self.additional * 8).to_be_bytes());
        lengths[8..].copy_from_slice(&(self.passed * 8).to_be_bytes());
        self.hash.update(&[*GenericArray::from_slice(&lengths)]);
        let mut tag: Block = self.hash.finalize().into();
        tag.iter_mut().zip(self.mask).for_each(|(byte, mask)| *byte ^= mask);
        tag
    }
}

/// Adds one to the last `width` bytes of a counter.
fn count(counter: &mut Block, width: usize) {
    for byte in counter[BLOCK - width..].iter_mut().rev() {
        *byte = byte.wrapping_add(1);
        if *byte != 0 {
            break;
        }
    }
}

impl Cipher {
    fn new(mode: &str, key: &[u8], start: &[u8], decrypts: bool) -> Option<Self> {
        let key = Key::new(key)?;
        let block = || Block::try_from(start).ok();
        let mode = match mode {
            "ecb" if start.is_empty() => Mode::Ecb { pads: true },
            "cbc" => Mode::Cbc { last: block()?, pads: true },
            "ctr" => Mode::Ctr { counter: block()?, stream: Block::default(), used: BLOCK },
            "gcm" if !start.is_empty() => Mode::Gcm(Box::new(Gcm::new(&key, start))),
            _ => return None,
        };
        Some(Self { key, decrypts, mode, rest: Vec::new() })
    }

    /// Encrypts or decrypts; at most a block more comes out than goes in.
    fn update(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let Self { key, decrypts, mode, rest } = self;
        match mode {
            Mode::Ctr { counter, stream, used } => {
                for &byte in bytes {
                    if *used == BLOCK {
                        (*stream, *used) = (*counter, 0);
                        key.encrypt(stream);
                        count(counter, BLOCK);
                    }
                    out.push(byte ^ stream[*used]);
                    *used += 1;
                }
            }
            Mode::Gcm(gcm) => {
                if gcm.passed == 0 {
                    gcm.separate();
                }
                gcm.passed += bytes.len() as u64;
                if *decrypts {
                    gcm.hash(bytes);
                }
                let begin = out.len();
                for &byte in bytes {
                    if gcm.used == BLOCK {
                        count(&mut gcm.counter, 4);
                        (gcm.stream, gcm.used) = (gcm.counter, 0);
                        key.encrypt(&mut gcm.stream);
                    }
                    out.push(byte ^ gcm.stream[gcm.used]);
                    gcm.used += 1;
                }
                if !*decrypts {
                    gcm.hash(&out[begin..]);
                }
            }
            Mode::Ecb { pads } | Mode::Cbc { pads, .. } => {
                let keeps_last = *decrypts && *pads;
                rest.extend_from_slice(bytes);
                let mut whole = rest.len() / BLOCK * BLOCK;
                if keeps_last && whole == rest.len() && whole > 0 {
                    whole -= BLOCK;
                }
                let blocks: Vec<u8> = rest.drain(..whole).collect();
                for chunk in blocks.chunks_exact(BLOCK) {
                    out.extend_from_slice(&self.block(chunk));
                }
            }
        }
    }

    /// One block of ECB or CBC.
    fn block(&mut self, chunk: &[u8]) -> Block {
        let mut block = Block::default();
        block.copy_from_slice(chunk);
        let given = block;
        match (&mut self.mode, self.decrypts) {
            (Mode::Cbc { last, .. }, false) => {
                block.iter_mut().zip(&*last).for_each(|(byte, last)| *byte ^= last);
                self.key.encrypt(&mut block);
                *last = block;
            }
            (Mode::Cbc { last, .. }, true) => {
                self.key.decrypt(&mut block);
                block.iter_mut().zip(&*last).for_each(|(byte, last)| *byte ^= last);
                *last = given;
            }
            (_, false) => self.key.encrypt(&mut block),
            (_, true) => self.key.decrypt(&mut block),
        }
        block
    }

    /// What is left at the end. False: the length or the padding is wrong.
    fn finish(&mut self, out: &mut Vec<u8>) -> bool {
        let (Mode::Ecb { pads } | Mode::Cbc { pads, .. }) = self.mode else { return true };
        if !pads {
            return self.rest.is_empty();
        }
        if self.decrypts {
            if self.rest.len() != BLOCK {
                return false;
            }
            let last = std::mem::take(&mut self.rest);
            let block = self.block(&last);
            let padding = usize::from(block[BLOCK - 1]);
            if padding == 0 || padding > BLOCK || block[BLOCK - padding..].iter().any(|&byte| usize::from(byte) != padding) {
                return false;
            }
            out.extend_from_slice(&block[..BLOCK - padding]);
        } else {
            let padding = BLOCK - self.rest.len();
            self.rest.resize(BLOCK, padding as u8);
            let last = std::mem::take(&mut self.rest);
            out.extend_from_slice(&self.block(&last));
        }
        true
    }
}

/// AES in a mode, `ecb`, `cbc`, `ctr` or `gcm`; null: the mode or a length is none.
///
/// # Safety
/// The pointers lend what [`text`] and [`bytes`] ask for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn native_cipher(
    mode: *const u8,
    mode_length: usize,
    key: *const u8,
    key_length: usize,
    start: *const u8,
    start_length: usize,
    decrypts: bool,
) -> *mut Cipher {
    // SAFETY: as the caller promises.
    let (mode, key, start) =
        unsafe { (text(mode, mode_length), bytes(key, key_length), bytes(start, start_length)) };
    give(mode.and_then(|mode| Cipher::new(mode, key, start, decrypts)))
}

/// Blocks are not padded.
///
/// # Safety
/// `cipher` is alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn native_cipher_without_padding(cipher: *mut Cipher) {
    // SAFETY: as the caller promises.
    if let Mode::Ecb { pads } | Mode::Cbc { pads, .. } = unsafe { &mut (*cipher).mode } {
        *pads = false;
    }
}

/// Data that GCM's tag protects besides the text, before the text. False: the mode has none.
///
/// # Safety
/// `cipher` is alive, and the pointers lend what [`bytes`] asks for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn native_cipher_additional(cipher: *mut Cipher, first: *const u8, length: usize) -> bool {
    // SAFETY: as the caller promises.
    let (mode, data) = unsafe { (&mut (*cipher).mode, bytes(first, length)) };
    let Mode::Gcm(gcm) = mode else { return false };
    gcm.additional += data.len() as u64;
    gcm.hash(data);
    true
}

/// Encrypts or decrypts, into a place of `length` and 16 bytes; how many are written.
///
/// # Safety
/// `cipher` is alive, and the pointers lend what [`bytes`] and [`place`] ask for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn native_cipher_update(
    cipher: *mut Cipher,
    first: *const u8,
    length: usize,
    into: *mut u8,
) -> usize {
    let mut out = Vec::with_capacity(length + BLOCK);
    // SAFETY: as the caller promises.
    let into = unsafe {
        (*cipher).update(bytes(first, length), &mut out);
        place(into, out.len())
    };
    into.copy_from_slice(&out);
    out.len()
}

/// What is left at the end, into a place of 16 bytes: how many are written; -1: the length or the padding is wrong.
///
/// # Safety
/// `cipher` is alive, and the pointer lends what [`place`] asks for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn native_cipher_finish(cipher: *mut Cipher, into: *mut u8) -> i32 {
    let mut out = Vec::with_capacity(BLOCK);
    // SAFETY: as the caller promises.
    unsafe {
        if !(*cipher).finish(&mut out) {
            return -1;
        }
        place(into, out.len()).copy_from_slice(&out);
    }
    out.len() as i32
}

/// GCM's tag of what has passed, into a place of 16 bytes. False: the mode has none, or it was asked for before.
///
/// # Safety
/// `cipher` is alive, and the pointer lends what [`place`] asks for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn native_cipher_tag(cipher: *mut Cipher, into: *mut u8) -> bool {
    // SAFETY: as the caller promises.
    let (mode, into) = unsafe { (&mut (*cipher).mode, place(into, BLOCK)) };
    match std::mem::replace(mode, Mode::Ecb { pads: false }) {
        Mode::Gcm(gcm) => {
            into.copy_from_slice(&gcm.tag());
            true
        }
        other => {
            *mode = other;
            false
        }
    }
}

/// Whether both are the same, in a time that depends on the length alone.
///
/// # Safety
/// The pointers lend what [`bytes`] asks for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn native_same(left: *const u8, right: *const u8, length: usize) -> bool {
    // SAFETY: as the caller promises.
    unsafe { bytes(left, length).ct_eq(bytes(right, length)).into() }
}

/// # Safety
/// `cipher` is alive, and nobody uses it afterwards; or it is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn native_cipher_end(cipher: *mut Cipher) {
    // SAFETY: as the caller promises.
    unsafe { end(cipher) }
}
