//! What is known of a sandbox and of a checkpoint.

use dormouse_types::SavedState;
use serde::{Deserialize, Serialize};

use super::id::{CheckpointId, Name, Owner, SandboxId, SessionKey};
use super::lifecycle::{Phase, StopReason};
use super::machine::Include;
use super::spec::SandboxSpec;
use crate::{Error, Result};

/// Milliseconds since 1970, UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Timestamp(pub u64);

/// One sandbox, as its record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sandbox {
    /// Its id.
    pub id: SandboxId,
    /// Who it belongs to.
    pub owner: Owner,
    /// What it is called; unique within its owner.
    pub name: Name,
    /// The caller's own key, if it was made for one.
    pub session_key: Option<SessionKey>,
    /// Where it is in its life.
    pub phase: Phase,
    /// Why it is stopped, if it is.
    pub stop_reason: Option<StopReason>,
    /// What it was asked to be.
    pub spec: SandboxSpec,
    /// Its saved state. None: nothing was saved yet, it is as new.
    pub state: Option<SavedState>,
    /// Counts the changes of this record; a change of an older one is refused.
    pub generation: u64,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last called, or made.
    pub last_activity_at: Timestamp,
    /// When it was stopped, if it is.
    pub stopped_at: Option<Timestamp>,
    /// Whether it was ever called.
    pub used: bool,
}

/// What a checkpoint is to be, before it has state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewCheckpoint {
    /// Its id.
    pub id: CheckpointId,
    /// The sandbox whose state it is.
    pub sandbox: SandboxId,
    /// What it is called, if anything; need not be unique.
    pub name: Option<Name>,
    /// What it holds.
    pub include: Include,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A free text about a checkpoint: 1 to 1 000 characters, which may include line breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note(String);

impl Note {
    /// Most characters.
    pub const MAX_CHARS: usize = 1_000;

    /// Reads it: any characters but control characters, of which line breaks and tabs are taken.
    ///
    /// # Errors
    /// `args_invalid`.
    pub fn parse(text: &str) -> Result<Self> {
        let count = text.chars().take(Self::MAX_CHARS + 1).count();
        let bad = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
        if (1..=Self::MAX_CHARS).contains(&count) && !text.contains(bad) {
            return Ok(Self(text.into()));
        }
        let why =
            if count > Self::MAX_CHARS { "it is too long" } else { "it is empty or has control characters" };
        Err(Error::args_invalid(format!("this cannot be a note: {why}"))
            .with_hint(format!("write 1 to {} characters; line breaks are allowed", Self::MAX_CHARS)))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What is to be said of a checkpoint from now on. Default: what was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// Its name, or that it has none.
    pub name: Option<Option<Name>>,
    /// Its note, or that it has none.
    pub note: Option<Option<Note>>,
}

/// One checkpoint of a sandbox: named saved state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Which it is.
    pub label: NewCheckpoint,
    /// What somebody has written about it, if anybody has.
    pub note: Option<Note>,
    /// The state.
    pub state: SavedState,
}
