//! The guests that saved memory was taken with: memory goes on with the very guest that it belongs to, whichever release that came
//! with. New interpreters get the current one.
//!
//! Owns: whether there is such a guest, and why not. Does not own: how it is loaded ([`crate::loader`]).

use dormouse_core::{Error, ErrorCode, GuestName, Result};

use crate::artifact::Artifacts;
use crate::engine::EngineSlot;
use crate::guest::{self, Guest, Guests};
use crate::processor::Architecture;

/// Guests of other releases that one process loads at most, for all of its time. Each takes an instance that never runs: what
/// saved state is compared with.
pub const MOST_KEPT: usize = 8;

/// With which guest saved memory is woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wake {
    /// With the guest that new interpreters get.
    Current,
    /// With a guest of another release or build, for which there is machine code.
    Kept,
    /// With a guest of another release or build, which is compiled on this machine, once; that takes some seconds.
    Compiled,
}

/// The memory of one interpreter in a saved state.
#[derive(Debug)]
#[non_exhaustive]
pub struct Memory {
    /// Its guest.
    pub guest: GuestName,
    /// SHA-256 of the guest's component, in hexadecimal.
    pub build: String,
    /// Bytes of its pages.
    pub bytes: u64,
    /// Whether it is the one of its guest's memories that was used last. The others are kept until the sandbox is reset.
    pub is_latest: bool,
    /// How it can be woken; or `guest_missing`, or `guest_mismatch` for a guest of another contract.
    pub wake: Result<Wake>,
}

/// The guest of a SHA-256, and how it is had, where it is not the current one.
///
/// # Errors
/// `guest_missing`, `guest_mismatch`, each with what to do; those of `slot`.
pub(crate) fn find(
    guests: &Guests,
    artifacts: &Artifacts,
    (language, hash): (&GuestName, &str),
    slot: &EngineSlot,
) -> Result<(Guest, Wake)> {
    let found = guests.of_hash(language, hash);
    let Some((first, contract)) = found.into_iter().next() else {
        return Err(missing(language, hash, "it is not on this machine"));
    };
    let first = guest::check_contract(first, &contract)?;
    if artifacts.has(&slot.engine, hash)? {
        return Ok((first, Wake::Kept));
    }
    if first.wasm.exists() {
        return Ok((first, Wake::Compiled));
    }
    Err(missing(language, hash, "there is neither machine code of it for this release nor its component"))
}

/// The error for a guest that cannot be had.
fn missing(language: &GuestName, hash: &str, why: &str) -> Error {
    let (short, archives) = (short(hash), Architecture::archives());
    Error::new(
        ErrorCode::GuestMissing,
        format!("the memory belongs to the {language} guest {short}, and {why}"),
    )
    .with_hint(format!(
        "unpack {archives}-kept.tar.xz beside the program, or the guests of the release that \
             saved it; or `dormouse state migrate` carries the files of a sandbox over, also of one that was forked from a checkpoint"
    ))
}

/// As much of a hash as people read.
pub(crate) fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}
