//! A call's way to a sandbox: its record, its queue, its lease, its machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::OwnedMutexGuard;

use super::ending::Endings;
use super::history::History;
use super::jobs::Running;
use super::{Inner, Sandboxes};
use crate::sandbox::{
    Event, Handle, Include, Lease, Machine, Name, Owner, Phase, Sandbox, SandboxId, SessionKey, Snapshot,
    StopReason, Timestamp,
};
use crate::{Error, ErrorCode, Result};

/// How long to wait before asking again for a lease that another process has.
const ASK_AGAIN: Duration = Duration::from_millis(20);

/// What this process holds of one sandbox.
pub(super) struct Seat {
    owner: Owner,
    waiting: AtomicUsize,
    /// Ends the calls that are under way when the sandbox is being destroyed or stopped.
    pub(super) endings: Arc<Endings>,
    pub(super) live: Arc<tokio::sync::Mutex<Live>>,
}

/// The part of it that one call has for itself.
#[derive(Default)]
pub(super) struct Live {
    /// Held while there may be something to save.
    pub(super) lease: Option<Lease>,
    /// Its interpreters and files, if they are in memory.
    pub(super) machine: Option<Box<dyn Machine>>,
    /// Its state as it was saved or forked, if that is in memory and `machine` is not.
    pub(super) asleep: Option<Arc<dyn Snapshot>>,
    /// The generation of the record that machine and state belong to.
    pub(super) generation: u64,
    /// Whether there is something to save.
    pub(super) changed: bool,
    /// The last runs, while it is awake.
    pub(super) history: History,
    /// The jobs that run on `machine`.
    pub(super) jobs: Running,
    /// When it was last called.
    pub(super) called_at: Timestamp,
    /// Since when there is something to save.
    pub(super) changed_at: Timestamp,
    /// How often saving it has failed since it last did not, and when it did so last.
    pub(super) failed: (u32, Timestamp),
}

impl Seat {
    pub(super) fn of(owner: Owner) -> Self {
        Self { owner, waiting: AtomicUsize::new(0), endings: Arc::default(), live: Arc::default() }
    }

    /// Whose sandbox it is.
    pub(super) fn owner(&self) -> &Owner {
        &self.owner
    }
}

impl Live {
    /// Forgets a machine that has ended by itself: what was saved last is the sandbox.
    fn bury(&mut self) {
        if self.machine.as_ref().is_some_and(|machine| machine.is_gone()) {
            tracing::warn!("a sandbox has ended by itself; it goes on from what was saved last");
            self.jobs.end();
            (self.machine, self.asleep) = (None, None);
            self.history = History::default();
        }
    }

    /// Forgets what is in memory.
    pub(super) fn forget(&mut self) {
        self.jobs.end();
        (self.machine, self.asleep, self.changed) = (None, None, false);
        self.history = History::default();
    }
}

/// One call's time with a sandbox. Dropped, also in the middle, it counts as a call.
pub(super) struct Visit {
    pub(super) inner: Arc<Inner>,
    pub(super) seat: Arc<Seat>,
    pub(super) live: OwnedMutexGuard<Live>,
    /// The record as it was when the visit began.
    pub(super) record: Sandbox,
}

impl Sandboxes {
    /// Comes to a sandbox when all earlier calls have left it, with the right to change it.
    ///
    /// # Errors
    /// `unknown_sandbox`; `invalid_state` when it does not take calls; `busy` when too many wait, or another process has it.
    pub(super) async fn visit(&self, owner: &Owner, handle: &Handle<'_>) -> Result<Visit> {
        let record = self.find(owner, handle)?;
        self.visit_record(record, Event::Call).await
    }

    /// The owner's record of a sandbox. What is no id, no name and no key is as unknown as what is not there.
    ///
    /// # Errors
    /// `unknown_sandbox`, the same for what is destroyed, another owner's, or was never there (S2-18).
    pub(super) fn find(&self, owner: &Owner, handle: &Handle<'_>) -> Result<Sandbox> {
        let can_be = match handle {
            Handle::IdOrName(text) => Name::parse(text).is_ok(),
            Handle::SessionKey(key) => SessionKey::parse(key).is_ok(),
        };
        if !can_be {
            return Err(unknown(handle));
        }
        self.inner.ledger.find(owner, handle).map_err(|error| match error.code() {
            ErrorCode::UnknownSandbox => unknown(handle),
            _ => error,
        })
    }

    /// The same for a record that has been found, if `event` may happen to it.
    pub(super) async fn visit_record(&self, record: Sandbox, event: Event) -> Result<Visit> {
        record.phase.after(event)?;
        let (owner, id) = (record.owner, record.id);
        let seat = self.inner.seat(&owner, &id);
        let live = self.wait(&seat, event).await?;
        self.enter(seat, live, (&owner, &id), event).await
    }

    /// The same for whoever has the sandbox for itself already.
    pub(super) async fn enter(
        &self,
        seat: Arc<Seat>,
        live: OwnedMutexGuard<Live>,
        (owner, id): (&Owner, &SandboxId),
        event: Event,
    ) -> Result<Visit> {
        let mut visit = Visit {
            inner: self.inner.clone(),
            record: self.inner.ledger.find(owner, &Handle::IdOrName(id.as_str()))?,
            seat,
            live,
        };
        if visit.live.lease.is_none() {
            visit.live.lease = Some(self.lease(id).await?);
            // Another process may have had it meanwhile.
            visit.record = self.inner.ledger.find(owner, &Handle::IdOrName(id.as_str()))?;
        }
        visit.record.phase.after(event)?;
        if visit.live.generation != visit.record.generation {
            visit.live.forget();
            visit.live.generation = visit.record.generation;
        }
        Ok(visit)
    }

    /// The end of a sandbox comes however many wait, and so does a caller's stop.
    async fn wait(&self, seat: &Arc<Seat>, event: Event) -> Result<OwnedMutexGuard<Live>> {
        if let Ok(live) = seat.live.clone().try_lock_owned() {
            return Ok(live);
        }
        if matches!(event, Event::Destroy | Event::Stop(StopReason::User)) {
            return Ok(seat.live.clone().lock_owned().await);
        }
        let _waiting = Waiting::enter(&seat.waiting, self.inner.rules.waiting)?;
        Ok(seat.live.clone().lock_owned().await)
    }

    async fn lease(&self, id: &SandboxId) -> Result<Lease> {
        let until = tokio::time::Instant::now() + self.inner.rules.patience;
        loop {
            if let Some(lease) = self.inner.ledger.lease(id)? {
                return Ok(lease);
            }
            if tokio::time::Instant::now() >= until {
                return Err(Error::new(ErrorCode::Busy, "another process is using the sandbox")
                    .with_hint("try again when its call has ended, or stop the other process"));
            }
            tokio::time::sleep(ASK_AGAIN).await;
        }
    }
}

impl Visit {
    /// The sandbox, awake.
    ///
    /// # Errors
    /// What keeps the provider from waking it; `state_damaged`.
    pub(super) async fn machine(&mut self) -> Result<&mut Box<dyn Machine>> {
        self.live.called_at = self.inner.clock.now();
        self.live.bury();
        if self.live.machine.is_none() {
            let state = match (self.live.asleep.take(), &self.record.state) {
                (Some(state), _) => Some(state),
                (None, Some(saved)) => Some(self.inner.load(saved)?),
                (None, None) => None,
            };
            self.live.machine = Some(self.inner.wake(&self.record.spec, state).await?);
        }
        if !self.live.changed {
            (self.live.changed, self.live.changed_at) = (true, self.live.called_at);
        }
        self.live.machine.as_mut().ok_or_else(|| Error::new(ErrorCode::Internal, "the sandbox fell asleep"))
    }

    /// Does something with the sandbox, awake, unless its calls are ended meanwhile.
    ///
    /// # Errors
    /// As [`Visit::machine`] and of `work`; `cancelled` when they were.
    pub(super) async fn run<T>(
        &mut self,
        work: impl for<'a> FnOnce(&'a mut dyn Machine) -> BoxFuture<'a, Result<T>> + Send,
    ) -> Result<T> {
        let endings = self.seat.endings.clone();
        endings.check()?;
        let machine = self.machine().await?;
        endings.unless(work(machine.as_mut())).await
    }

    /// The record with what has happened since it was saved.
    pub(super) fn now(&self) -> Sandbox {
        let mut record = self.record.clone();
        record.last_activity_at = record.last_activity_at.max(self.live.called_at);
        record.used |= self.live.called_at > Timestamp::default();
        if record.phase == Phase::Stopped && self.live.changed {
            (record.phase, record.stop_reason, record.stopped_at) = (Phase::Running, None, None);
        }
        record
    }

    /// Saves what has changed, with the record as it should be now. Goes to its end also when the caller gives up: else the
    /// record could be a generation on without this process knowing, and what comes next would count as outdated.
    ///
    /// # Errors
    /// What keeps it from being saved; it stays changed then.
    pub(super) async fn save(mut self, change: impl FnOnce(&mut Sandbox) + Send + 'static) -> Result<Self> {
        let saving = tokio::spawn(async move { self.write(change).await.map(|()| self) });
        saving.await.map_err(|error| Error::internal("saving did not end", error))?
    }

    /// Puts the sandbox back to a state, and saves that; if it cannot be, everything is as before. Goes to its end also when
    /// the caller gives up. What the state does not `include` stays.
    ///
    /// # Errors
    /// `state_damaged`, `guest_mismatch`, `cancelled` when it is being destroyed, and what keeps it from being saved.
    pub(super) async fn restore(mut self, state: Arc<dyn Snapshot>, include: Include) -> Result<Self> {
        let restoring = tokio::spawn(async move {
            self.seat.endings.check()?;
            let rest = match include {
                Include::Both => None,
                _ if self.machine().await?.forgets() => None,
                _ => Some(self.machine().await?.snapshot(Include::Both).await?),
            };
            let mut machine = self.inner.wake(&self.record.spec, rest).await?;
            machine.restore(state.as_ref()).await?;
            self.live.jobs.end();
            let before = (self.live.machine.replace(machine), self.live.changed, self.live.called_at);
            let now = self.inner.clock.now();
            (self.live.changed, self.live.called_at, self.live.changed_at) = (true, now, now);
            let written = self.write(|_| {}).await;
            if written.is_err() {
                (self.live.machine, self.live.changed, self.live.called_at) = before;
            }
            written.map(|()| self)
        });
        restoring.await.map_err(|error| Error::internal("the restore did not end", error))?
    }

    async fn write(&mut self, change: impl FnOnce(&mut Sandbox)) -> Result<()> {
        let mut record = self.now();
        change(&mut record);
        let include = if record.spec.keeps_memory { Include::Both } else { Include::Files };
        let gone = record.phase == Phase::Destroyed;
        self.live.bury();
        let wanted = self.live.changed && !gone;
        let state = match self.live.machine.as_mut() {
            // Who destroys it does not wait for what it does while it is saved.
            Some(machine) if wanted => {
                Some(self.seat.endings.unless_destroyed(machine.snapshot(include)).await?)
            }
            _ => None,
        };
        let ledger = self.inner.ledger.clone();
        let kept = state.clone();
        let saved = tokio::task::spawn_blocking(move || ledger.update(&record, kept.as_deref()))
            .await
            .map_err(|error| Error::internal("saving did not end", error))??;
        self.live.generation = saved.generation;
        // What jobs write meanwhile has still to be saved.
        self.live.changed = self.live.jobs.any();
        if gone {
            self.live.forget();
        } else if let Some(state) = state {
            self.live.asleep = Some(state);
        }
        self.record = saved;
        Ok(())
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        if !self.live.changed {
            self.live.lease = None;
        }
    }
}

/// The error for a sandbox that the owner has not.
pub(super) fn unknown(handle: &Handle<'_>) -> Error {
    let (Handle::IdOrName(text) | Handle::SessionKey(text)) = handle;
    let shown: String = text.escape_debug().take(64).collect();
    Error::new(ErrorCode::UnknownSandbox, format!("there is no sandbox `{shown}`"))
        .with_hint("sandbox_list names those that there are; one that was destroyed does not come back")
}

/// Counts one waiting call for as long as it lives.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn enter(count: &'a AtomicUsize, most: usize) -> Result<Self> {
        let before = count.fetch_add(1, Ordering::Relaxed);
        let waiting = Self(count);
        if before >= most {
            return Err(Error::new(ErrorCode::Busy, format!("{before} calls wait for the sandbox already"))
                .with_hint("try again later, or use more than one sandbox"));
        }
        Ok(waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
