//! One language's interpreter in a sandbox: in memory, asleep as a saved state, or never used.
//!
//! Its state is taken by a task of its own. A caller that gives up in the middle loses nothing: whoever comes next waits for
//! the rest.

use std::sync::Arc;

use dormouse_core::{Error, ErrorCode, Language, Recovery, Result};
use tokio::task::JoinHandle;

use crate::engine::Metering;
use crate::instance::Instance;
use crate::provider::WasmProvider;
use crate::ready::Ready;
use crate::saved::SavedInterpreter;
use crate::session;
use crate::snapshot::Kept;

/// An instance whose state was taken, and that state.
type Taken = (Arc<Ready>, Instance, Result<SavedInterpreter>);

/// The interpreter.
#[derive(Default)]
pub(super) struct Interpreter {
    /// In memory. Taken out for the time of a run, so that one that does not end well is lost.
    live: Option<(Arc<Ready>, Instance)>,
    /// In memory, while its state is taken.
    taking: Option<JoinHandle<Taken>>,
    /// Its last state that was taken; none: a fresh one.
    kept: Option<Arc<Kept>>,
    /// Whether what is in memory may differ from `kept`.
    changed: bool,
    /// What the next run begins with, if what came later was lost and no answer has said so yet.
    lost: Option<Recovery>,
}

impl Interpreter {
    /// One that is asleep.
    pub(super) fn of(kept: &Arc<Kept>) -> Self {
        Self { kept: Some(kept.clone()), ..Self::default() }
    }

    /// Its last state that was taken.
    pub(super) fn kept(&self) -> Option<&Arc<Kept>> {
        self.kept.as_ref()
    }

    pub(super) fn is_awake(&self) -> bool {
        self.live.is_some() || self.taking.is_some()
    }

    pub(super) fn is_changed(&self) -> bool {
        self.changed
    }

    /// Files that it has open.
    pub(super) fn open_files(&self) -> usize {
        self.live.as_ref().map_or(0, |(_, instance)| instance.open_files())
    }

    /// Lets go of what is in memory.
    pub(super) fn sleep(&mut self) {
        (self.live, self.taking, self.changed) = (None, None, false);
    }

    /// Forgets its last state: what is in memory is all that there is.
    pub(super) fn forget(&mut self) {
        self.kept = None;
    }

    /// Brings it into memory.
    ///
    /// # Errors
    /// What keeps the guest from it; `state_damaged`.
    pub(super) async fn wake(&mut self, provider: &WasmProvider, language: &Language) -> Result<()> {
        if self.taking.is_some() {
            self.settle().await?;
        }
        if self.live.is_some() {
            return Ok(());
        }
        let ready = provider.ready(language, Metering::Epoch).await?;
        let mut instance = ready.take().await?;
        if let Some(kept) = &self.kept {
            session::restore(&ready, &mut instance, kept.interpreter()?.as_ref()).await?;
        }
        (self.live, self.changed) = (Some((ready, instance)), false);
        Ok(())
    }

    /// Takes the state of what is in memory, if it has changed. Its open files are closed then.
    ///
    /// # Errors
    /// `limit_time`, `guest_trap` when the guest does not come to rest; it is as it was when its state was last taken then, and the
    /// next run says so. `busy` when there is no place to do it in; it is as it was then.
    pub(super) async fn settle(&mut self) -> Result<()> {
        if self.taking.is_none() {
            if !self.changed {
                return Ok(());
            }
            let before = self.kept.as_ref().map(|kept| kept.interpreter()).transpose()?;
            let Some((ready, mut instance)) = self.live.take() else { return Ok(()) };
            self.taking = Some(tokio::spawn(async move {
                let saved = session::save(&ready, &mut instance, before.as_deref()).await;
                (ready, instance, saved)
            }));
        }
        let Some(taking) = &mut self.taking else { return Ok(()) };
        let taken = taking.await;
        (self.taking, self.changed) = (None, false);
        let Ok((ready, instance, saved)) = taken else {
            self.note_lost(Recovery::Earlier);
            return Err(Error::new(ErrorCode::Internal, "the state was not taken"));
        };
        if !instance.is_whole() {
            self.note_lost(Recovery::Earlier);
        } else {
            (self.live, self.changed) = (Some((ready, instance)), saved.is_err());
        }
        self.kept = Some(Arc::new(Kept::new(saved?)));
        Ok(())
    }

    /// Remembers that what came after its last state was lost, for the next answer.
    pub(super) fn note_lost(&mut self, recovery: Recovery) {
        self.lost = Some(if self.kept.is_none() { Recovery::Fresh } else { recovery });
    }

    /// What the next run begins with, if no answer has said so yet.
    pub(super) fn take_lost(&mut self) -> Option<Recovery> {
        self.lost.take()
    }

    /// Takes it out of its place for a run.
    ///
    /// # Errors
    /// `internal` when it is not awake.
    pub(super) fn take(&mut self) -> Result<(Arc<Ready>, Instance)> {
        self.changed = false;
        self.live.take().ok_or_else(|| Error::new(ErrorCode::Internal, "the interpreter fell asleep"))
    }

    /// Puts it back after a run, with the state that was taken before.
    pub(super) fn put_back(&mut self, ready: Arc<Ready>, instance: Instance, before: Option<Arc<Kept>>) {
        (self.live, self.kept, self.changed) = (Some((ready, instance)), before, true);
    }
}
