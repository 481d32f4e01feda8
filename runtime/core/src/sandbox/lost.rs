//! What a sandbox has lost, or has and cannot open just now.

use serde::{Deserialize, Serialize};

use crate::{GuestName, Recovery};

/// What was lost of one interpreter, until an answer has said so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// The interpreter's guest.
    #[serde(rename = "language")]
    pub guest: GuestName,
    /// What its interpreter is now.
    pub recovery: Recovery,
    /// Why, in a few words.
    pub reason: String,
}

impl Lost {
    /// The one of two that says more: that more was lost, or else the later one, `self`.
    #[must_use]
    pub fn or_worse(self, before: Option<Self>) -> Self {
        match before {
            Some(before) if before.recovery > self.recovery => before,
            _ => self,
        }
    }
}

/// The memory of an interpreter whose guest is not here: kept until the sandbox is reset, and gone on from when the guest is there
/// again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OlderMemory {
    /// The guest.
    pub guest: GuestName,
    /// SHA-256 of the build of it that the memory belongs to, in hexadecimal.
    pub build: String,
    /// Bytes of its pages.
    pub bytes: u64,
}

/// What there is to say of a state besides what it holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// What was lost and no answer of a run has told yet, by guest.
    pub lost: Vec<Lost>,
    /// Memory of other guests, by guest, the latest used first.
    pub older: Vec<OlderMemory>,
}

impl Notes {
    /// Whether there is nothing to say.
    pub fn is_empty(&self) -> bool {
        self.lost.is_empty() && self.older.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Language;

    #[test]
    fn of_two_losses_the_greater_is_told_and_of_equal_ones_the_later() {
        let lost = |recovery, reason: &str| Lost {
            guest: Language::python().into(),
            recovery,
            reason: reason.into(),
        };
        let told = |now, before| lost(now, "now").or_worse(before).reason;
        assert_eq!(told(Recovery::Earlier, Some(lost(Recovery::Fresh, "before"))), "before");
        assert_eq!(told(Recovery::Fresh, Some(lost(Recovery::Earlier, "before"))), "now");
        assert_eq!(told(Recovery::BeforeRun, Some(lost(Recovery::BeforeRun, "before"))), "now");
        assert_eq!(told(Recovery::BeforeRun, None), "now");
    }
}
