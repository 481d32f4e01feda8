//! What could not be saved, and who is told; and who is told that another provider has done the work.
//!
//! A call is saved a moment after it was answered. Where it is known that this will not go well, because saving has failed or the
//! disk has less room than the sandbox might need, it is saved before it is answered, and the answer says if it could not be. So is a
//! call of a sandbox that asks for it ([`Durability::Call`]).
//!
//! [`Saves`] is the only way by which states are written, so that every failure is noted.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Sandboxes;
use super::call::Call;
use crate::sandbox::{
    Checkpoint, Durability, Ledger, NewCheckpoint, ProviderName, Quota, Run, RunCall, Sandbox, Snapshot,
};
use crate::{Error, ErrorCode, Result};

/// For how long it is known how much room there is on the disk.
const KNOWN: Duration = Duration::from_secs(1);
/// Where less room is left, what was removed is swept at once (32 MiB).
const LITTLE: u64 = 32 << 20;
/// A state can take so many times the memory that it had, on its way to the disk.
const ON_THE_WAY: u64 = 2;

tokio::task_local! {
    /// Where a call leaves word of what its answer does not hold.
    static TOLD: Arc<Mutex<Told>>;
}

/// What is to be told with an answer, whichever call it is of.
#[derive(Debug, Default)]
pub struct Told {
    /// Why what the call has changed could not be saved before it was answered, or what calls before it did could not. None: it is
    /// saved, or will be a moment later.
    pub unsaved: Option<Error>,
    /// The word of the provider in whose place another one has done it. None: whose it was has done it.
    pub fallback_from: Option<&'static str>,
}

/// Does `work`, which calls sandboxes, and tells what is to be said with its answer. Work that `work` leaves to other tasks tells
/// nothing.
pub async fn telling<T>(work: impl Future<Output = T>) -> (T, Told) {
    let told = Arc::new(Mutex::new(Told::default()));
    let done = TOLD.scope(told.clone(), work).await;
    let told = std::mem::take(&mut *told.lock().unwrap_or_else(PoisonError::into_inner));
    (done, told)
}

/// Tells that what earlier calls did is lost with a machine that has ended by itself.
pub(super) fn tell_lost() {
    let lost = "the sandbox's container ended by itself before everything was saved: what came after the last save is lost";
    tell(
        Error::new(ErrorCode::ProviderUnavailable, lost)
            .with_hint("look at its files: the sandbox goes on from what was saved last"),
    );
}

fn tell(error: Error) {
    // Who does not listen finds it in the log, and in what the sandboxes answer when they are asked.
    let _ = TOLD.try_with(|told| told.lock().unwrap_or_else(PoisonError::into_inner).unsaved = Some(error));
}

/// Tells that another provider does the work of this one.
pub(super) fn tell_fallback(wanted: ProviderName) {
    let wanted = Some(wanted.as_str());
    let _ = TOLD.try_with(|told| told.lock().unwrap_or_else(PoisonError::into_inner).fallback_from = wanted);
}

/// How saving a sandbox has failed.
pub(super) struct Failed {
    /// How often in a row.
    pub(super) count: u32,
    /// The uptime when it did so last, and why.
    pub(super) at: Duration,
    pub(super) error: Error,
}

/// The way by which states are written.
pub(super) struct Saves {
    ledger: Arc<dyn Ledger>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// Why the last save has failed, if it has.
    failed: Option<Error>,
    /// The room on the disk, and when it was looked at.
    room: Option<(Room, Instant)>,
}

/// The bytes that can be added, if that is known; or why there are none.
type Room = std::result::Result<Option<u64>, Arc<Error>>;

impl Saves {
    pub(super) fn new(ledger: Arc<dyn Ledger>) -> Self {
        Self { ledger, known: Mutex::default() }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As [`Ledger::update`].
    pub(super) fn update(&self, record: &Sandbox, state: Option<&dyn Snapshot>) -> Result<Sandbox> {
        self.note(self.ledger.update(record, state))
    }

    /// As [`Ledger::update_with_run`].
    pub(super) fn update_with_run(
        &self,
        record: &Sandbox,
        state: Option<&dyn Snapshot>,
        run: (&Run, &[RunCall]),
    ) -> Result<Sandbox> {
        self.note(self.ledger.update_with_run(record, state, run))
    }

    /// As [`Ledger::update_with_checkpoint`].
    pub(super) fn update_with_checkpoint(
        &self,
        record: &Sandbox,
        state: &dyn Snapshot,
        checkpoint: (&NewCheckpoint, Option<&dyn Snapshot>),
        quota: &Quota,
    ) -> Result<(Sandbox, Checkpoint)> {
        self.note(self.ledger.update_with_checkpoint(record, state, checkpoint, quota))
    }

    fn note<T>(&self, done: Result<T>) -> Result<T> {
        match &done {
            Ok(_) => self.known().failed = None,
            Err(error) if error.code() == ErrorCode::StateUnavailable => {
                self.known().failed = Some(again(error));
            }
            Err(_) => {}
        }
        done
    }

    /// How much room there is, as it was at most a second ago.
    fn room(&self) -> Room {
        if let Some((room, at)) = &self.known().room
            && at.elapsed() < KNOWN
        {
            return room.clone();
        }
        self.room_now()
    }

    /// How much room there is. Nothing is written to learn it.
    fn room_now(&self) -> Room {
        let room = self.ledger.free().map_err(Arc::new);
        self.known().room = Some((room.clone(), Instant::now()));
        room
    }

    /// Why nothing can be saved just now, as far as it is known without trying.
    pub(super) fn trouble(&self) -> Option<Error> {
        if let Err(error) = self.room_now() {
            return Some(again(&error));
        }
        self.known().failed.as_ref().map(again)
    }

    /// Whether there is so little room that what was removed is wanted back at once.
    pub(super) fn is_pressed(&self) -> bool {
        let failed = self.known().failed.is_some();
        failed || self.room().map_or(true, |room| room.is_some_and(|room| room < LITTLE))
    }

    /// Whether a state that holds so many bytes in memory may not be saved when its time comes.
    fn is_doubtful(&self, bytes: u64) -> bool {
        let fits = |room: Option<u64>| room.is_none_or(|room| room > bytes.saturating_mul(ON_THE_WAY));
        let failed = self.known().failed.is_some();
        failed || !self.room().is_ok_and(fits)
    }
}

/// The same error once more, without what caused it.
pub(super) fn again(error: &Error) -> Error {
    let same = Error::new(error.code(), error.message());
    match error.hint() {
        Some(hint) => same.with_hint(hint),
        None => same,
    }
}

impl Sandboxes {
    /// Why what calls do can not be saved just now, as far as that is known without trying. Names no folder.
    pub fn trouble(&self) -> Option<Error> {
        self.inner.saves.trouble()
    }
}

impl Call {
    /// Ends a call that may have changed something: it is saved before it is answered where that was asked for, and where it
    /// may not be possible later.
    pub(super) async fn answer<T>(self, done: T) -> T {
        let asked = self.record.spec.durability == Durability::Call;
        if asked || self.is_doubtful() {
            self.save_and_tell(asked).await;
        }
        done
    }

    /// The same for what is always saved before it is answered.
    pub(super) async fn answer_saved<T>(self, done: T) -> T {
        self.save_and_tell(true).await;
        done
    }

    /// Whether what this call changes may not be saved when its time comes.
    pub(super) fn is_doubtful(&self) -> bool {
        let machine = self.live.machine.as_ref();
        self.live.failed.is_some()
            || self.inner.saves.is_doubtful(machine.map_or(0, |machine| machine.memory()))
    }

    async fn save_and_tell(self, asked: bool) {
        if !self.live.changed {
            return;
        }
        if let Some(failed) = &self.live.failed
            && !asked
            && failed.error.code() != ErrorCode::StateUnavailable
            && self.inner.rules.backs_off((failed.count, failed.at), self.inner.clock.uptime())
        {
            // What is wrong is the sandbox's own, and trying takes its time.
            return tell(again(&failed.error));
        }
        let id = self.record.id.clone();
        if let Ok((_, Err(error))) | Err(error) = self.try_save().await {
            tracing::warn!(%error, sandbox = %id, "a call is answered that is not saved");
            tell(error);
        }
    }
}
