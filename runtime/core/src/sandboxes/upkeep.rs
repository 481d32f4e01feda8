//! What happens with time, without a call: saving, hibernating, stopping, destroying, sweeping.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use futures::stream;
use tokio::sync::OwnedMutexGuard;
use tokio::task::JoinSet;

use super::call::{Live, Resident};
use super::saving::Way;
use super::{Inner, Sandboxes};
use crate::sandbox::{Event, Phase, Sandbox, SandboxId, StopReason, Timestamp};
use crate::{Error, Result, released};

/// How often a server looks.
pub(super) const TICK: Duration = Duration::from_millis(250);
/// Ticks between two looks at all records.
const LIFECYCLE: u32 = 40;
/// Sandboxes that are saved, stopped or destroyed by time at one time.
pub(super) const SAVES: usize = 128;
/// Ticks between two looks at runs that nobody drives.
const RUNS: u32 = 8;
/// Ticks between two looks at whether a sweep is due.
const SWEEP: u32 = 4;
/// Ticks between two looks at what processes that ended left with providers.
const TIDY: u32 = 240;
/// Time for one sweep; the next goes on with it.
const LONGEST_SWEEP: Duration = Duration::from_secs(600);

/// What is under way: each kind in tasks of its own, so that none waits for another.
#[derive(Default)]
struct Works {
    saves: JoinSet<()>,
    lives: JoinSet<()>,
    sweeps: JoinSet<()>,
    gifts: JoinSet<()>,
    tidying: JoinSet<()>,
    runs: JoinSet<()>,
}

/// A sandbox that is to be put down.
struct Resting {
    id: SandboxId,
    resident: Arc<Resident>,
    /// Whether nothing of it is to stay in memory.
    entirely: bool,
    way: Way,
}

impl Works {
    /// Sees to tasks that have ended. One that crashed is told; what it was to do is due again at the next look.
    fn see_to_ends(&mut self) {
        let all = [
            ("saving", &mut self.saves),
            ("the lifecycle", &mut self.lives),
            ("sweeping", &mut self.sweeps),
            ("giving memory back", &mut self.gifts),
            ("tidying", &mut self.tidying),
            ("looking at runs", &mut self.runs),
        ];
        for (what, tasks) in all {
            while let Some(ended) = tasks.try_join_next() {
                if let Err(error) = ended {
                    tracing::error!(%error, "{what} crashed; it is begun anew");
                }
            }
        }
    }

    fn begin(&mut self, sandboxes: &Sandboxes, ticks: u32) {
        if ticks.is_multiple_of(LIFECYCLE) && self.lives.is_empty() {
            self.lives.spawn(sandboxes.clone().look_at_all());
        }
        if ticks.is_multiple_of(RUNS) && self.runs.is_empty() {
            let own = sandboxes.clone();
            self.runs.spawn(async move { own.look_for_runs().await });
        }
        if ticks.is_multiple_of(SWEEP) && self.sweeps.is_empty() {
            self.sweeps.spawn(sandboxes.clone().sweep_and_tell());
        }
        if ticks % TIDY == SWEEP && self.tidying.is_empty() {
            let own = sandboxes.clone();
            self.tidying.spawn(async move { own.tidy_providers().await });
        }
        if self.gifts.is_empty() && sandboxes.inner.awake.has_shrunk(released::total()) {
            let provider = sandboxes.inner.provider.clone();
            self.gifts.spawn_blocking(move || provider.give_memory_back());
        }
        sandboxes.start_saving(&mut self.saves);
    }
}

impl Sandboxes {
    /// Looks after the sandboxes until the last handle to them is dropped. For servers; a command line calls
    /// [`Sandboxes::close`] at its end and no more. Each sandbox is saved by a task of its own: what one does while it is saved
    /// keeps no other waiting.
    pub fn keep_up(&self) -> tokio::task::JoinHandle<()> {
        // Nothing is free yet; from here on large blocks go back at once.
        self.inner.provider.give_memory_back();
        let weak = Arc::downgrade(&self.inner);
        tokio::spawn(Self::hand_over(weak.clone(), self.inner.leased.clone()));
        tokio::spawn(async move {
            let mut works = Works::default();
            for ticks in (0..u32::MAX).cycle() {
                tokio::time::sleep(TICK).await;
                let Some(sandboxes) = upgrade(&weak) else { return };
                works.see_to_ends();
                // What goes wrong in one look is not to be the last of all looks.
                let looked = AssertUnwindSafe(|| works.begin(&sandboxes, ticks));
                if catch_unwind(looked).is_err() {
                    tracing::error!("looking after the sandboxes crashed; it goes on");
                }
            }
        })
    }

    async fn look_at_all(self) {
        if let Err(error) = self.live().await {
            tracing::warn!(%error, "the life of the sandboxes cannot go on");
        }
    }

    async fn look_for_runs(self) {
        let own = self.clone();
        let handle = tokio::runtime::Handle::current();
        let looked = tokio::task::spawn_blocking(move || {
            let _within = handle.enter();
            own.take_over_runs()
        });
        match looked.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the runs that go on cannot be looked at"),
            Err(error) => tracing::error!(%error, "looking at the runs that go on crashed"),
        }
    }

    async fn sweep_and_tell(self) {
        let sandboxes = self.clone();
        let due = tokio::task::spawn_blocking(move || sandboxes.is_sweep_due()).await;
        if !due.unwrap_or_default() {
            return;
        }
        match self.sweep_until(Instant::now().checked_add(LONGEST_SWEEP)).await {
            Ok(swept) => tracing::debug!(?swept, "swept"),
            Err(error) => tracing::warn!(%error, "the state folder cannot be swept"),
        }
        self.sweep_kept().await;
    }

    /// Begins to put down what is due, as far as its owner does not keep too many tasks busy.
    fn start_saving(&self, saves: &mut JoinSet<()>) {
        for Resting { id, resident, entirely, way } in self.resting() {
            let Some(lane) = self.inner.saving.enter(resident.owner().clone(), way) else { continue };
            let sandboxes = self.clone();
            saves.spawn(async move {
                sandboxes.rest_one(id, resident, entirely).await;
                drop(lane);
            });
        }
        for (id, resident) in self.late_beside() {
            let Some(lane) = self.inner.saving.enter(resident.owner().clone(), Way::Here) else { continue };
            let sandboxes = self.clone();
            saves.spawn(async move {
                sandboxes.beside_one(id, resident).await;
                drop(lane);
            });
        }
    }

    /// Saves what nobody has called for a moment, drops interpreters that nobody has called for a while. Comes back when that
    /// is done.
    pub async fn rest(&self) {
        let due = self.resting().into_iter();
        let due = due.map(|Resting { id, resident, entirely, .. }| self.rest_one(id, resident, entirely));
        stream::iter(due).buffer_unordered(SAVES).collect::<()>().await;
        let late = self.late_beside().into_iter().map(|(id, resident)| self.beside_one(id, resident));
        stream::iter(late).buffer_unordered(SAVES).collect::<()>().await;
    }

    pub(super) async fn rest_one(&self, id: SandboxId, resident: Arc<Resident>, entirely: bool) {
        let begun = self.inner.clock.uptime();
        let Err(error) = self.put_down(&id, &resident, entirely).await else { return };
        tracing::warn!(%error, sandbox = %id, "the sandbox cannot be saved");
        if let Ok(mut live) = resident.live.try_lock()
            // Else it is noted already.
            && live.failed.as_ref().is_none_or(|failed| failed.at < begun)
        {
            let now = self.inner.clock.uptime();
            live.note_failed(&error, now);
        };
    }

    async fn beside_one(&self, id: SandboxId, resident: Arc<Resident>) {
        if let Err(error) = self.save_beside(resident).await {
            tracing::warn!(%error, sandbox = %id, "the sandbox cannot be saved beside its call");
        }
    }

    /// The sandboxes that are to be put down.
    fn resting(&self) -> Vec<Resting> {
        let (now, rules) = (self.inner.clock.uptime(), &self.inner.rules);
        let mut residents = self.residents();
        // The one that was called last comes first, so that the others make room.
        residents.sort_by_cached_key(|(_, resident)| {
            std::cmp::Reverse(resident.live.try_lock().map(|live| live.quiet_since).unwrap_or(now))
        });
        let heavy: HashSet<SandboxId> = self.too_heavy(None).into_iter().map(|(id, _)| id).collect();
        let mut awake = 0;
        let mut resting = Vec::new();
        for (id, resident) in residents {
            let Ok(live) = resident.live.try_lock() else {
                awake += 1;
                continue;
            };
            let quiet = |time| live.quiet_since + time <= now;
            let interpreters = live.interpreters();
            let crowded = interpreters > 0 && (awake + interpreters > rules.awake || heavy.contains(&id));
            let forgets = live.machine.as_ref().is_some_and(|machine| machine.forgets());
            let entirely = crowded || (!forgets && quiet(rules.hibernate_after));
            let unsaved = rules.is_late(live.changed_at, now);
            let waits = live.backs_off(rules, now);
            // It must stay this process's own. It is saved all the same: soon after a call, and now and then what the jobs write.
            let works = live.jobs.any();
            let entirely = entirely && !works;
            let called = !works || live.quiet_since >= live.changed_at;
            // What works on without a call is saved now and then as well.
            let moved = !works && live.works_on() && rules.is_late(live.worked_at, now);
            let due = !waits
                && (entirely || moved || (live.changed && (unsaved || (called && quiet(rules.save_after)))));
            awake += if entirely { 0 } else { interpreters };
            drop(live);
            if due {
                let way = if forgets { Way::Engine } else { Way::Here };
                resting.push(Resting { id, resident, entirely, way });
            }
        }
        resting
    }

    /// Stops and destroys what is due by the clock.
    ///
    /// # Errors
    /// What keeps the ledger from reading. A sandbox that is in use, here or in another process, is left for the next time.
    pub async fn live(&self) -> Result<()> {
        let now = self.inner.steady.now(self.inner.clock.as_ref());
        let idle = |record: &Sandbox| record.last_activity_at.after(record.spec.idle) <= now;
        let over = |record: &Sandbox| {
            let stopped_at = record.stopped_at.filter(|_| record.phase == Phase::Stopped);
            self.is_unused(record, now) || stopped_at.is_some_and(|at| at.after(record.spec.retention) <= now)
        };
        let ledger = self.inner.ledger.clone();
        let read = move || Ok((ledger.in_phase(Phase::Running)?, ledger.in_phase(Phase::Stopped)?));
        let (running, stopped) = tokio::task::spawn_blocking(read)
            .await
            .map_err(|error| Error::internal("the records were not read", error))??;
        let all = running.into_iter().chain(stopped);
        let due = Mutex::new(HashSet::new());
        let marked = |record: &Sandbox| {
            due.lock().unwrap_or_else(PoisonError::into_inner).insert(record.id.clone());
            let kept =
                if self.is_unused(record, now) { self.inner.rules.unused } else { record.spec.retention };
            self.inner.steady.mark(&record.id, kept, self.inner.clock.as_ref())
        };
        let looks = all.map(|sandbox| async move {
            let id = sandbox.id.clone();
            // With what has not been saved yet: a call may just have woken it.
            let record = self.view(sandbox).sandbox;
            let (ends, rests) = (over(&record) && marked(&record), record.phase == Phase::Running && idle(&record));
            if !(ends || rests) || self.is_taken(&id) || (ends && self.has_run(&id)) {
                return;
            }
            let done = if ends {
                if !self.opens(&record).await {
                    tracing::warn!(sandbox = %id, "its time is over, but its state cannot be opened: it is kept until it is destroyed by hand");
                    return;
                }
                self.end(record, over).await.map(drop)
            } else {
                self.put_away(record, StopReason::Idle, idle).await.map(drop)
            };
            self.note(&id, done);
        });
        stream::iter(looks).buffer_unordered(SAVES).collect::<()>().await;
        self.inner.steady.keep_marks(&due.into_inner().unwrap_or_else(PoisonError::into_inner));
        Ok(())
    }

    /// Nobody has ever called it, for too long.
    fn is_unused(&self, record: &Sandbox, now: Timestamp) -> bool {
        !record.used && record.created_at.after(self.inner.rules.unused) <= now
    }

    /// Whether a call is in it, or another process has it.
    fn is_taken(&self, id: &SandboxId) -> bool {
        let resident = self.inner.residents().get(id).cloned();
        let ours = match resident.as_ref().map(|resident| resident.live.try_lock()) {
            Some(Err(_)) => return true,
            Some(Ok(live)) if live.jobs.any() => return true,
            Some(Ok(live)) => live.lease.is_some(),
            None => false,
        };
        !ours && self.inner.ledger.is_leased(id)
    }

    /// Whether a run goes on in it, which keeps it from ending.
    fn has_run(&self, id: &SandboxId) -> bool {
        self.inner.ledger.journal().open_in(id).is_ok_and(|run| run.is_some())
    }

    fn note(&self, id: &SandboxId, done: Result<()>) {
        match done {
            Ok(()) => tracing::debug!(sandbox = %id, "its time has come"),
            Err(error) => tracing::debug!(%error, sandbox = %id, "left for the next time"),
        }
    }

    pub(super) fn residents(&self) -> Vec<(SandboxId, Arc<Resident>)> {
        self.inner.residents().iter().map(|(id, resident)| (id.clone(), resident.clone())).collect()
    }

    /// Saves a sandbox that rests and gives its lease back; `entirely`: nothing of it stays in memory. One that is called just now
    /// is left alone.
    pub(super) async fn put_down(
        &self,
        id: &SandboxId,
        resident: &Arc<Resident>,
        entirely: bool,
    ) -> Result<()> {
        match resident.live.clone().try_lock_owned() {
            Ok(live) => self.put_down_now(id, resident, live, entirely).await,
            Err(_) => Ok(()),
        }
    }

    /// The same for whoever has the sandbox for himself already.
    pub(super) async fn put_down_now(
        &self,
        id: &SandboxId,
        resident: &Arc<Resident>,
        mut live: OwnedMutexGuard<Live>,
        entirely: bool,
    ) -> Result<()> {
        // What forgets may have changed since its last call.
        let forgets = live.machine.as_ref().is_some_and(|machine| machine.forgets() && !machine.is_gone());
        if live.changed || (forgets && (entirely || live.works_on())) {
            let Some(record) = self.record(id)? else {
                self.inner.residents().remove(id);
                return Ok(());
            };
            let mut call = self.enter(resident.clone(), live, (&record.owner, id), Event::Call).await?;
            // Another process may have had it, and then nothing of it is in memory any more.
            if call.live.changed || (forgets && call.live.machine.is_some()) {
                call = call.save(|_| {}).await?;
            }
            if entirely && !call.live.changed {
                call.live.forget();
            }
            if !entirely || call.live.changed {
                return Ok(());
            }
        } else {
            live.forget();
            live.lease = None;
        }
        let mut residents = self.inner.residents();
        // Ours and the table's: nobody else waits for it.
        if Arc::strong_count(resident) <= 2 {
            residents.remove(id);
        }
        Ok(())
    }

    fn record(&self, id: &SandboxId) -> Result<Option<crate::sandbox::Sandbox>> {
        self.inner.ledger.by_id(id)
    }
}

pub(super) fn upgrade(weak: &Weak<Inner>) -> Option<Sandboxes> {
    weak.upgrade().map(|inner| Sandboxes { inner })
}
