//! What there is to say of a saved state before it is opened: its root tells.

use std::collections::BTreeMap;

use dormouse_core::sandbox::{ChunkSource, Lost, Notes, OlderMemory, SavedState};
use dormouse_core::{GuestName, Recovery, Result};

use super::{Head, WasmSnapshot, manifest};
use crate::kept::{Memory, Wake};
use crate::saved::PAGE;

impl WasmSnapshot {
    /// What there is to say of a saved state, where `is_here` answers whether a language's guest of a SHA-256 can be had.
    ///
    /// # Errors
    /// `state_damaged`.
    pub(crate) fn notes(
        state: &SavedState,
        source: &dyn ChunkSource,
        is_here: &dyn Fn(&GuestName, &str) -> bool,
    ) -> Result<Notes> {
        let (manifest, parts) = manifest(state, source)?;
        let mut of: BTreeMap<GuestName, Vec<Head>> = BTreeMap::new();
        for (head, _) in manifest.interpreters.into_iter().flatten() {
            of.entry(head.language.clone()).or_default().push(head);
        }
        let mut notes = Notes { lost: parts.lost, older: Vec::new() };
        for (language, heads) in of {
            let at = heads.iter().position(|head| is_here(&language, &head.guest));
            if at != Some(0) {
                notes.lost.retain(|lost| lost.guest != language);
                notes.lost.push(replaced(&language, at.is_some()));
            }
            let others = heads.into_iter().enumerate().filter(|(place, _)| Some(*place) != at);
            notes.older.extend(others.map(|(_, head)| OlderMemory {
                guest: language.clone(),
                bytes: head.pages.saturating_mul(PAGE as u64),
                build: head.guest,
            }));
        }
        notes.lost.sort_by(|one, other| one.guest.cmp(&other.guest));
        Ok(notes)
    }
}

impl WasmSnapshot {
    /// The memories of a saved state, by language, the latest used first; `wake` answers how one is woken.
    ///
    /// # Errors
    /// `state_damaged`; `state_unavailable` when it is of a later version.
    pub(crate) fn memories(
        state: &SavedState,
        source: &dyn ChunkSource,
        wake: &dyn Fn(&GuestName, &str) -> Result<Wake>,
    ) -> Result<Vec<Memory>> {
        let (manifest, _) = manifest(state, source)?;
        let mut memories: Vec<Memory> = Vec::new();
        for (Head { language: guest, guest: build, pages, .. }, _) in
            manifest.interpreters.into_iter().flatten()
        {
            let is_latest = memories.iter().all(|before| before.guest != guest);
            let (wake, bytes) = (wake(&guest, &build), pages.saturating_mul(PAGE as u64));
            memories.push(Memory { guest, build, bytes, is_latest, wake });
        }
        memories.sort_by(|one, other| one.guest.cmp(&other.guest));
        Ok(memories)
    }
}

/// What is lost of a language whose latest memory belongs to a guest that is not here; `earlier`: there is an earlier one whose guest is.
pub(crate) fn replaced(language: &GuestName, earlier: bool) -> Lost {
    let recovery = if earlier { Recovery::Earlier } else { Recovery::Fresh };
    Lost {
        guest: language.clone(),
        recovery,
        reason: format!("its memory belongs to another build of the {language} guest, and is kept"),
    }
}
