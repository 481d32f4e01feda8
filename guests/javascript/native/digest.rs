//! Digests, HMAC, and the keys that are derived with them. Algorithms have the names of Node's `getHashes`, in small letters.

use blake2::{Blake2b512, Blake2s256};
use digest::{Digest, ExtendableOutput, KeyInit, Mac, Update, XofReader};
use hmac::Hmac;
use sha3::{Shake128, Shake256};

use crate::border::{bytes, end, give, place, text};

/// Those that [`with_digest`] knows.
pub(crate) mod kinds {
    pub(crate) use md5::Md5;
    pub(crate) use ripemd::Ripemd160;
    pub(crate) use sha1::Sha1;
    pub(crate) use sha2::{Sha224, Sha256, Sha384, Sha512, Sha512_224, Sha512_256};
    pub(crate) use sha3::{Sha3_224, Sha3_256, Sha3_384, Sha3_512};
}

/// Bytes that are digested, with a key or without.
pub struct Digestion(Box<dyn Step>);

/// A digest or a MAC under way.
trait Step {
    fn update(&mut self, bytes: &[u8]);
    /// The result, of which as many bytes as `into` has.
    fn finish(&self, into: &mut [u8]);
    fn copy(&self) -> Box<dyn Step>;
}

/// One whose result has one length.
#[derive(Clone)]
struct Fixed<D>(D);

impl<D: Digest + Clone + 'static> Step for Fixed<D> {
    fn update(&mut self, bytes: &[u8]) {
        Digest::update(&mut self.0, bytes);
    }

    fn finish(&self, into: &mut [u8]) {
        let all = Digest::finalize(self.0.clone());
        let count = into.len().min(all.len());
        into[..count].copy_from_slice(&all[..count]);
    }

    fn copy(&self) -> Box<dyn Step> {
        Box::new(self.clone())
    }
}

/// One whose result is as long as is asked for.
#[derive(Clone)]
struct Extendable<D>(D);

impl<D: Update + ExtendableOutput + Default + Clone + 'static> Step for Extendable<D> {
    fn update(&mut self, bytes: &[u8]) {
        Update::update(&mut self.0, bytes);
    }

    fn finish(&self, into: &mut [u8]) {
        self.0.clone().finalize_xof().read(into);
    }

    fn copy(&self) -> Box<dyn Step> {
        Box::new(self.clone())
    }
}

/// One with a key.
#[derive(Clone)]
struct Keyed<M>(M);

impl<M: Mac + Clone + 'static> Step for Keyed<M> {
    fn update(&mut self, bytes: &[u8]) {
        Mac::update(&mut self.0, bytes);
    }

    fn finish(&self, into: &mut [u8]) {
        let all = self.0.clone().finalize().into_bytes();
        let count = into.len().min(all.len());
        into[..count].copy_from_slice(&all[..count]);
    }

    fn copy(&self) -> Box<dyn Step> {
        Box::new(self.clone())
    }
}

/// Does the same with the digest of a name; `None` where there is none of that name.
macro_rules! with_digest {
    ($name:expr, $Digest:ident => $then:expr) => {
        match $name {
            "md5" => { type $Digest = $crate::digest::kinds::Md5; Some($then) }
            "sha1" => { type $Digest = $crate::digest::kinds::Sha1; Some($then) }
            "sha224" => { type $Digest = $crate::digest::kinds::Sha224; Some($then) }
            "sha256" => { type $Digest = $crate::digest::kinds::Sha256; Some($then) }
            "sha384" => { type $Digest = $crate::digest::kinds::Sha384; Some($then) }
            "sha512" => { type $Digest = $crate::digest::kinds::Sha512; Some($then) }
            "sha512-224" => { type $Digest = $crate::digest::kinds::Sha512_224; Some($then) }
            "sha512-256" => { type $Digest = $crate::digest::kinds::Sha512_256; Some($then) }
            "sha3-224" => { type $Digest = $crate::digest::kinds::Sha3_224; Some($then) }
            "sha3-256" => { type $Digest = $crate::digest::kinds::Sha3_256; Some($then) }
            "sha3-384" => { type $Digest = $crate::digest::kinds::Sha3_384; Some($then) }
            "sha3-512" => { type $Digest = $crate::digest::kinds::Sha3_512; Some($then) }
            "ripemd160" => { type $Digest = $crate::digest::kinds::Ripemd160; Some($then) }
            _ => None,
        }
    };
}

pub(crate) use with_digest;

fn digest_of(name: &str) -> Option<Box<dyn Step>> {
    match name {
        "blake2b512" => Some(Box::new(Fixed(Blake2b512::new()))),
        "blake2s256" => Some(Box::new(Fixed(Blake2s256::new()))),
        "shake128" => Some(Box::new(Extendable(Shake128::default()))),
        "shake256" => Some(Box::new(Extendable(Shake256::default()))),
        _ => with_digest!(name, D => { let step: Box<dyn Step> = Box::new(Fixed(D::new())); step }),
    }
}

fn mac_of(name: &str, key: &[u8]) -> Option<Box<dyn Step>> {
    with_digest!(name, D => {
        let mac = <Hmac<D> as KeyInit>::new_from_slice(key).ok()?;
        let step: Box<dyn Step> = Box::new(Keyed(mac));
        step
    })
}

/// A digest; null: there is none of that name.
///
/// # Safety
/// The pointers lend what [`text`] asks for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn native_digest(name: *const u8, name_length: usize) -> *mut Digestion {
    // SAFETY: as the caller promises.
    let name = unsafe { text(name, name_length) };
    give(name.and_then(digest_of).map(Digestion))
}

/// A MAC; null: there is none of that name.
///
/// # Safety
/// The pointers lend what [`text`] and [`bytes`] ask for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn native_mac(
    name: *const u8,
    name_length: usize,
    key: *const u8,
    key_length: usize,
) -> *mut Digestion {
    // SAFETY: as the caller promises.
    let (name, key) = unsafe { (text(name, name_length), bytes(key, key_length)) };
    give(name.and_then(|name| mac_of(name, key)).map(Digestion))
}

/// Digests more bytes.
///
/// # Safety
/// `digestion` is alive, and the pointers lend what [`bytes`] asks for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn native_digest_update(digestion: *mut Digestion, first: *const u8, count: usize) {
    // SAFETY: as the caller promises.
    unsafe { (*digestion).0.update(bytes(first, count)) }
}

/// Writes the result, or as many bytes of it as there is a place for.
///
/// # Safety
/// `digestion` is alive, and the pointers lend what [`place`] asks for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn native_digest_finish(digestion: *mut Digestion, into: *mut u8, count: usize) {
    // SAFETY: as the caller promises.
    unsafe { (*digestion).0.finish(place(into, count)) }
}

/// Another one that goes on from where this one is.
///
/// # Safety
/// `digestion` is alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn native_digest_copy(digestion: *const Digestion) -> *mut Digestion {
    // SAFETY: as the caller promises.
    give(Some(Digestion(unsafe { (*digestion).0.copy() })))
}

/// # Safety
/// `digestion` is alive, and nobody uses it afterwards; or it is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn native_digest_end(digestion: *mut Digestion) {
    // SAFETY: as the caller promises.
    unsafe { end(digestion) }
}

/// PBKDF2 (RFC 8018, 5.2). False: there is no digest of that name.
///
/// # Safety
/// The pointers lend what [`text`], [`bytes`] and [`place`] ask for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn native_pbkdf2(
    name: *const u8,
    name_length: usize,
    password: *const u8,
    password_length: usize,
    salt: *const u8,
    salt_length: usize,
    iterations: u32,
    into: *mut u8,
    count: usize,
) -> bool {
    // SAFETY: as the caller promises.
    let (name, password, salt, into) = unsafe {
        (text(name, name_length), bytes(password, password_length), bytes(salt, salt_length), place(into, count))
    };
    let done = name.and_then(|name| {
        with_digest!(name, D => pbkdf2::pbkdf2::<Hmac<D>>(password, salt, iterations, into).is_ok())
    });
    done.unwrap_or(false)
}

/// scrypt (RFC 7914). False: the parameters are none.
///
/// # Safety
/// The pointers lend what [`bytes`] and [`place`] ask for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn native_scrypt(
    password: *const u8,
    password_length: usize,
    salt: *const u8,
    salt_length: usize,
    log_cost: u8,
    block: u32,
    parallel: u32,
    into: *mut u8,
    count: usize,
) -> bool {
    // SAFETY: as the caller promises.
    let (password, salt, into) =
        unsafe { (bytes(password, password_length), bytes(salt, salt_length), place(into, count)) };
    // What it works in, which is asked for first: the crate has no answer where there is none.
    let room = 1_u64.checked_shl(log_cost.into()).and_then(|cost| cost.checked_mul(128 * u64::from(block)));
    let room = room.and_then(|bytes| usize::try_from(bytes).ok());
    if room.is_none_or(|bytes| Vec::<u8>::new().try_reserve_exact(bytes).is_err()) {
        return false;
    }
    let length = into.len().clamp(10, 64);
    scrypt::Params::new(log_cost, block, parallel, length)
        .is_ok_and(|params| scrypt::scrypt(password, salt, &params, into).is_ok())
}
