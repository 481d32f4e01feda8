//! A call's way to a sandbox: its record, its queue, its lease, its machine.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::OwnedMutexGuard;

use super::awake::Weight;
use super::beside::Besides;
use super::ending::Endings;
use super::history::History;
use super::jobs::Running;
use super::room::Room;
use super::turn::{Turn, Turns};
use super::unsaved::{Failed, again, tell_fallback, tell_lost};
use super::{Clock, Inner, Rules, Sandboxes};
use crate::sandbox::{
    Event, Handle, Lease, Machine, Name, Owner, Phase, ProviderName, Sandbox, SandboxId, SessionKey,
    Snapshot, StopReason, Timestamp,
};
use crate::{Error, ErrorCode, GuestName, Result, arrival};

/// How long to wait before asking again for a lease that another process has.
pub(super) const ASK_AGAIN: Duration = Duration::from_millis(5);

/// What this process holds of one sandbox.
pub(super) struct Resident {
    owner: Owner,
    /// Whose turn it is.
    pub(super) turns: Turns,
    /// Ends the calls that are under way when the sandbox is being destroyed or stopped.
    pub(super) endings: Arc<Endings>,
    /// What is saved beside the call that is under way.
    pub(super) besides: Besides,
    pub(super) live: Arc<tokio::sync::Mutex<Live>>,
}

/// The part of it that one call has for itself.
#[derive(Default)]
pub(super) struct Live {
    /// Held while there may be something to save.
    pub(super) lease: Option<Lease>,
    /// Its interpreters and files, if they are in memory.
    pub(super) machine: Option<Box<dyn Machine>>,
    /// Whether `machine` is the first provider's in the place of the sandbox's own.
    pub(super) stands_in: bool,
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
    /// The room that `machine` takes.
    pub(super) room: Room,
    /// The memory that `machine` holds.
    pub(super) weight: Option<Weight>,
    /// When it was last called, as the system's clock said. What is decided by how long something was ago goes by uptime, because
    /// that clock can be set.
    pub(super) called_at: Timestamp,
    /// The same by uptime.
    pub(super) quiet_since: Duration,
    /// Since which uptime there is something to save.
    pub(super) changed_at: Duration,
    /// That saving it has failed since it last did not.
    pub(super) failed: Option<Failed>,
    /// The uptime when it was last saved while something worked on in it.
    pub(super) worked_at: Duration,
    /// The languages whose variables went with a machine that has ended by itself.
    pub(super) lost: Vec<GuestName>,
    /// The interpreter in which the program of a run may wait; asked of the journal when the lease is taken.
    pub(super) program: Option<GuestName>,
}

impl Resident {
    pub(super) fn of(owner: Owner) -> Self {
        let (turns, endings, besides, live) = Default::default();
        Self { owner, turns, endings, besides, live }
    }

    /// Whose sandbox it is.
    pub(super) fn owner(&self) -> &Owner {
        &self.owner
    }
}

impl Live {
    /// Forgets a machine that has ended by itself: what was saved last is the sandbox.
    pub(super) fn drop_ended(&mut self) {
        if self.machine.as_ref().is_some_and(|machine| machine.is_gone()) {
            tracing::warn!("a sandbox has ended by itself; it goes on from what was saved last");
            if self.changed {
                tell_lost();
            }
            self.lose();
            self.jobs.end();
            (self.machine, self.asleep) = (None, None);
            (self.history, self.room, self.weight) = (History::default(), Room::default(), None);
        }
    }

    /// Notes that it could not be saved.
    pub(super) fn note_failed(&mut self, error: &Error, at: Duration) {
        let count = self.failed.as_ref().map_or(0, |failed| failed.count).saturating_add(1);
        self.failed = Some(Failed { count, at, error: again(error) });
    }

    /// Notes that it is called now.
    pub(super) fn called(&mut self, clock: &dyn Clock) {
        (self.called_at, self.quiet_since) = (clock.now(), clock.uptime());
    }

    /// Whether it has just failed to be saved, and is not to be tried again yet.
    pub(super) fn backs_off(&self, rules: &Rules, now: Duration) -> bool {
        self.failed.as_ref().is_some_and(|failed| rules.backs_off((failed.count, failed.at), now))
    }

    /// Notes the variables that go with a machine that forgets.
    pub(super) fn lose(&mut self) {
        if let Some(machine) = self.machine.as_ref().filter(|machine| machine.forgets()) {
            self.lost.extend(machine.awake());
            self.lost.extend(machine.lost().into_iter().map(|lost| lost.guest));
        }
    }

    /// Whether something works on in it that no call waits for.
    pub(super) fn works_on(&self) -> bool {
        self.machine.as_ref().is_some_and(|machine| machine.works_on())
    }

    /// Forgets what is in memory.
    pub(super) fn forget(&mut self) {
        self.jobs.end();
        (self.machine, self.asleep, self.changed) = (None, None, false);
        (self.history, self.room, self.weight) = (History::default(), Room::default(), None);
    }
}

/// One call's time with a sandbox. Dropped, also in the middle, it counts as a call.
pub(super) struct Call {
    pub(super) inner: Arc<Inner>,
    pub(super) resident: Arc<Resident>,
    pub(super) live: OwnedMutexGuard<Live>,
    /// Its turn, if it is a call's.
    turn: Option<Arc<Turn>>,
    /// The record as it was when the call began.
    pub(super) record: Sandbox,
    /// Why the sandbox may only shrink in this call, if so.
    pub(super) held: Option<Error>,
    /// Whether it only looks.
    looks: bool,
    /// When a stopped sandbox was last called before this call, if it only copies what that has: it stays stopped.
    copies: Option<(Timestamp, Duration)>,
    /// Whether it has called the sandbox. Its end counts as the time of that.
    called: bool,
}

/// Whether a call can make a sandbox grow.
#[derive(Clone, Copy)]
enum Grows {
    Looks,
    Not,
    Only,
    OrShrinks,
}

impl Sandboxes {
    /// Comes to a sandbox when all earlier calls have left it, with the right to change it. When it is first polled it takes its
    /// place in the queue.
    ///
    /// # Errors
    /// `unknown_sandbox`; `invalid_state` when it does not take calls; `busy` when too many wait, or another process has it.
    pub(super) async fn begin_call(&self, owner: &Owner, handle: &Handle<'_>) -> Result<Call> {
        self.begin_any(owner, handle, Grows::Not).await
    }

    /// The same for a call that only looks, which is possible on a disk that takes nothing.
    ///
    /// # Errors
    /// As [`Sandboxes::begin_call`].
    pub(super) async fn begin_to_look(&self, owner: &Owner, handle: &Handle<'_>) -> Result<Call> {
        self.begin_any(owner, handle, Grows::Looks).await
    }

    /// The same for a call that can make the sandbox grow.
    ///
    /// # Errors
    /// As [`Sandboxes::begin_call`], and `quota_exceeded`.
    pub(super) async fn begin_to_grow(&self, owner: &Owner, handle: &Handle<'_>) -> Result<Call> {
        self.begin_any(owner, handle, Grows::Only).await
    }

    /// The same for a call that can also make it shrink: where too much is saved it may do only that.
    ///
    /// # Errors
    /// As [`Sandboxes::begin_call`].
    pub(super) async fn begin_to_run(&self, owner: &Owner, handle: &Handle<'_>) -> Result<Call> {
        self.begin_any(owner, handle, Grows::OrShrinks).await
    }

    async fn begin_any(&self, owner: &Owner, handle: &Handle<'_>, grows: Grows) -> Result<Call> {
        let record = self.find(owner, handle)?;
        if record.phase == Phase::Creating && self.remove_left(&record).await? {
            return Err(unknown(handle));
        }
        let event = if matches!(grows, Grows::Looks) { Event::Look } else { Event::Call };
        record.phase.after(event)?;
        let (resident, turn) = self.line_up(&record, event)?;
        let room = async {
            let held = match grows {
                Grows::Looks | Grows::Not => None,
                Grows::Only => self.may_grow(owner).await.map(|()| None)?,
                Grows::OrShrinks => self.held(owner).await?,
            };
            self.make_room(owner, &record.id).await.map(|()| held)
        };
        let held = resident.endings.while_waiting(turn.number(), room).await?;
        let comes_again = turn.comes_again();
        let call = self.wait(resident, turn, &record, event).await?;
        let call = call.save_if_late().await?;
        // Nobody comes between what is done in one turn.
        let mut call = if comes_again { call } else { self.let_others_in(call).await? };
        call.held = held;
        Ok(call)
    }

    /// The owner's record of a sandbox, with which calls name it as [`Handle::Found`]. What cannot be an id, a name or a key is as
    /// unknown as what is not there.
    ///
    /// # Errors
    /// `unknown_sandbox`, the same for what is destroyed, another owner's, or was never there (S2-18).
    pub fn find(&self, owner: &Owner, handle: &Handle<'_>) -> Result<Sandbox> {
        if let Handle::Found(record) = handle
            && record.owner == *owner
        {
            return Ok((*record).clone());
        }
        let can_be = match handle {
            Handle::Found(_) => true,
            Handle::IdOrName(text) => Name::parse(text).is_ok(),
            Handle::SessionKey(key) => SessionKey::parse(key).is_ok(),
        };
        if !can_be {
            return Err(unknown(handle));
        }
        let id = match handle {
            Handle::IdOrName(text) => SandboxId::of(text),
            Handle::SessionKey(_) | Handle::Found(_) => None,
        };
        let meant = id.as_ref().map_or(*handle, |id| Handle::IdOrName(id.as_str()));
        self.inner.ledger.find(owner, &meant).map_err(|error| match error.code() {
            ErrorCode::UnknownSandbox => unknown(handle),
            _ => error,
        })
    }

    /// The same for a record that has been found, if `event` may happen to it.
    pub(super) async fn begin_with_record(&self, record: Sandbox, event: Event) -> Result<Call> {
        record.phase.after(event)?;
        let (resident, turn) = self.line_up(&record, event)?;
        self.wait(resident, turn, &record, event).await
    }

    /// The last place in the queue, in one step. The end of a sandbox comes however many wait, and so does a caller's stop.
    pub(super) fn line_up(&self, record: &Sandbox, event: Event) -> Result<(Arc<Resident>, Arc<Turn>)> {
        let resident = self.inner.resident(&record.owner, &record.id);
        let comes_anyway = matches!(event, Event::Destroy | Event::Stop(StopReason::User));
        let turn = Turn::take(&resident, (!comes_anyway).then_some(self.inner.rules.waiting))?;
        arrival::entered();
        Ok((resident, turn))
    }

    /// The call, when its turn has come.
    pub(super) async fn wait(
        &self,
        resident: Arc<Resident>,
        turn: Arc<Turn>,
        record: &Sandbox,
        event: Event,
    ) -> Result<Call> {
        turn.comes().await;
        // It may just be being saved.
        let live = resident.live.clone().lock_owned().await;
        let mut call = self.enter(resident, live, (&record.owner, &record.id), event).await?;
        call.turn = Some(turn);
        Ok(call)
    }

    /// The same for whoever has the sandbox for itself already.
    pub(super) async fn enter(
        &self,
        resident: Arc<Resident>,
        live: OwnedMutexGuard<Live>,
        (owner, id): (&Owner, &SandboxId),
        event: Event,
    ) -> Result<Call> {
        let mut live = live;
        if let Some(written) = resident.besides.settled().await {
            live.take_over(&written);
        }
        let mut call = Call {
            inner: self.inner.clone(),
            record: self.inner.ledger.find(owner, &Handle::IdOrName(id.as_str()))?,
            resident,
            live,
            turn: None,
            held: None,
            looks: event == Event::Look,
            copies: None,
            called: false,
        };
        if !call.holds() {
            self.take_lease(&mut call, event).await?;
        }
        call.record.phase.after(event)?;
        call.forget_outdated();
        Ok(call)
    }

    /// Takes the right to change the sandbox. Another process may have had it meanwhile, so the record is read anew.
    pub(super) async fn take_lease(&self, call: &mut Call, event: Event) -> Result<()> {
        let (owner, id) = (call.record.owner.clone(), call.record.id.clone());
        call.live.lease = Some(self.lease(&id, event).await?);
        self.inner.leased.notify_one();
        call.record = self.inner.ledger.find(&owner, &Handle::IdOrName(id.as_str()))?;
        call.look_for_program()
    }

    async fn lease(&self, id: &SandboxId, event: Event) -> Result<Lease> {
        let ledger = &self.inner.ledger;
        let until = tokio::time::Instant::now() + self.inner.rules.patience;
        loop {
            let leased = match event {
                Event::Destroy => ledger.lease_to_remove(id),
                Event::Look => ledger.lease_to_look(id),
                _ => ledger.lease(id),
            };
            if let Some(lease) = leased? {
                return Ok(lease);
            }
            if tokio::time::Instant::now() >= until {
                return Err(Error::new(ErrorCode::Busy, "another process is using the sandbox")
                    .with_hint("try again when its call or its job has ended, or stop the other process"));
            }
            ledger.want(id);
            tokio::time::sleep(ASK_AGAIN).await;
        }
    }
}

impl Call {
    /// Whether this process has the right to change the sandbox.
    fn holds(&self) -> bool {
        self.live.lease.as_ref().is_some_and(|lease| lease.holds())
    }

    /// Forgets what is in memory where another process has changed the sandbox since.
    pub(super) fn forget_outdated(&mut self) {
        if self.live.generation != self.record.generation {
            self.live.lose();
            self.live.forget();
            self.live.generation = self.record.generation;
        }
    }

    /// The sandbox, awake.
    ///
    /// # Errors
    /// What keeps the provider from waking it; `state_damaged`.
    pub(super) async fn machine(&mut self) -> Result<&mut Box<dyn Machine>> {
        self.called = true;
        self.live.called(self.inner.clock.as_ref());
        self.live.drop_ended();
        if self.live.machine.is_none()
            && let Err(error) = self.wake().await
        {
            self.note_call().await;
            return Err(error);
        }
        if let Some(wanted) = self.stood_in_for() {
            tell_fallback(wanted);
        }
        if !self.live.changed {
            // Where nothing can be saved only what changes nothing comes this far. And who only looks has nothing to save that is
            // worth a disk's last room: that it was called.
            let saves = self.inner.ledger.writable().is_ok() && self.holds();
            let saves = saves && !(self.looks && self.is_doubtful());
            (self.live.changed, self.live.changed_at) = (saves, self.live.quiet_since);
        }
        let machine = self.live.machine.as_mut().ok_or_else(asleep)?;
        if machine.hold(self.held.is_some()) {
            return Ok(machine);
        }
        Err(self.held.take().unwrap_or_else(|| Error::new(ErrorCode::Internal, "the sandbox is held")))
    }

    /// The provider in whose place another one has the sandbox awake.
    fn stood_in_for(&self) -> Option<ProviderName> {
        let spec = &self.record.spec;
        spec.fallback_from.or(self.live.stands_in.then_some(spec.provider))
    }

    async fn wake(&mut self) -> Result<()> {
        self.room_to_wake().await?;
        // It stays until there is a machine: it may be the only place where the last changes are.
        let state = match (self.live.asleep.clone(), &self.record.state) {
            (Some(state), _) => Some(state),
            (None, Some(saved)) => Some(self.inner.clone().loaded(*saved).await?),
            (None, None) => None,
        };
        let (mut machine, stands_in) = self.inner.wake(&self.record, state).await?;
        machine.lose(&std::mem::take(&mut self.live.lost));
        (self.live.machine, self.live.asleep, self.live.stands_in) = (Some(machine), None, stands_in);
        Ok(())
    }

    /// Does something with the sandbox, awake, unless its calls are ended meanwhile.
    ///
    /// # Errors
    /// As [`Call::machine`] and of `work`; `cancelled` when they were.
    pub(super) async fn run<T>(
        &mut self,
        work: impl for<'a> FnOnce(&'a mut dyn Machine) -> BoxFuture<'a, Result<T>> + Send,
    ) -> Result<T> {
        let endings = self.resident.endings.clone();
        endings.check()?;
        self.machine().await?;
        self.take_over().await;
        let _beside = self.offer_beside();
        let machine = self.live.machine.as_mut().ok_or_else(asleep)?;
        endings.unless(work(machine.as_mut())).await
    }

    /// From here on the call copies the state that the sandbox has, and does nothing in it. One that is stopped stays so, and
    /// its times as they are.
    pub(super) fn only_copies(&mut self) {
        let rests = self.now().phase == Phase::Stopped;
        self.copies = rests.then_some((self.live.called_at, self.live.quiet_since));
    }

    /// The record with what has happened since it was saved.
    pub(super) fn now(&self) -> Sandbox {
        let mut record = self.record.clone();
        if self.copies.is_some() {
            record.used = true;
            return record;
        }
        record.last_activity_at = record.last_activity_at.max(self.live.called_at);
        record.used |= self.live.called_at > Timestamp::default();
        if record.phase == Phase::Stopped && self.live.changed {
            (record.phase, record.stop_reason, record.stopped_at) = (Phase::Running, None, None);
        }
        record
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if let Some(written) = self.resident.besides.settled_now() {
            self.live.take_over(&written);
        }
        match self.copies {
            // What is in its record is all that there is.
            Some(before) => {
                self.live.forget();
                (self.live.called_at, self.live.quiet_since) = before;
            }
            None if self.called => self.live.called(self.inner.clock.as_ref()),
            None => {}
        }
        self.live.settle_room();
        self.live.weigh(&self.inner.awake, &self.record.owner);
        if !(self.live.changed || self.live.works_on()) {
            self.live.lease = None;
        }
    }
}

fn asleep() -> Error {
    Error::new(ErrorCode::Internal, "the sandbox fell asleep")
}

/// The error for a sandbox that the owner has not.
pub(super) fn unknown(handle: &Handle<'_>) -> Error {
    let shown: String = handle.text().escape_debug().take(64).collect();
    Error::new(ErrorCode::UnknownSandbox, format!("there is no sandbox `{shown}`"))
        .with_hint("sandbox_list lists the existing ones; a destroyed sandbox does not come back")
}
