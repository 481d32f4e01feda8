//! What is saved of a sandbox while one of its calls runs: its files as they are then, and its interpreters as they were before
//! the call.
//!
//! A call that runs for long, or waits, must not keep what earlier calls did from being saved. The machine is the call's own
//! meanwhile; before it begins it gives out what can be looked at beside it ([`Machine::beside`](crate::sandbox::Machine::beside)).
//! Such a save makes a new generation of the record. Whoever has the sandbox next takes it over, or else would take his own
//! machine for an outdated one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::OwnedMutexGuard;

use super::call::{Call, Live, Resident};
use super::{Inner, Sandboxes};
use crate::sandbox::{Beside, Include, Sandbox, SandboxId};
use crate::{Error, Result};

/// What can be saved beside a sandbox's call, and what was.
#[derive(Default)]
pub(super) struct Besides {
    /// Held while it is saved so.
    writing: Arc<tokio::sync::Mutex<()>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    running: Option<Running>,
    written: Option<Written>,
    /// How often it has failed since it last did not, and the uptime when it did so last.
    failed: (u32, Duration),
}

/// A call that runs.
#[derive(Clone)]
struct Running {
    machine: Arc<dyn Beside>,
    include: Include,
    /// The record as it would be saved now.
    record: Sandbox,
    /// Since which uptime there is something that is not saved.
    since: Duration,
}

/// What was saved beside a call.
pub(super) struct Written {
    /// The generation before.
    before: u64,
    /// The record since.
    record: Sandbox,
    /// The uptime when the state was taken.
    at: Duration,
}

/// The time of one call. Dropped, nothing is saved beside it any more.
pub(super) struct Offered(Arc<Resident>);

impl Drop for Offered {
    fn drop(&mut self) {
        self.0.besides.state().running = None;
    }
}

impl Besides {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a save that is under way. What was saved since it was last asked for.
    pub(super) async fn settled(&self) -> Option<Written> {
        let _writing = self.writing.lock().await;
        self.state().written.take()
    }

    /// The same without waiting: nothing while a save is under way.
    pub(super) fn settled_now(&self) -> Option<Written> {
        let _writing = self.writing.try_lock().ok()?;
        self.state().written.take()
    }

    /// Whether a call runs beside which it is to be saved by now.
    fn is_due(&self, inner: &Inner) -> bool {
        let (now, rules) = (inner.clock.uptime(), &inner.rules);
        let state = self.state();
        let since = state.running.as_ref().map(|running| running.since);
        since.is_some_and(|since| rules.is_late(since, now)) && !rules.backs_off(state.failed, now)
    }

    fn note(&self, saved: &Result<Sandbox>, before: u64, at: Duration) {
        let mut state = self.state();
        match saved {
            Ok(record) => {
                // What was saved before and nobody has taken over was of the same call.
                let before = state.written.as_ref().map_or(before, |written| written.before);
                state.written = Some(Written { before, record: record.clone(), at });
                state.failed = Default::default();
                if let Some(running) = &mut state.running {
                    running.since = at;
                    (running.record.generation, running.record.state) = (record.generation, record.state);
                }
            }
            Err(_) => state.failed = (state.failed.0.saturating_add(1), at),
        }
    }
}

impl Live {
    /// Takes over what was saved beside the last call.
    pub(super) fn take_over(&mut self, written: &Written) {
        if self.generation == written.before {
            self.generation = written.record.generation;
            self.changed_at = self.changed_at.max(written.at);
        }
    }
}

impl Call {
    /// Lets what there is now be saved beside the call that begins, as far as the machine can.
    pub(super) fn offer_beside(&self) -> Option<Offered> {
        let machine = self.live.machine.as_ref()?.beside()?;
        let record = self.now();
        let include = if record.spec.keeps_memory { Include::Both } else { Include::Files };
        let running = Running { machine, include, record, since: self.live.changed_at };
        self.resident.besides.state().running = Some(running);
        Some(Offered(self.resident.clone()))
    }

    /// Takes the state that can be saved beside a call that does not begin with its own, where there is something that has not been
    /// saved for a while. Waits for it no longer than the call may take, and keeps the call from nothing.
    ///
    /// # Errors
    /// What keeps the sandbox from waking.
    pub(super) async fn settle(&mut self, most: Duration) -> Result<()> {
        let (now, rules) = (self.inner.clock.uptime(), &self.inner.rules);
        if !self.live.changed || self.live.changed_at + rules.save_after > now {
            return Ok(());
        }
        let machine = self.machine().await?;
        if !machine.forgets()
            && let Ok(Err(error)) = tokio::time::timeout(most, machine.snapshot(Include::Memory)).await
        {
            tracing::debug!(%error, "the state before a call was not taken");
        }
        Ok(())
    }

    /// Takes over what was saved beside an earlier part of this call.
    pub(super) async fn take_over(&mut self) {
        let Some(written) = self.resident.besides.settled().await else { return };
        if self.record.generation == written.before {
            (self.record.generation, self.record.state) = (written.record.generation, written.record.state);
        }
        self.live.take_over(&written);
    }
}

impl Sandboxes {
    /// The sandboxes that are to be saved beside their calls.
    pub(super) fn late_beside(&self) -> Vec<(SandboxId, Arc<Resident>)> {
        let residents = self.inner.residents();
        let late = residents.iter().filter(|(_, resident)| resident.besides.is_due(&self.inner));
        late.map(|(id, resident)| (id.clone(), resident.clone())).collect()
    }

    /// Saves one beside its call. False: none runs there.
    ///
    /// # Errors
    /// What keeps it from being saved.
    pub(super) async fn save_beside(&self, resident: Arc<Resident>) -> Result<bool> {
        let writing = resident.besides.writing.clone().lock_owned().await;
        let inner = self.inner.clone();
        // Whoever waits for it may go; the record must not change without anybody knowing.
        let saved = tokio::task::spawn_blocking(move || write(&inner, &resident, writing));
        saved.await.map_err(|error| Error::internal("saving did not end", error))?
    }
}

fn write(inner: &Inner, resident: &Resident, _writing: OwnedMutexGuard<()>) -> Result<bool> {
    let Some(running) = resident.besides.state().running.clone() else { return Ok(false) };
    let (at, before) = (inner.clock.uptime(), running.record.generation);
    let saved = running
        .machine
        .snapshot(running.include)
        .and_then(|state| inner.saves.update(&running.record, Some(state.as_ref())));
    resident.besides.note(&saved, before, at);
    saved.map(|_| true)
}
