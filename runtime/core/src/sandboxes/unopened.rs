//! Sandboxes that cannot be opened just now: calls to them count, and time does not destroy them.
//!
//! A state can be damaged, or of a later version, or a provider's that is not here. Whoever tries to use such a sandbox still
//! wants it, and whoever mends what is in the way finds it.

use std::time::Duration;

use super::call::Call;
use super::{Inner, Sandboxes};
use crate::sandbox::{Handle, Name, Notes, Owner, Phase, Sandbox, SavedState};
use crate::{ErrorCode, GuestName, Result};

/// Calls that fail are noted so often at most.
const NOTED: Duration = Duration::from_secs(60);

impl Call {
    /// Notes a call that found the sandbox and could not open it.
    pub(super) async fn note_call(&mut self) {
        let now = self.live.called_at;
        let mut record = self.record.clone();
        let is_known = record.phase != Phase::Stopped && record.last_activity_at.after(NOTED) > now;
        // What has to be saved is saved with the time of its call.
        if is_known || self.live.changed {
            return;
        }
        record.last_activity_at = record.last_activity_at.max(now);
        record.used = true;
        if record.phase == Phase::Stopped {
            (record.phase, record.stop_reason, record.stopped_at) = (Phase::Running, None, None);
        }
        let ledger = self.inner.ledger.clone();
        match tokio::task::spawn_blocking(move || ledger.update(&record, None)).await {
            Ok(Ok(saved)) => {
                self.live.generation = saved.generation;
                self.record = saved;
            }
            Ok(Err(error)) => tracing::debug!(%error, "a call that failed is not noted"),
            Err(error) => tracing::debug!(%error, "a call that failed is not noted"),
        }
    }
}

impl Sandboxes {
    /// What there is to say of a sandbox: what was lost and no run has told yet, and memory that cannot be opened. Wakes nothing; empty
    /// while a call is in it.
    pub fn notes(&self, sandbox: &Sandbox) -> Notes {
        let resident = self.inner.residents().get(&sandbox.id).cloned();
        match resident.as_ref().map(|resident| resident.live.try_lock()) {
            Some(Err(_)) => return Notes::default(),
            Some(Ok(live)) if live.generation == sandbox.generation => {
                if let Some(machine) = &live.machine {
                    return Notes { lost: machine.lost(), older: machine.older_memory() };
                }
            }
            _ => {}
        }
        sandbox.state.as_ref().map(|state| self.notes_of(state)).unwrap_or_default()
    }

    /// The same of saved state. Empty when it cannot be read.
    pub fn notes_of(&self, state: &SavedState) -> Notes {
        self.inner.notes(state).unwrap_or_default()
    }

    /// The guests that had run when a state was saved and whose variables are not in it. Empty when it cannot be read.
    pub fn not_held(&self, state: &SavedState) -> Vec<GuestName> {
        let Ok(loaded) = self.inner.load(state) else { return Vec::new() };
        let holds = loaded.holds();
        loaded.guests().into_iter().filter(|guest| !holds.contains(guest)).collect()
    }

    /// Whether a sandbox's saved state can be opened, as far as that shows before it is woken.
    pub(super) async fn opens(&self, sandbox: &Sandbox) -> bool {
        let (inner, Some(state)) = (self.inner.clone(), sandbox.state) else { return true };
        let opened = tokio::task::spawn_blocking(move || inner.load(&state).map(drop)).await;
        matches!(opened, Ok(Ok(())))
    }

    /// Removes a sandbox whose record is damaged, so that nothing can be read of it but its id. None: there is none.
    pub(super) fn discard(&self, owner: &Owner, handle: &Handle<'_>) -> Result<Option<Sandbox>> {
        let Some(id) = self.inner.ledger.discard(owner, handle)? else { return Ok(None) };
        self.inner.residents().remove(&id);
        self.inner.jobs.forget(owner, &id);
        let text = handle.text();
        let now = self.inner.clock.now();
        Ok(Some(Sandbox {
            name: Name::parse(text).or_else(|_| Name::parse(id.as_str()))?,
            id,
            owner: owner.clone(),
            session_key: None,
            phase: Phase::Destroyed,
            stop_reason: None,
            spec: self.inner.rules.defaults.clone(),
            state: None,
            generation: 0,
            created_at: now,
            last_activity_at: now,
            stopped_at: None,
            used: true,
        }))
    }
}

impl Inner {
    fn notes(&self, state: &SavedState) -> Result<Notes> {
        let chunks = self.ledger.chunks();
        self.writer_of(state, chunks.as_ref())?.notes(state, chunks.as_ref())
    }
}

/// Whether an error is one of a record that cannot be read.
pub(super) fn is_damage(code: ErrorCode) -> bool {
    code == ErrorCode::StateDamaged
}
