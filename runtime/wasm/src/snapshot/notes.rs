//! What there is to say of a saved state before it is opened: its root tells.

use std::collections::BTreeMap;

use dormouse_core::sandbox::{ChunkSource, Lost, Notes, OlderMemory, SavedState};
use dormouse_core::{GuestName, Recovery, Result};

use super::{Head, WasmSnapshot, manifest};
use crate::saved::PAGE;

impl WasmSnapshot {
    /// What there is to say of a saved state, where `guest` answers the SHA-256 of a language's guest that is here.
    ///
    /// # Errors
    /// `state_damaged`.
    pub(crate) fn notes(
        state: &SavedState,
        source: &dyn ChunkSource,
        guest: &dyn Fn(&GuestName) -> Option<String>,
    ) -> Result<Notes> {
        let (manifest, parts) = manifest(state, source)?;
        let mut of: BTreeMap<GuestName, Vec<Head>> = BTreeMap::new();
        for (head, _) in manifest.interpreters.into_iter().flatten() {
            of.entry(head.language.clone()).or_default().push(head);
        }
        let mut notes = Notes { lost: parts.lost, older: Vec::new() };
        for (language, heads) in of {
            let here = guest(&language);
            let at = heads.iter().position(|head| Some(&head.guest) == here.as_ref());
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

/// What is lost of a language whose latest memory belongs to another guest than the one that is here; `earlier`: there is an earlier one
/// that fits.
pub(crate) fn replaced(language: &GuestName, earlier: bool) -> Lost {
    let recovery = if earlier { Recovery::Earlier } else { Recovery::Fresh };
    Lost { guest: language.clone(), recovery, reason: format!("another build of the {language} guest") }
}
