//! AES in the modes that people use: CBC and ECB with PKCS#7 padding, CTR, CFB and OFB; triple DES in CBC and ECB; and what makes a tag, which
//! is `sealed.rs`.

use aes::{Aes128, Aes192, Aes256};
use cipher::generic_array::GenericArray;
use cipher::{BlockDecrypt, BlockEncrypt, KeyInit};
use des::TdesEde3;
use subtle::ConstantTimeEq as _;

use crate::border::{bytes, end, give, place, text};
use crate::sealed::Sealed;

/// Bytes of a block of AES, the longest.
pub(crate) const BLOCK: usize = 16;

/// A block, of which the first bytes count where a cipher has shorter ones.
pub(crate) type Block = [u8; BLOCK];

pub(crate) enum Key {
    Aes128(Aes128),
    Aes192(Aes192),
    Aes256(Aes256),
    Des(Box<TdesEde3>),
}

/// Encrypts or decrypts a block with whatever key there is.
macro_rules! pass {
    ($key:expr, $block:expr, $action:ident) => {{
        let length = $key.block();
        let block = &mut $block[..length];
        match $key {
            Key::Aes128(key) => key.$action(GenericArray::from_mut_slice(block)),
            Key::Aes192(key) => key.$action(GenericArray::from_mut_slice(block)),
            Key::Aes256(key) => key.$action(GenericArray::from_mut_slice(block)),
            Key::Des(key) => key.$action(GenericArray::from_mut_slice(block)),
        }
    }};
}

impl Key {
    fn aes(key: &[u8]) -> Option<Self> {
        match key.len() {
            16 => Aes128::new_from_slice(key).ok().map(Self::Aes128),
            24 => Aes192::new_from_slice(key).ok().map(Self::Aes192),
            32 => Aes256::new_from_slice(key).ok().map(Self::Aes256),
            _ => None,
        }
    }

    /// Bytes of a block.
    fn block(&self) -> usize {
        if matches!(self, Self::Des(_)) { 8 } else { BLOCK }
    }

    pub(crate) fn encrypt(&self, block: &mut Block) {
        pass!(self, block, encrypt_block);
    }

    fn decrypt(&self, block: &mut Block) {
        pass!(self, block, decrypt_block);
    }
}

/// Bytes that are encrypted or decrypted.
pub struct Cipher {
    /// None: the mode has its own.
    key: Option<Key>,
    decrypts: bool,
    mode: Mode,
    /// What is less than a block, or, where padding is taken off, the last block.
    rest: Vec<u8>,
}

enum Mode {
    Ecb { pads: bool },
    Cbc { last: Block, pads: bool },
    Stream { kind: Feed, register: Block, stream: Block, used: usize },
    Sealed(Box<Sealed>),
}

/// What the next block of a stream is made of.
#[derive(Clone, Copy, PartialEq)]
enum Feed {
    /// A counter.
    Ctr,
    /// The block before.
    Ofb,
    /// What was encrypted with the block before; each byte has a block of its own with `one`.
    Cfb { one: bool },
}

/// Adds one to the last `width` bytes of a counter.
pub(crate) fn count(counter: &mut Block, width: usize) {
    for byte in counter[BLOCK - width..].iter_mut().rev() {
        *byte = byte.wrapping_add(1);
        if *byte != 0 {
            break;
        }
    }
}

impl Cipher {
    fn new(mode: &str, key: &[u8], start: &[u8], decrypts: bool) -> Option<Self> {
        let made = |key, mode| Some(Self { key, decrypts, mode, rest: Vec::new() });
        if mode == "chacha" {
            return made(None, Mode::Sealed(Box::new(Sealed::chacha(key, start)?)));
        }
        let (key, mode) = match mode.strip_prefix("des-") {
            Some(mode) => (Key::Des(Box::new(TdesEde3::new_from_slice(key).ok()?)), mode),
            None => (Key::aes(key)?, mode),
        };
        let block = || {
            let mut block = Block::default();
            (start.len() == key.block()).then(|| block[..start.len()].copy_from_slice(start))?;
            Some(block)
        };
        let stream = |kind| Some(Mode::Stream { kind, register: block()?, stream: block()?, used: BLOCK });
        let mode = match mode {
            "ecb" if start.is_empty() => Mode::Ecb { pads: true },
            "cbc" => Mode::Cbc { last: block()?, pads: true },
            "ctr" => stream(Feed::Ctr)?,
            "ofb" => stream(Feed::Ofb)?,
            "cfb" => stream(Feed::Cfb { one: false })?,
            "cfb8" => stream(Feed::Cfb { one: true })?,
            "gcm" if !start.is_empty() => Mode::Sealed(Box::new(Sealed::gcm(&key, start))),
            _ => return None,
        };
        made(Some(key), mode)
    }

    /// Encrypts or decrypts; at most a block more comes out than goes in.
    fn update(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let Self { key, decrypts, mode, rest } = self;
        match mode {
            Mode::Sealed(sealed) => sealed.update(key.as_ref(), *decrypts, bytes, out),
            Mode::Stream { .. } => self.stream(bytes, out),
            Mode::Ecb { pads } | Mode::Cbc { pads, .. } => {
                let keeps_last = *decrypts && *pads;
                let block = key.as_ref().map_or(BLOCK, Key::block);
                rest.extend_from_slice(bytes);
                let mut whole = rest.len() / block * block;
                if keeps_last && whole == rest.len() && whole > 0 {
                    whole -= block;
                }
                let blocks: Vec<u8> = rest.drain(..whole).collect();
                for chunk in blocks.chunks_exact(block) {
                    out.extend_from_slice(&self.block(chunk)[..block]);
                }
            }
        }
    }

    /// A cipher that makes a stream, with which the text is mixed.
    fn stream(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let Self { key: Some(key), decrypts, mode: Mode::Stream { kind, register, stream, used }, .. } = self else { return };
        let size = key.block();
        for &byte in bytes {
            if *used >= size || *kind == (Feed::Cfb { one: true }) {
                (*stream, *used) = (*register, 0);
                key.encrypt(stream);
                match kind {
                    Feed::Ctr => count(register, BLOCK),
                    Feed::Ofb => *register = *stream,
                    Feed::Cfb { one: true } => register[..size].rotate_left(1),
                    Feed::Cfb { one: false } => {}
                }
            }
            let made = byte ^ stream[*used];
            out.push(made);
            if let Feed::Cfb { one } = kind {
                register[if *one { size - 1 } else { *used }] = if *decrypts { byte } else { made };
            }
            *used += 1;
        }
    }

    /// One block of ECB or CBC.
    fn block(&mut self, chunk: &[u8]) -> Block {
        let mut block = Block::default();
        block[..chunk.len()].copy_from_slice(chunk);
        let given = block;
        let Some(key) = &self.key else { return block };
        match (&mut self.mode, self.decrypts) {
            (Mode::Cbc { last, .. }, false) => {
                block.iter_mut().zip(&*last).for_each(|(byte, last)| *byte ^= last);
                key.encrypt(&mut block);
                *last = block;
            }
            (Mode::Cbc { last, .. }, true) => {
                key.decrypt(&mut block);
                block.iter_mut().zip(&*last).for_each(|(byte, last)| *byte ^= last);
                *last = given;
            }
            (_, false) => key.encrypt(&mut block),
            (_, true) => key.decrypt(&mut block),
        }
        block
    }

    /// What is left at the end. False: the length or the padding is wrong.
    fn finish(&mut self, out: &mut Vec<u8>) -> bool {
        let (Mode::Ecb { pads } | Mode::Cbc { pads, .. }) = self.mode else { return true };
        let size = self.key.as_ref().map_or(BLOCK, Key::block);
        if !pads {
            return self.rest.is_empty();
        }
        if self.decrypts {
            if self.rest.len() != size {
                return false;
            }
            let last = std::mem::take(&mut self.rest);
            let block = &self.block(&last)[..size];
            let padding = usize::from(block[size - 1]);
            if padding == 0 || padding > size || block[size - padding..].iter().any(|&byte| usize::from(byte) != padding) {
                return false;
            }
            out.extend_from_slice(&block[..size - padding]);
        } else {
            let padding = size - self.rest.len();
            self.rest.resize(size, padding as u8);
            let last = std::mem::take(&mut self.rest);
            out.extend_from_slice(&self.block(&last)[..size]);
        }
        true
    }
}

/// AES in a mode, `ecb`, `cbc`, `ctr`, `ofb`, `cfb`, `cfb8` or `gcm`, triple DES as `des-ecb` or `des-cbc`, or `chacha`; null: the mode or a length is none.
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

/// Data that a tag protects besides the text, before the text. False: the mode has none.
///
/// # Safety
/// `cipher` is alive, and the pointers lend what [`bytes`] asks for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn native_cipher_additional(cipher: *mut Cipher, first: *const u8, length: usize) -> bool {
    // SAFETY: as the caller promises.
    let (mode, data) = unsafe { (&mut (*cipher).mode, bytes(first, length)) };
    let Mode::Sealed(sealed) = mode else { return false };
    sealed.add(data);
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

/// The tag of what has passed, into a place of 16 bytes. False: the mode has none, or it was asked for before.
///
/// # Safety
/// `cipher` is alive, and the pointer lends what [`place`] asks for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn native_cipher_tag(cipher: *mut Cipher, into: *mut u8) -> bool {
    // SAFETY: as the caller promises.
    let (mode, into) = unsafe { (&mut (*cipher).mode, place(into, BLOCK)) };
    match std::mem::replace(mode, Mode::Ecb { pads: false }) {
        Mode::Sealed(sealed) => {
            into.copy_from_slice(&sealed.tag());
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
