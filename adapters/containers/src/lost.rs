//! Variables that are gone with an interpreter, until an answer has said so.
//!
//! What runs in a container cannot be saved: whoever goes on from a save, or in another container, has the files alone.

use std::collections::BTreeMap;

use dormouse_core::sandbox::Lost;
use dormouse_core::{Captured, GuestName, Recovery};
use dormouse_files::Extras;

/// What an answer says of it.
const REASON: &str =
    "its interpreter ran in a container that is gone; variables of a container last as long as it runs";

/// What it says where variables were pickled.
pub(crate) const EARLIER: &str = "its interpreter ended; it began anew with what could be pickled of its variables when they were saved last";

/// By guest, that its variables are gone.
#[derive(Debug, Default)]
pub(crate) struct Losses(BTreeMap<GuestName, Lost>);

impl Losses {
    pub(crate) fn add(&mut self, guests: &[GuestName]) {
        for guest in guests {
            let lost = Lost { guest: guest.clone(), recovery: Recovery::Fresh, reason: REASON.into() };
            self.0.insert(guest.clone(), lost);
        }
    }

    /// The one of a guest.
    pub(crate) fn of(&self, guest: &GuestName) -> Option<Lost> {
        self.0.get(guest).cloned()
    }

    /// Notes one with its own reason.
    pub(crate) fn note(&mut self, lost: Lost) {
        self.0.insert(lost.guest.clone(), lost);
    }

    pub(crate) fn all(&self) -> Vec<Lost> {
        self.0.values().cloned().collect()
    }

    /// What the answer of a run of this guest has to say; it has been said then.
    pub(crate) fn tell(&mut self, guest: &GuestName) -> Option<Lost> {
        self.0.remove(guest)
    }
}

/// What is to be said of files that could not be kept.
pub(crate) fn left_out(extras: &Extras) -> Option<String> {
    (extras.left_out > 0).then(|| {
        let (count, names) = (extras.left_out, extras.named.join("`, `"));
        format!(
            "dormouse: {count} files were not kept when the sandbox slept: sockets, devices, or names that are no text: \
             `{names}`\n"
        )
    })
}

/// What a program wrote, with a line of ours before it.
pub(crate) fn with_note(note: &str, captured: &Captured) -> Captured {
    Captured {
        text: format!("{note}{}", captured.text),
        total_bytes: captured.total_bytes.saturating_add(note.len() as u64),
        dropped_bytes: captured.dropped_bytes,
    }
}
