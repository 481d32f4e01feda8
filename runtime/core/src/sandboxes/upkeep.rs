//! What happens with time, without a call: saving, hibernating, stopping, destroying, sweeping.

use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream;
use tokio::task::JoinSet;

use super::seat::Seat;
use super::{Inner, Sandboxes};
use crate::sandbox::{Event, Phase, Sandbox, SandboxId, StopReason, Swept};
use crate::{Error, ErrorCode, Result};

/// How often a server looks.
const TICK: Duration = Duration::from_millis(250);
/// A sandbox that is called all the time is saved after so many times the time that others are.
const LATEST: u32 = 10;
/// Ticks between two looks at all records.
const LIFECYCLE: u32 = 40;
/// Sandboxes that are saved, stopped or destroyed by time at one time.
const SAVES: usize = 128;
/// Sandboxes of one owner that are saved at one time, so that those which take their time leave room for others'.
const SAVES_OF_ONE: usize = 32;
/// What cannot be saved is tried again after a time that doubles so often: a minute.
const LONGEST_WAIT: u32 = 6;
/// Ticks between two sweeps: an hour.
const SWEEP: u32 = 4 * 3600;

impl Sandboxes {
    /// Looks after the sandboxes until the last handle to them is dropped. For servers; a command line calls
    /// [`Sandboxes::close`] at its end and no more. Each sandbox is saved by a task of its own: what one does while it is saved
    /// keeps no other waiting.
    pub fn keep_up(&self) -> tokio::task::JoinHandle<()> {
        let weak = Arc::downgrade(&self.inner);
        tokio::spawn(async move {
            let mut ticks = 0u32;
            let (mut saves, mut lives, mut sweeps) = (JoinSet::new(), JoinSet::new(), JoinSet::new());
            loop {
                tokio::time::sleep(TICK).await;
                let Some(sandboxes) = upgrade(&weak) else { return };
                while saves.try_join_next().is_some() {}
                sandboxes.start_saving(&mut saves);
                lives.try_join_next();
                if ticks.is_multiple_of(LIFECYCLE) && lives.is_empty() {
                    lives.spawn(sandboxes.clone().look_at_all());
                }
                sweeps.try_join_next();
                if ticks.is_multiple_of(SWEEP) && sweeps.is_empty() {
                    sweeps.spawn(sandboxes.sweep_and_tell());
                }
                ticks = ticks.wrapping_add(1);
            }
        })
    }

    async fn look_at_all(self) {
        if let Err(error) = self.live().await {
            tracing::warn!(%error, "the life of the sandboxes cannot go on");
        }
    }

    async fn sweep_and_tell(self) {
        match self.sweep().await {
            Ok(swept) => tracing::debug!(?swept, "swept"),
            Err(error) => tracing::warn!(%error, "the state folder cannot be swept"),
        }
    }

    /// Begins to put down what is due, as far as its owner does not keep too many tasks busy.
    fn start_saving(&self, saves: &mut JoinSet<()>) {
        for (id, seat, entirely) in self.resting() {
            if saves.len() >= SAVES {
                return;
            }
            let Some(lane) = self.inner.saving.enter(seat.owner().clone(), SAVES_OF_ONE) else { continue };
            let sandboxes = self.clone();
            saves.spawn(async move {
                sandboxes.rest_one(id, seat, entirely).await;
                drop(lane);
            });
        }
    }

    /// Saves what nobody has called for a moment, drops interpreters that nobody has called for a while. Comes back when that
    /// is done.
    pub async fn rest(&self) {
        let due = self.resting().into_iter().map(|(id, seat, entirely)| self.rest_one(id, seat, entirely));
        stream::iter(due).buffer_unordered(SAVES).collect::<()>().await;
    }

    async fn rest_one(&self, id: SandboxId, seat: Arc<Seat>, entirely: bool) {
        let Err(error) = self.put_down(&id, &seat, entirely).await else { return };
        tracing::warn!(%error, sandbox = %id, "the sandbox cannot be saved");
        if let Ok(mut live) = seat.live.try_lock() {
            live.failed = (live.failed.0.saturating_add(1), self.inner.clock.now());
        };
    }

    /// The sandboxes that are to be put down, and whether nothing of them is to stay in memory.
    fn resting(&self) -> Vec<(SandboxId, Arc<Seat>, bool)> {
        let (now, rules) = (self.inner.clock.now(), &self.inner.rules);
        let mut seats = self.seats();
        // The one that was called last comes first, so that the others make room.
        seats.sort_by_cached_key(|(_, seat)| {
            std::cmp::Reverse(seat.live.try_lock().map(|live| live.called_at).unwrap_or(now))
        });
        let mut awake = 0;
        let mut resting = Vec::new();
        for (id, seat) in seats {
            let Ok(live) = seat.live.try_lock() else {
                awake += 1;
                continue;
            };
            // A clock that was put back would else keep everything from being saved until it is where it was.
            let put_back = live.called_at > now.after(rules.save_after);
            let quiet = |time| put_back || live.called_at.after(time) <= now;
            let crowded = live.machine.is_some() && awake >= rules.awake;
            let forgets = live.machine.as_ref().is_some_and(|machine| machine.forgets());
            let entirely = crowded || (!forgets && quiet(rules.hibernate_after));
            // Saving closes open files: who has some keeps them until it hibernates.
            let open = live.machine.as_ref().is_some_and(|machine| machine.open_files() > 0);
            let unsaved = live.changed_at.after(rules.save_after * LATEST) <= now;
            // A disk that is full is not asked four times a second whether it still is.
            let (failed, failed_at) = live.failed;
            let waits =
                failed > 0 && failed_at.after(rules.save_after * (1 << failed.min(LONGEST_WAIT))) > now;
            // Its files are not at rest, and it must stay this process's own.
            let works = live.jobs.any();
            let due = !works
                && !waits
                && (entirely || (live.changed && !open && (unsaved || quiet(rules.save_after))));
            awake += usize::from(live.machine.is_some() && (works || !entirely));
            drop(live);
            if due {
                resting.push((id, seat, entirely));
            }
        }
        resting
    }

    /// Saves everything and lets go of it, all at once. Waits for calls that are under way, for
    /// [`Rules::patience`](super::Rules::patience) in all: end them before. What cannot be saved within
    /// [`Rules::closing`](super::Rules::closing) is given up.
    ///
    /// # Errors
    /// The last failure; all are in the log. What could not be saved is lost with the process.
    pub async fn close(&self) -> Result<()> {
        let now = tokio::time::Instant::now();
        let (patience, end) = (now + self.inner.rules.patience, now + self.inner.rules.closing);
        let mut seats = self.seats();
        // What takes longest to save, an interpreter that forgets, comes last.
        seats.sort_by_cached_key(|(_, seat)| {
            let live = seat.live.try_lock();
            live.is_ok_and(|live| live.machine.as_ref().is_some_and(|machine| machine.forgets()))
        });
        let mut failed = Ok(());
        let closing = seats.into_iter().map(|(id, seat)| async move {
            let done = match tokio::time::timeout_at(end, self.close_one(&id, &seat, patience)).await {
                Ok(done) => done,
                Err(_) => Err(not_saved_in_time()),
            };
            done.inspect_err(|error| tracing::warn!(%error, sandbox = %id, "the sandbox cannot be saved"))
        });
        let mut closing = stream::iter(closing).buffer_unordered(SAVES);
        while let Some(done) = closing.next().await {
            if done.is_err() {
                failed = done;
            }
        }
        for provider in self.inner.all_providers() {
            provider.close().await;
        }
        failed
    }

    async fn close_one(
        &self,
        id: &SandboxId,
        seat: &Arc<Seat>,
        patience: tokio::time::Instant,
    ) -> Result<()> {
        match tokio::time::timeout_at(patience, seat.live.lock()).await {
            Ok(mut live) => live.jobs.end(),
            Err(_) => return Err(still_called()),
        }
        self.put_down(id, seat, true).await
    }

    /// Stops and destroys what is due by the clock.
    ///
    /// # Errors
    /// What keeps the ledger from reading. A sandbox that is in use, here or in another process, is left for the next time.
    pub async fn live(&self) -> Result<()> {
        let now = self.inner.clock.now();
        let idle = |record: &Sandbox| record.last_activity_at.after(record.spec.idle) <= now;
        let over = |record: &Sandbox| {
            let stopped_at = record.stopped_at.filter(|_| record.phase == Phase::Stopped);
            self.is_unused(record) || stopped_at.is_some_and(|at| at.after(record.spec.retention) <= now)
        };
        let running = self.inner.ledger.in_phase(Phase::Running)?;
        let all = running.into_iter().chain(self.inner.ledger.in_phase(Phase::Stopped)?);
        let looks = all.map(|sandbox| async move {
            let id = sandbox.id.clone();
            // With what has not been saved yet: a call may just have woken it.
            let record = self.view(sandbox).sandbox;
            let (ends, rests) = (over(&record), record.phase == Phase::Running && idle(&record));
            if !(ends || rests) || self.is_taken(&id) {
                return;
            }
            let done = if ends {
                self.end(record, over).await.map(drop)
            } else {
                self.put_away(record, StopReason::Idle, idle).await.map(drop)
            };
            self.note(&id, done);
        });
        stream::iter(looks).buffer_unordered(SAVES).collect::<()>().await;
        Ok(())
    }

    /// Nobody has ever called it, for too long.
    fn is_unused(&self, record: &Sandbox) -> bool {
        !record.used && record.created_at.after(self.inner.rules.unused) <= self.inner.clock.now()
    }

    /// Whether a call is in it, or another process has it.
    fn is_taken(&self, id: &SandboxId) -> bool {
        let seat = self.inner.seats().get(id).cloned();
        let ours = match seat.as_ref().map(|seat| seat.live.try_lock()) {
            Some(Err(_)) => return true,
            Some(Ok(live)) if live.jobs.any() => return true,
            Some(Ok(live)) => live.lease.is_some(),
            None => false,
        };
        !ours && !matches!(self.inner.ledger.lease(id), Ok(Some(_)))
    }

    /// Removes what no record needs.
    ///
    /// # Errors
    /// What keeps the ledger from it.
    pub async fn sweep(&self) -> Result<Swept> {
        let inner = self.inner.clone();
        let done = tokio::task::spawn_blocking(move || {
            let chunks = inner.ledger.chunks();
            inner.ledger.sweep(&|state| inner.reach(state, chunks.as_ref()))
        });
        done.await.map_err(|error| Error::internal("the sweep did not end", error))?
    }

    fn note(&self, id: &SandboxId, done: Result<()>) {
        match done {
            Ok(()) => tracing::debug!(sandbox = %id, "its time has come"),
            Err(error) => tracing::debug!(%error, sandbox = %id, "left for the next time"),
        }
    }

    fn seats(&self) -> Vec<(SandboxId, Arc<Seat>)> {
        self.inner.seats().iter().map(|(id, seat)| (id.clone(), seat.clone())).collect()
    }

    /// Saves a sandbox that rests and gives its lease back; `entirely`: nothing of it stays in memory. One that is called just now
    /// is left alone.
    async fn put_down(&self, id: &SandboxId, seat: &Arc<Seat>, entirely: bool) -> Result<()> {
        let Ok(mut live) = seat.live.clone().try_lock_owned() else { return Ok(()) };
        if live.changed {
            let Some(record) = self.record(id)? else {
                self.inner.seats().remove(id);
                return Ok(());
            };
            let generation = live.generation;
            let mut visit = self.enter(seat.clone(), live, (&record.owner, id), Event::Call).await?;
            if visit.live.changed && visit.live.generation == generation {
                visit = visit.save(|_| {}).await?;
                visit.live.failed = Default::default();
            }
            if entirely && !visit.live.changed {
                visit.live.forget();
            }
            if !entirely || visit.live.changed {
                return Ok(());
            }
        } else {
            live.forget();
            live.lease = None;
        }
        let mut seats = self.inner.seats();
        // Ours and the table's: nobody else waits for it.
        if Arc::strong_count(seat) <= 2 {
            seats.remove(id);
        }
        Ok(())
    }

    fn record(&self, id: &SandboxId) -> Result<Option<crate::sandbox::Sandbox>> {
        self.inner.ledger.by_id(id)
    }
}

fn still_called() -> Error {
    Error::new(ErrorCode::Busy, "a call that does not end keeps the sandbox from being saved")
}

fn not_saved_in_time() -> Error {
    Error::new(ErrorCode::LimitTime, "the sandbox was not saved before the end of the server")
}

fn upgrade(weak: &Weak<Inner>) -> Option<Sandboxes> {
    weak.upgrade().map(|inner| Sandboxes { inner })
}
