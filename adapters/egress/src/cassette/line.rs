//! The lines of a recording, which are JSON. The first says what it is, the last one holds the hash of all before it.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::cassette::asked::About;

/// The version of the form. The first one, which has no lines of the kind `kept`, is read too.
pub(super) const VERSION: u32 = 2;
/// Bytes of a recording.
pub(super) const MAX_FILE: u64 = 256 << 20;
/// Requests of a recording.
pub(super) const MAX_REQUESTS: usize = 100_000;
/// Bytes of an answer in one line.
pub(super) const MAX_PIECE: usize = 64 << 10;

/// A line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Line<'a> {
    /// The first one.
    Cassette { version: u32 },
    /// A request. Its number stands in the lines of its answer.
    Request {
        number: u64,
        #[serde(rename = "asked")]
        about: Cow<'a, About>,
    },
    /// The head of an answer.
    Answer { number: u64, status: u16, headers: Vec<(Cow<'a, str>, Octets<'a>)> },
    /// Bytes of its body.
    Piece { number: u64, bytes: Octets<'a> },
    /// Its end. `cut`: it broke off, or nobody wanted the rest.
    End {
        number: u64,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cut: bool,
    },
    /// There was no answer.
    Failed { number: u64, reason: Cow<'a, str>, message: Cow<'a, str> },
    /// What stands before it is as it was written: the hash of that. Where the last one is missing, a recording counts up to here.
    Kept { blake3: Cow<'a, str> },
    /// The last one.
    Whole { requests: u64, blake3: Cow<'a, str> },
}

/// Bytes: as text, if they are one, or in base64.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Octets<'a> {
    Text(Cow<'a, str>),
    Coded { base64: Cow<'a, str> },
}

impl<'a> Octets<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.into()),
            Err(_) => Self::Coded { base64: STANDARD.encode(bytes).into() },
        }
    }

    /// None: it is no base64.
    pub(super) fn bytes(self) -> Option<Vec<u8>> {
        match self {
            Self::Text(text) => Some(text.into_owned().into_bytes()),
            Self::Coded { base64 } => STANDARD.decode(base64.as_bytes()).ok(),
        }
    }
}
