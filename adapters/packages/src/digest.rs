//! Hashes that an index gives for its files.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use data_encoding::HEXLOWER;
use dormouse_core::{Error, ErrorCode, Result};
use sha2::{Digest as _, Sha256, Sha512};

/// A hash that a file must have.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Digest {
    Sha256(Vec<u8>),
    Sha512(Vec<u8>),
}

impl Digest {
    /// Hexadecimal digits, as Python's indexes write them.
    pub(crate) fn sha256(hex: &str) -> Option<Self> {
        let bytes = HEXLOWER.decode(hex.trim().to_ascii_lowercase().as_bytes()).ok()?;
        (bytes.len() == 32).then_some(Self::Sha256(bytes))
    }

    /// The strongest SHA-512 of an `integrity` field.
    pub(crate) fn integrity(text: &str) -> Option<Self> {
        let digest = text.split_whitespace().find_map(|part| part.strip_prefix("sha512-"))?;
        let bytes = STANDARD.decode(digest.split('?').next()?).ok()?;
        (bytes.len() == 64).then_some(Self::Sha512(bytes))
    }

    /// Whether an `integrity` field holds hashes, whole and at least one. Those that npm wrote before SHA-512 are read too.
    pub(crate) fn is_integrity(text: &str) -> bool {
        const KINDS: [(&str, usize); 4] = [("sha1-", 20), ("sha256-", 32), ("sha384-", 48), ("sha512-", 64)];
        let whole = |part: &str| {
            KINDS.iter().any(|(kind, bytes)| {
                let digest = part.strip_prefix(kind).and_then(|rest| rest.split('?').next());
                digest
                    .and_then(|digest| STANDARD.decode(digest).ok())
                    .is_some_and(|hash| hash.len() == *bytes)
            })
        };
        !text.trim().is_empty() && text.split_whitespace().all(whole)
    }

    /// A file's name in the cache.
    pub(crate) fn key(&self) -> String {
        match self {
            Self::Sha256(bytes) => format!("sha256-{}", HEXLOWER.encode(bytes)),
            Self::Sha512(bytes) => format!("sha512-{}", HEXLOWER.encode(bytes)),
        }
    }

    pub(crate) fn fits(&self, bytes: &[u8]) -> bool {
        match self {
            Self::Sha256(wanted) => Sha256::digest(bytes).as_slice() == wanted,
            Self::Sha512(wanted) => Sha512::digest(bytes).as_slice() == wanted,
        }
    }

    /// The error for a file that has another.
    pub(crate) fn mismatch(name: &str) -> Error {
        Error::new(ErrorCode::PackageRefused, format!("`{name}` does not have the hash that the index states"))
            .with_hint("nothing was installed; have the operator check the index and the proxy in front of it, if there is one")
    }

    pub(crate) fn check(&self, name: &str, bytes: &[u8]) -> Result<()> {
        if self.fits(bytes) { Ok(()) } else { Err(Self::mismatch(name)) }
    }
}

/// A SHA-256 in hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

/// A SHA-256 as a `RECORD` writes it.
pub(crate) fn record(bytes: &[u8]) -> String {
    format!("sha256={}", URL_SAFE_NO_PAD.encode(Sha256::digest(bytes)))
}
