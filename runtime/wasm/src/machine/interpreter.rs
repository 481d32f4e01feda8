//! One language's interpreter in a sandbox: in memory, asleep as a saved state, or never used.
//!
//! Its state is taken by a task of its own. A caller that gives up in the middle loses nothing: whoever comes next waits for
//! the rest.

use std::sync::Arc;

use dormouse_core::sandbox::Lost;
use dormouse_core::{Error, ErrorCode, GuestName, Recovery, Result};
use dormouse_files::{Files, Handle, Held};
use tokio::task::JoinHandle;

use crate::checkpoint;
use crate::engine::Metering;
use crate::instance::Instance;
use crate::loader::Loader;
use crate::ready::Ready;
use crate::saved::SavedInterpreter;
use crate::snapshot::{StoredInterpreter, replaced};

/// Memories of other builds of its guest that are kept at most.
const OLDER: usize = 4;
/// Why something was lost.
const NOT_SAVED: &str = "it could not be saved";
const GIVEN_UP: &str = "an earlier call was cancelled before it ended";

/// An instance whose state was taken, that state, and what it has open.
type Taken = (Arc<Ready>, Instance, Result<SavedInterpreter>, Vec<Handle>);

/// The interpreter.
#[derive(Default)]
pub(super) struct Interpreter {
    /// In memory. Taken out for the time of a run, so that one that does not end well is lost.
    live: Option<(Arc<Ready>, Instance)>,
    /// In memory, while its state is taken.
    taking: Option<JoinHandle<Taken>>,
    /// Its last state that was taken; none: a fresh one.
    stored: Option<Arc<StoredInterpreter>>,
    /// What it had open then, kept open for whoever goes on from there: files whose name is gone are there for as long.
    held: Vec<Handle>,
    /// Whether what is in memory may differ from `kept`.
    changed: bool,
    /// What was lost and no answer has said yet.
    lost: Option<Lost>,
    /// What it goes back to if the run that is under way is cut off.
    running: Option<Recovery>,
    /// Whether `kept` was taken since somebody asked for it.
    anew: bool,
    /// Memories of other builds of its guest, the latest used first.
    older: Vec<Arc<StoredInterpreter>>,
    /// Whether the first of these was used after `kept`: what it holds is not to be had here.
    outdated: bool,
}

impl Interpreter {
    /// One that is asleep, with the files that it was saved with.
    pub(super) fn of(stored: &Arc<StoredInterpreter>, files: &Files) -> Self {
        let mut interpreter = Self { stored: Some(stored.clone()), ..Self::default() };
        interpreter.hold_files(files);
        interpreter
    }

    /// Goes on, asleep, with the files that it was saved with. What they do not have cannot be opened again.
    pub(super) fn hold_files(&mut self, files: &Files) {
        let held = self.stored.iter().flat_map(|stored| stored.held());
        self.held = held.filter_map(|held| files.hold(held).ok()).collect();
    }

    /// Goes on, asleep, with other files than it was saved with: it can only know the paths of what it has open.
    pub(super) fn leave_files(&mut self) {
        self.stored = self.stored.as_ref().map(|stored| Arc::new(stored.without_files()));
        self.held = Vec::new();
    }

    /// What it had open when its last state was taken, as far as it can be opened again.
    pub(super) fn held(&self) -> impl Iterator<Item = Held> {
        self.held.iter().map(Handle::held)
    }

    /// One that is asleep, whose memories, the latest used first, belong to several builds of its guest, of which `guest` is here.
    pub(super) fn of_builds(mut memories: Vec<Arc<StoredInterpreter>>, guest: Option<&str>) -> Self {
        let at = memories.iter().position(|stored| Some(stored.guest()) == guest);
        let outdated = !memories.is_empty() && at != Some(0);
        let stored = at.map(|at| memories.remove(at));
        Self { stored, older: memories, outdated, ..Self::default() }
    }

    /// Its memories of all builds of its guest, the latest used first.
    pub(super) fn memories(&self) -> Vec<Arc<StoredInterpreter>> {
        let mut all: Vec<_> = self.older.iter().take(OLDER).cloned().collect();
        if let Some(stored) = &self.stored {
            all.insert(usize::from(self.outdated).min(all.len()), stored.clone());
        }
        all
    }

    /// Whether it goes on from its latest memory, which belongs to the guest of this SHA-256.
    pub(super) fn runs_with(&self, guest: &str) -> bool {
        !self.outdated && self.stored.as_ref().is_some_and(|stored| stored.guest() == guest)
    }

    /// Whether its state was taken anew since this was asked last.
    pub(super) fn is_anew(&mut self) -> bool {
        std::mem::take(&mut self.anew)
    }

    /// Its memories of other builds of its guest.
    pub(super) fn older(&self) -> &[Arc<StoredInterpreter>] {
        &self.older
    }

    /// Its last state that was taken.
    pub(super) fn stored(&self) -> Option<&Arc<StoredInterpreter>> {
        self.stored.as_ref()
    }

    pub(super) fn is_awake(&self) -> bool {
        self.live.is_some() || self.taking.is_some()
    }

    /// Bytes of the host's memory that it holds: its own, and those of its last state.
    pub(super) fn memory(&self) -> u64 {
        let live = self.live.as_ref().map_or(0, |(_, instance)| instance.memory() as u64);
        live + self.stored.as_ref().map_or(0, |stored| stored.in_memory())
    }

    /// Bytes of its linear memory, also when it is asleep; 0: a fresh one.
    pub(super) fn size(&self) -> u64 {
        match (&self.live, &self.stored) {
            (Some((_, instance)), _) => instance.memory() as u64,
            (None, Some(stored)) => stored.size(),
            (None, None) => 0,
        }
    }

    /// Lets go of what is in memory.
    pub(super) fn sleep(&mut self) {
        (self.live, self.taking, self.changed) = (None, None, false);
    }

    /// Forgets its last state: what is in memory is all that there is.
    pub(super) fn forget(&mut self) {
        self.stored = None;
    }

    /// Brings it into memory.
    ///
    /// # Errors
    /// What keeps the guest from it; `state_damaged`.
    pub(super) async fn wake(&mut self, loader: &Loader, language: &GuestName) -> Result<()> {
        if self.taking.is_some() {
            self.settle(language).await?;
        }
        if self.live.is_some() {
            return Ok(());
        }
        let ready = match &self.stored {
            Some(stored) => loader.ready_of(language, stored.guest()).await?,
            None => loader.ready(language, Metering::Epoch).await?,
        };
        let mut instance = ready.lasting().await?;
        if let Some(stored) = &self.stored {
            instance.offer_files(self.held.clone());
            checkpoint::restore(&ready, &mut instance, stored.brought().await?.as_ref()).await?;
        }
        (self.live, self.changed) = (Some((ready, instance)), false);
        Ok(())
    }

    /// Takes the state of what is in memory, if it has changed.
    ///
    /// # Errors
    /// `limit_time`, `guest_trap` when the guest does not come to rest; it is as it was when its state was last taken then, and the
    /// next run says so. `busy` when there is no place to do it in; it is as it was then.
    pub(super) async fn settle(&mut self, language: &GuestName) -> Result<()> {
        if self.taking.is_none() {
            if !self.changed {
                return Ok(());
            }
            let before = match &self.stored {
                Some(stored) => Some(stored.brought().await?),
                None => None,
            };
            let Some((ready, mut instance)) = self.live.take() else { return Ok(()) };
            self.taking = Some(tokio::spawn(async move {
                let saved = checkpoint::save(&ready, &mut instance, before.as_deref()).await;
                let held = instance.held();
                (ready, instance, saved, held)
            }));
        }
        let Some(taking) = &mut self.taking else { return Ok(()) };
        let taken = taking.await;
        (self.taking, self.changed) = (None, false);
        let Ok((ready, instance, saved, held)) = taken else {
            self.note_lost(language, Recovery::Earlier, NOT_SAVED);
            return Err(Error::new(ErrorCode::Internal, "the state was not taken"));
        };
        if !instance.is_whole() {
            self.note_lost(language, Recovery::Earlier, NOT_SAVED);
        } else {
            (self.live, self.changed) = (Some((ready, instance)), saved.is_err());
        }
        (self.stored, self.held) = (Some(Arc::new(StoredInterpreter::new(saved?))), held);
        self.anew = true;
        Ok(())
    }

    /// Remembers that what came after its last state was lost, for the next answer.
    pub(super) fn note_lost(&mut self, language: &GuestName, recovery: Recovery, reason: &str) {
        let fresh = self.stored.is_none() && recovery != Recovery::BeforeRun;
        let recovery = if fresh { Recovery::Fresh } else { recovery };
        let lost = Lost { guest: language.clone(), recovery, reason: reason.into() };
        self.note(Some(lost));
    }

    /// The same, when it is known already.
    pub(super) fn note(&mut self, lost: Option<Lost>) {
        if let Some(lost) = lost {
            self.lost = Some(lost.or_worse(self.lost.take()));
        }
    }

    /// A run begins that goes back to `recovery` if it is cut off. Until it ends, it counts as cut off.
    pub(super) fn run_begins(&mut self, language: &GuestName, recovery: Recovery) {
        self.note_given_up(language);
        self.running = Some(recovery);
    }

    /// The run has ended. What was lost before it, which its answer tells.
    pub(super) fn run_ends(&mut self, language: &GuestName) -> Option<Lost> {
        self.running = None;
        self.tell(language)
    }

    /// Whether a run has ended without an answer is known when the next comes.
    fn note_given_up(&mut self, language: &GuestName) {
        if let Some(recovery) = self.running.take() {
            self.note_lost(language, recovery, GIVEN_UP);
        }
    }

    /// What was lost and no answer has said yet, kept with its state. What belongs to another build of its guest is seen anew whenever it wakes.
    pub(super) fn lost(&self, language: &GuestName) -> Option<Lost> {
        let mut seen = Self { lost: self.lost.clone(), running: self.running, ..Self::default() };
        seen.stored = self.stored.clone();
        seen.note_given_up(language);
        seen.lost
    }

    /// The same, and what belongs to another build.
    pub(super) fn all_lost(&self, language: &GuestName) -> Option<Lost> {
        let lost = self.lost(language);
        if self.outdated { Some(replaced(language, self.stored.is_some()).or_worse(lost)) } else { lost }
    }

    /// The same, for an answer that tells it.
    pub(super) fn tell(&mut self, language: &GuestName) -> Option<Lost> {
        let lost = self.all_lost(language);
        (self.lost, self.running) = (None, None);
        self.outdated = false;
        lost
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
    pub(super) fn put_back(
        &mut self,
        ready: Arc<Ready>,
        instance: Instance,
        before: Option<Arc<StoredInterpreter>>,
    ) {
        (self.live, self.stored, self.changed) = (Some((ready, instance)), before, true);
        self.outdated = false;
    }
}
