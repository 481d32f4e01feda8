//! Making, looking at, stopping, resuming and destroying.

use std::time::Duration;

use super::Sandboxes;
use super::call::{Call, unknown};
use super::effective::{Effective, Withdrawn};
use super::ending::Why;
use super::unopened::is_damage;
use crate::sandbox::lifecycle::status;
use crate::sandbox::{
    Event, Handle, Name, Owner, Phase, ProviderName, Sandbox, SandboxId, SandboxSpec, SessionKey, StopReason,
    Timestamp, WarmPool,
};
use crate::{Error, ErrorCode, GuestName, Result};

/// Sandboxes that a listing gives at most.
const PAGE: usize = 1_000;
/// Characters of the id in the name of a sandbox that was given none.
const NAMED: usize = 8;

/// What a caller asks of a new sandbox.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// What it is to be called. None: something of its id.
    pub name: Option<Name>,
    /// The caller's own key: if the owner has a sandbox with it, that one is meant.
    pub session_key: Option<SessionKey>,
    /// What it is to be. None: the operator's defaults.
    pub spec: Option<SandboxSpec>,
    /// Whether its provider is the caller's own wish, so that nobody takes its place. Default: false, as for what the operator
    /// prefers.
    pub wants_provider: bool,
}

/// A sandbox, and how it is just now.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct View {
    /// Its record.
    pub sandbox: Sandbox,
    /// The languages whose interpreters are in this process's memory, sorted.
    pub awake: Vec<GuestName>,
    /// The status word of S4-14: the same in each process that has the state folder open.
    pub status: &'static str,
    /// What it has now of what it was made with. In listings no folder was looked at.
    pub effective: Effective,
}

impl Sandboxes {
    /// The record of a new sandbox, if the operator allows what is asked.
    ///
    /// # Errors
    /// As [`Sandboxes::create`], but for what only its ledger knows.
    pub(super) async fn draft(&self, owner: &Owner, asked: Asked) -> Result<Sandbox> {
        let mut spec = match asked.spec {
            Some(spec) => self.check(owner, spec)?,
            None => self.inner.rules.defaults.clone(),
        };
        let state = self.image(&spec).await?;
        let has_key = |key: &SessionKey| self.find(owner, &Handle::SessionKey(key.as_str())).is_ok();
        // A key that has a sandbox means that one, whoever runs it.
        let wants = asked.wants_provider && !asked.session_key.as_ref().is_some_and(has_key);
        self.settle_provider(&mut spec, wants).await?;
        self.may_grow(owner).await?;
        let id = SandboxId::random()?;
        let name = match asked.name {
            Some(name) if SandboxId::of(name.as_str()).is_some() => {
                return Err(Error::args_invalid("a sandbox's name cannot look like an id")
                    .with_hint("choose another name; ids are generated"));
            }
            Some(name) => name.check_new().map(|()| name)?,
            None => Name::parse(&format!("sandbox-{}", &id.as_str()[SandboxId::PREFIX.len()..][..NAMED]))?,
        };
        let now = self.inner.clock.now();
        Ok(Sandbox {
            id,
            owner: owner.clone(),
            name,
            session_key: asked.session_key,
            phase: Phase::Creating,
            stop_reason: None,
            spec,
            state,
            generation: 1,
            created_at: now,
            last_activity_at: now,
            stopped_at: None,
            used: false,
        })
    }

    /// One sandbox.
    ///
    /// # Errors
    /// `unknown_sandbox`.
    pub fn get(&self, owner: &Owner, handle: &Handle<'_>) -> Result<View> {
        let view = self.view(self.find(owner, handle)?);
        Ok(View { effective: view.effective.without_missing(), ..view })
    }

    /// The owner's sandboxes, oldest first, stopped ones as well; at most `most` (1 000) after the one that was made then
    /// and has that id.
    ///
    /// # Errors
    /// What keeps the ledger from reading.
    pub async fn list(
        &self,
        owner: &Owner,
        phase: Option<Phase>,
        after: Option<(Timestamp, &SandboxId)>,
        most: usize,
    ) -> Result<Vec<View>> {
        let (ledger, owner) = (self.inner.ledger.clone(), owner.clone());
        let after = after.map(|(at, id)| (at, id.clone()));
        let read = move || {
            let after = after.as_ref().map(|(at, id)| (*at, id));
            ledger.list(&owner, phase, after, most.min(PAGE))
        };
        let found = tokio::task::spawn_blocking(read)
            .await
            .map_err(|error| Error::internal("the sandboxes were not listed", error))??;
        Ok(found.into_iter().map(|sandbox| self.view(sandbox)).collect())
    }

    /// Puts a sandbox away: saved, nothing in memory. Waits for the calls before it, for [`Rules::stop_grace`](super::Rules::stop_grace)
    /// in all; then they are ended. Twice is as once.
    ///
    /// # Errors
    /// `unknown_sandbox`, `invalid_state`, and what keeps it from being saved.
    pub async fn stop(&self, owner: &Owner, handle: &Handle<'_>, reason: StopReason) -> Result<View> {
        self.stop_within(owner, handle, reason, self.inner.rules.stop_grace).await
    }

    /// The same with another time for the calls before it. They answer `cancelled` when it is over, as after a cancel of
    /// their own: interpreters are as they were before, and what was written to files is kept.
    ///
    /// # Errors
    /// As [`Sandboxes::stop`].
    pub async fn stop_within(
        &self,
        owner: &Owner,
        handle: &Handle<'_>,
        reason: StopReason,
        grace: Duration,
    ) -> Result<View> {
        let record = self.find(owner, handle)?;
        let event = Event::Stop(reason);
        record.phase.after(event)?;
        let (resident, turn) = self.line_up(&record, event)?;
        let number = turn.number();
        let mut coming = std::pin::pin!(self.wait(resident.clone(), turn, &record, event));
        let call = match tokio::time::timeout(grace, coming.as_mut()).await {
            Ok(call) => call?,
            Err(_) => {
                // Whoever comes after this stop wakes the sandbox.
                let _ending = resident.endings.begin(Why::Stopped, number);
                coming.await?
            }
        };
        self.set_aside(call, reason, |_| true).await?.ok_or_else(|| unknown(handle))
    }

    /// Stops a sandbox, if `due` says so of its record when no call is in the way any more.
    pub(super) async fn put_away(
        &self,
        record: Sandbox,
        reason: StopReason,
        due: impl FnOnce(&Sandbox) -> bool,
    ) -> Result<Option<View>> {
        let call = self.begin_with_record(record, Event::Stop(reason)).await?;
        self.set_aside(call, reason, due).await
    }

    async fn set_aside(
        &self,
        mut call: Call,
        reason: StopReason,
        due: impl FnOnce(&Sandbox) -> bool,
    ) -> Result<Option<View>> {
        let before = call.now();
        if !due(&before) {
            return Ok(None);
        }
        let phase = before.phase.after(Event::Stop(reason))?;
        // What they have written is to be saved.
        call.live.jobs.end_and_wait().await;
        let now = self.inner.clock.now();
        let mut call = call
            .save(move |record| {
                if record.phase != phase {
                    record.stopped_at = Some(now);
                }
                (record.phase, record.stop_reason) = (phase, Some(reason));
            })
            .await?;
        call.live.forget();
        let record = call.record.clone();
        drop(call);
        Ok(Some(self.view(record)))
    }

    /// Lets a sandbox take calls again. Any call does the same.
    ///
    /// # Errors
    /// `unknown_sandbox`, `invalid_state`.
    pub async fn resume(&self, owner: &Owner, handle: &Handle<'_>) -> Result<View> {
        let record = self.find(owner, handle)?;
        let phase = record.phase.after(Event::Resume)?;
        let call = self.begin_with_record(record, Event::Resume).await?;
        let now = self.inner.clock.now();
        let call = call
            .save(move |record| {
                record.last_activity_at = now;
                (record.phase, record.stop_reason, record.stopped_at) = (phase, None, None);
            })
            .await?;
        Ok(self.view(call.record.clone()))
    }

    /// Ends a sandbox for good, with its files and checkpoints. A call that is running is ended.
    ///
    /// # Errors
    /// `unknown_sandbox`, also the second time; `busy` when another process has it.
    pub async fn destroy(&self, owner: &Owner, handle: &Handle<'_>) -> Result<Sandbox> {
        let record = match self.find(owner, handle) {
            // Nothing can be read of it; it can be removed all the same.
            Err(error) if is_damage(error.code()) => return self.discard(owner, handle)?.ok_or(error),
            found => found?,
        };
        let resident = self.inner.resident(&record.owner, &record.id);
        // Until it is destroyed, or until that failed, no call goes on.
        let _ending = resident.endings.begin(Why::Destroyed, u64::MAX);
        let made = (record.phase == Phase::Creating).then(|| record.clone());
        match self.end(record, |_| true).await {
            // Who was making it has removed it.
            Err(error) if error.code() == ErrorCode::UnknownSandbox => made.ok_or(error),
            ended => ended?.ok_or_else(|| unknown(handle)),
        }
    }

    /// Destroys a sandbox, if `due` says so of its record when no call is in the way any more.
    pub(super) async fn end(
        &self,
        record: Sandbox,
        due: impl FnOnce(&Sandbox) -> bool,
    ) -> Result<Option<Sandbox>> {
        let id = record.id.clone();
        let call = self.begin_with_record(record, Event::Destroy).await?;
        if !due(&call.now()) {
            return Ok(None);
        }
        // Whoever waits behind this call finds no record.
        let call = call.save(|record| record.phase = Phase::Destroyed).await?;
        self.end_run_in(&id, "the sandbox was destroyed");
        let held = call.record.state.map_or(0, |state| state.bytes);
        self.inner.sweeping.removed(held, self.inner.uptime());
        self.inner.residents().remove(&id);
        self.inner.jobs.forget(&call.record.owner, &id);
        self.disconnect(&call.record);
        if let Ok(provider) = self.inner.provider_of(&call.record.spec) {
            provider.forget(&id);
        }
        Ok(Some(call.record.clone()))
    }

    /// A record with what is known of it just now.
    pub(super) fn view(&self, mut sandbox: Sandbox) -> View {
        let resident = self.inner.residents().get(&sandbox.id).cloned();
        let mut awake = Vec::new();
        let in_use = match resident.as_ref().map(|resident| resident.live.try_lock()) {
            // In the middle of a call. Which languages are awake is not known without waiting.
            Some(Err(_)) => true,
            Some(Ok(live)) if live.lease.is_some() || live.generation == sandbox.generation => {
                awake = live.machine.as_ref().map(|machine| machine.awake()).unwrap_or_default();
                sandbox.last_activity_at = sandbox.last_activity_at.max(live.called_at);
                sandbox.used |= live.changed;
                live.lease.is_some() || self.inner.ledger.is_leased(&sandbox.id)
            }
            _ => self.inner.ledger.is_leased(&sandbox.id),
        };
        // Whoever has it wakes it; its record says so when it is saved.
        if in_use && sandbox.phase == Phase::Stopped {
            (sandbox.phase, sandbox.stop_reason, sandbox.stopped_at) = (Phase::Running, None, None);
        }
        let (now, last) = (self.inner.clock.now(), sandbox.last_activity_at);
        let just_called = last <= now && now < last.after(self.inner.rules.save_after);
        let status = status(sandbox.phase, sandbox.stop_reason, in_use || just_called);
        let effective = self.inner.effective(&sandbox.spec);
        View { sandbox, awake, status, effective }
    }

    /// Refuses what would be withdrawn at once.
    fn check_mounts(&self, spec: &SandboxSpec) -> Result<()> {
        let is_mount =
            |withdrawn: &Withdrawn| matches!(withdrawn, Withdrawn::Mount(_) | Withdrawn::Writes(_));
        match self.inner.effective(spec).withdrawn.iter().find(|withdrawn| is_mount(withdrawn)) {
            Some(Withdrawn::Writes(target)) => {
                Err(Error::new(ErrorCode::WriteDenied, format!("`{target}` can only be mounted read-only")))
            }
            Some(Withdrawn::Mount(target)) => {
                Err(Error::new(ErrorCode::PathDenied, format!("no mount is offered at `{target}`"))
                    .with_hint("the operator decides which folders sandboxes see"))
            }
            _ => Ok(()),
        }
    }

    /// What a caller asks, if the operator allows it.
    fn check(&self, owner: &Owner, spec: SandboxSpec) -> Result<SandboxSpec> {
        let ceiling = &self.inner.rules.ceiling;
        let most = |what: &str, asked: u64, most: u64| match asked {
            asked if (1..=most).contains(&asked) => Ok(()),
            asked => Err(Error::args_invalid(format!("{what} of {asked} is outside 1 to {most}"))
                .with_hint("the operator sets the ceiling")),
        };
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        most("a memory limit (bytes)", spec.memory, self.inner.rules.most_memory(spec.provider))?;
        most("disk space for files (bytes)", spec.disk, ceiling.disk)?;
        most("a number of files", spec.files.into(), ceiling.files.into())?;
        most("processor time (thousandths of a core)", spec.cpu_millis.into(), ceiling.cpu_millis.into())?;
        most("a number of processes", spec.processes.into(), ceiling.processes.into())?;
        most("an idle time (ms)", ms(spec.idle), ms(ceiling.idle))?;
        most("a retention (ms)", ms(spec.retention), ms(ceiling.retention))?;
        if spec.provider == ProviderName::Wasm && spec.warm_pool == WarmPool::Require {
            return Err(Error::args_invalid(
                "`warm_pool: require` is for containers, and the sandbox is not one",
            )
            .with_hint("leave it out, or request a container with `provider: docker`"));
        }
        self.inner.admission.check_grants(&spec.grants()?)?;
        self.check_mounts(&spec)?;
        self.check_network(owner, &spec)?;
        Ok(spec)
    }
}
