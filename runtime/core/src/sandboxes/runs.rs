//! Runs that outlive their call: started, looked at, answered, ended. Whoever has a run's lease drives it (`drive`).
//!
//! A program computes in its sandbox like every call, in a turn of its own. Where it waits, the sandbox and the run's journal are
//! saved in one step, and only then are its calls begun: what was begun is known, and no call is made twice. While it waits it
//! takes no memory.

mod approving;
mod blocking;
mod calls;
mod drive;
mod owners;
mod stretch;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use self::drive::Driver;
use self::owners::Owners;
use super::Sandboxes;
use super::call::Call;
use crate::connections::{Caller, Decision};
use crate::sandbox::{
    Answer, CallState, Handle, Owner, Run, RunCall, RunEnd, RunId, RunLimits, RunState, RunUsage, SandboxId,
    Tail, WHOLE_RUN,
};
use crate::{Callbacks, Error, ErrorCode, EvalRequest, GuestName, MeteredModel, ModelUsage, Result};

/// Runs that have ended and are kept for each owner.
const KEPT: usize = 1_000;
/// Largest source of a run, in bytes (1 MiB).
const MAX_SOURCE: usize = 1 << 20;
/// How often whoever waits for a run of another process looks.
const LOOK: Duration = Duration::from_millis(200);

/// Whoever gives runs what they can call: asked anew in every process that drives one.
pub trait RunTools: Send + Sync {
    /// The functions of one run, and the model among them, of which it has spent this already.
    fn callbacks(&self, caller: &Caller, spent: ModelUsage) -> (Callbacks, Option<MeteredModel>);

    /// The servers whose tools are among them, sorted. Default none.
    fn servers(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The runs that this process drives.
#[derive(Default)]
pub(super) struct Runs {
    tools: RwLock<Option<Arc<dyn RunTools>>>,
    driven: Mutex<HashMap<RunId, Arc<Notify>>>,
    /// Told whenever something of any run has changed here.
    changed: Notify,
    /// Cancelled when no run is to be driven here any more.
    closing: CancellationToken,
    owners: Owners,
}

impl Runs {
    fn driven(&self) -> MutexGuard<'_, HashMap<RunId, Arc<Notify>>> {
        self.driven.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the driver of a run, if it is here, that somebody has answered.
    fn wake(&self, id: &RunId) {
        if let Some(driver) = self.driven().get(id) {
            driver.notify_one();
        }
    }

    /// The servers whose tools runs can call here.
    fn servers(&self) -> Vec<String> {
        let tools = self.tools.read().unwrap_or_else(PoisonError::into_inner).clone();
        tools.map(|tools| tools.servers()).unwrap_or_default()
    }

    /// What a run can call.
    fn callbacks(&self, caller: &Caller, spent: ModelUsage) -> (Callbacks, Option<MeteredModel>) {
        let tools = self.tools.read().unwrap_or_else(PoisonError::into_inner).clone();
        tools.map(|tools| tools.callbacks(caller, spent)).unwrap_or_default()
    }
}

impl Sandboxes {
    /// Lets runs that outlive their call use these tools, in the place of those that were given before.
    pub fn serve_runs(&self, tools: Arc<dyn RunTools>) {
        *self.inner.runs.tools.write().unwrap_or_else(PoisonError::into_inner) = Some(tools);
    }

    /// Starts a program that goes on when nobody waits for it, in this process or the next. Of the request the source, its language
    /// and name, standard input of none, and the limits of one stretch count.
    ///
    /// # Errors
    /// As [`Sandboxes::eval`]; `invalid_state` when a run goes on in the sandbox already; `too_large`; `quota_exceeded`, also when
    /// the owner's runs have taken what they may ([`Rules::run_budget`](super::Rules::run_budget));
    /// `capability_unavailable` without a state folder.
    pub async fn start_run(
        &self,
        owner: &Owner,
        handle: &Handle<'_>,
        mut request: EvalRequest,
        limits: RunLimits,
    ) -> Result<Run> {
        self.inner.ledger.writable()?;
        self.inner.admission.admit(&mut request)?;
        if request.code.len() > MAX_SOURCE {
            let message =
                format!("the source has {} bytes, at most {MAX_SOURCE} are taken", request.code.len());
            return Err(Error::new(ErrorCode::TooLarge, message)
                .with_hint("put data into a file of the sandbox instead of the source text"));
        }
        self.within_budget(owner)?;
        let record = self.find(owner, handle)?;
        if let Some(other) = self.inner.ledger.journal().open_in(&record.id)? {
            return Err(taken(&other));
        }
        let now = self.inner.clock.now();
        let run = Run {
            id: RunId::random()?,
            owner: owner.clone(),
            sandbox: record.id.clone(),
            language: request.language.clone(),
            name: request.name.clone(),
            beginning: Run::beginning_of(&request.code),
            state: RunState::Running,
            created_at: now,
            changed_at: now,
            due_at: None,
            wait: None,
            clock: None,
            servers: self.inner.runs.servers(),
            reaches: self.reaches(&record.spec),
            limits,
            stretch: request.context.limits.wall,
            usage: RunUsage::default(),
            network: None,
            tainted: false,
            stdout: Tail::default(),
            stderr: Tail::default(),
            end: None,
        };
        let most = self.inner.rules.runs;
        let (ledger, kept, source) = (self.inner.ledger.clone(), run.clone(), request.code);
        let add = move || {
            ledger.journal().forget(&kept.owner, KEPT)?;
            ledger.journal().add(&kept, &source, most)
        };
        blocked(add).await?;
        self.take_over_run(&run)?;
        Ok(run)
    }

    /// Refuses what an owner's runs have used up.
    ///
    /// # Errors
    /// `quota_exceeded`.
    fn within_budget(&self, owner: &Owner) -> Result<()> {
        let (inner, uptime) = (&self.inner, self.inner.clock.uptime());
        let Some(what) = inner.runs.owners.used_up(owner, &inner.rules.run_budget, uptime) else {
            return Ok(());
        };
        let message = format!("the owner's runs have taken their {what} of 24 hours");
        Err(Error::new(ErrorCode::QuotaExceeded, message)
            .with_hint("wait for the end of the 24 hours, or have the operator raise the quota"))
    }

    /// The owner's run.
    ///
    /// # Errors
    /// `not_found`, the same for another owner's and what was never there.
    pub fn run(&self, owner: &Owner, id: &str) -> Result<Run> {
        let Some(known) = RunId::parse(id) else { return Err(unknown(id)) };
        let mut run = self.inner.ledger.journal().find(owner, &known)?;
        if run.state == RunState::Asking && self.open_questions(&run)?.is_empty() {
            // Whoever drives it has not seen the answer yet.
            run.state = RunState::Waiting;
        }
        Ok(run)
    }

    /// The owner's runs, the newest first, at most `most`.
    ///
    /// # Errors
    /// What keeps the journal from reading.
    pub fn runs(&self, owner: &Owner, most: usize) -> Result<Vec<Run>> {
        self.inner.ledger.journal().list(owner, most)
    }

    /// The calls of a run, in their order.
    ///
    /// # Errors
    /// As [`Sandboxes::run`].
    pub fn run_calls(&self, owner: &Owner, id: &str) -> Result<Vec<RunCall>> {
        let run = self.run(owner, id)?;
        self.inner.ledger.journal().calls(&run.id)
    }

    /// The calls of a run that somebody is asked about and nobody has answered, in their order.
    ///
    /// # Errors
    /// As [`Sandboxes::run`].
    pub fn run_questions(&self, owner: &Owner, id: &str) -> Result<Vec<RunCall>> {
        let run = self.run(owner, id)?;
        self.open_questions(&run)
    }

    fn open_questions(&self, run: &Run) -> Result<Vec<RunCall>> {
        let journal = self.inner.ledger.journal();
        let answers = journal.answers(&run.id)?;
        let mut calls = journal.calls(&run.id)?;
        let is_answered = |call: &RunCall| answers.iter().any(|answer| answer.number == call.number);
        calls.retain(|call| run.state.is_open() && call.state == CallState::Asking && !is_answered(call));
        Ok(calls)
    }

    /// Waits until a run has ended or asks for something, at most so long.
    ///
    /// # Errors
    /// As [`Sandboxes::run`].
    pub async fn wait_for_run(&self, owner: &Owner, id: &str, most: Duration) -> Result<Run> {
        let until = tokio::time::Instant::now() + most;
        loop {
            let changed = self.inner.runs.changed.notified();
            let run = self.run(owner, id)?;
            if matches!(run.state, RunState::Asking)
                || !run.state.is_open()
                || tokio::time::Instant::now() >= until
            {
                return Ok(run);
            }
            let next = until.min(tokio::time::Instant::now() + LOOK);
            let _ = tokio::time::timeout_at(next, changed).await;
        }
    }

    /// Ends a run. Calls that are under way are given up; what they did stays done.
    ///
    /// # Errors
    /// As [`Sandboxes::run`]; `invalid_state` for one that has ended.
    pub async fn cancel_run(&self, owner: &Owner, id: &str, why: &str) -> Result<Run> {
        let run = self.run(owner, id)?;
        if !run.state.is_open() {
            return Err(ended(&run));
        }
        self.ask_to_end(&run.id, why)?;
        match self.take_over_run(&run) {
            // Nobody drives it, and nobody needs its servers to end it.
            Err(error) if error.code() == ErrorCode::CapabilityUnavailable => {
                self.end_undriven(&run, why).await?
            }
            taken => taken?,
        }
        let run = self.wait_until_closed(owner, id).await?;
        match run.state.is_open() {
            true => Err(Error::new(ErrorCode::Busy, format!("the run `{}` has not ended yet", run.id))
                .with_hint("whoever drives it has been asked to; look at it again")),
            false => Ok(run),
        }
    }

    /// Ends a run that no process drives.
    async fn end_undriven(&self, run: &Run, why: &str) -> Result<()> {
        let Some(_lease) = self.inner.ledger.journal().lease_run(&run.id)? else { return Ok(()) };
        let (ledger, mut run, now) = (self.inner.ledger.clone(), run.clone(), self.inner.clock.now());
        run.end(RunState::Cancelled, RunEnd::by(&Error::new(ErrorCode::Cancelled, why)), now);
        let given_up = |call: RunCall| RunCall { state: CallState::Cancelled, ended_at: Some(now), ..call };
        let open = ledger.journal().calls(&run.id)?.into_iter().filter(RunCall::is_open);
        let rows: Vec<RunCall> = open.map(given_up).collect();
        blocked(move || ledger.journal().change(&run, &rows)).await
    }

    /// Answers whether a call of a run may be made.
    ///
    /// # Errors
    /// As [`Sandboxes::run`]; `not_found` for a call that nobody is asked about; `conflict` when it has been answered.
    pub fn decide(&self, owner: &Owner, id: &str, number: u32, decision: Decision) -> Result<Run> {
        let run = self.run(owner, id)?;
        if !run.state.is_open() {
            return Err(ended(&run));
        }
        let journal = self.inner.ledger.journal();
        let asked = journal.calls(&run.id)?.into_iter().find(|call| call.number == number);
        let Some(call) = asked.filter(|call| call.question.is_some()) else {
            let message = format!("nobody is asked about call {number} of the run `{}`", run.id);
            return Err(Error::new(ErrorCode::NotFound, message)
                .with_hint("look at the run: it lists its calls and those that are asked about"));
        };
        if call.begun_at.after(run.limits.approval) < self.inner.clock.now() {
            let message = format!(
                "the time for allowing call {number} of the run `{}` is over (limit_approval)",
                run.id
            );
            return Err(Error::new(ErrorCode::InvalidState, message)
                .with_hint("start the program again, perhaps with more time for approvals"));
        }
        journal.answer(&run.id, &Answer { number, decision })?;
        self.inner.runs.wake(&run.id);
        match self.take_over_run(&run) {
            // The answer is kept for whoever can go on with it.
            Err(error) if error.code() == ErrorCode::CapabilityUnavailable => {}
            taken => taken?,
        }
        Ok(run)
    }

    /// Lets go of all runs that this process drives: they go on elsewhere from where they waited last. None is driven here from
    /// then on. Before the servers that they use are ended.
    pub async fn stop_runs(&self) {
        self.inner.runs.closing.cancel();
        for _ in 0..50 {
            let changed = self.inner.runs.changed.notified();
            if self.inner.runs.driven().is_empty() {
                return;
            }
            let _ = tokio::time::timeout(Duration::from_millis(50), changed).await;
        }
        tracing::warn!("a run that this process drives has not been let go of");
    }

    /// Drives all runs that go on and that no process drives. For servers, now and then.
    ///
    /// # Errors
    /// What keeps the journal from reading.
    pub fn take_over_runs(&self) -> Result<()> {
        for run in self.inner.ledger.journal().open()? {
            match self.take_over_run(&run) {
                // Another process may have its servers.
                Err(error) if error.code() == ErrorCode::CapabilityUnavailable => {
                    tracing::debug!(%error, run = %run.id, "the run is left to another process");
                }
                Err(error) => tracing::warn!(%error, run = %run.id, "the run cannot go on"),
                Ok(()) => {}
            }
        }
        Ok(())
    }

    /// Drives a run from here on, unless some process does.
    ///
    /// # Errors
    /// `capability_unavailable` when one of its servers is not connected here, or it lacks its network; what keeps the journal from reading or locking.
    pub fn take_over_run(&self, run: &Run) -> Result<()> {
        let runs = &self.inner.runs;
        if runs.closing.is_cancelled() || runs.driven().contains_key(&run.id) {
            return Ok(());
        }
        let Some(lease) = self.inner.ledger.journal().lease_run(&run.id)? else { return Ok(()) };
        let here = runs.servers();
        if let Some(lacking) = run.servers.iter().find(|server| !here.contains(server)) {
            return Err(not_connected(run, lacking));
        }
        if run.reaches
            && !self
                .get(&run.owner, &Handle::IdOrName(run.sandbox.as_str()))
                .is_ok_and(|found| self.reaches(&found.sandbox.spec))
        {
            return Err(without_network(run));
        }
        let woken = Arc::new(Notify::new());
        let driver = Driver::new(self, run, lease, woken.clone())?;
        runs.driven().insert(run.id.clone(), woken);
        tokio::spawn(driver.drive());
        Ok(())
    }

    /// Asks whoever drives a run to end it.
    fn ask_to_end(&self, id: &RunId, why: &str) -> Result<()> {
        let answer = Answer { number: WHOLE_RUN, decision: Decision::Denied(why.into()) };
        match self.inner.ledger.journal().answer(id, &answer) {
            Err(error) if error.code() == ErrorCode::Conflict => {}
            other => other?,
        }
        self.inner.runs.wake(id);
        Ok(())
    }

    async fn wait_until_closed(&self, owner: &Owner, id: &str) -> Result<Run> {
        for _ in 0..25 {
            let changed = self.inner.runs.changed.notified();
            let run = self.run(owner, id)?;
            if !run.state.is_open() {
                return Ok(run);
            }
            let _ = tokio::time::timeout(LOOK, changed).await;
        }
        self.run(owner, id)
    }

    /// Ends the run that goes on in a sandbox, whose program is gone: the sandbox was put back to another state.
    pub(super) fn end_run_in(&self, sandbox: &SandboxId, why: &str) {
        let ended = match self.inner.ledger.journal().open_in(sandbox) {
            Ok(Some(run)) => self.ask_to_end(&run.id, why),
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = ended {
            tracing::warn!(%error, %sandbox, "a run of the sandbox could not be ended");
        }
    }
}

impl Call {
    /// Looks whether the program of a run waits in the sandbox: whoever has the lease knows it from then on.
    ///
    /// # Errors
    /// What keeps the journal from reading.
    pub(super) fn look_for_program(&mut self) -> Result<()> {
        let run = self.inner.ledger.journal().open_in(&self.record.id)?;
        self.live.program = run.map(|run| GuestName::from(&run.language).runs_as());
        Ok(())
    }

    /// Refuses what would end the program of a run that waits in the sandbox.
    ///
    /// # Errors
    /// `invalid_state` naming the run.
    pub(super) fn beside_no_run(&mut self, guest: &GuestName) -> Result<()> {
        if self.live.program.as_ref() != Some(&guest.runs_as()) {
            return Ok(());
        }
        match self.inner.ledger.journal().open_in(&self.record.id)? {
            Some(run) => Err(taken(&run)),
            None => {
                self.live.program = None;
                Ok(())
            }
        }
    }
}

fn taken(run: &Run) -> Error {
    Error::new(ErrorCode::InvalidState, format!("the program of the run `{}` goes on in the sandbox", run.id))
        .with_hint("wait for its end or cancel it, or work in a fork of the sandbox; a sandbox has one run at a time, and snippets of other languages")
}

fn not_connected(run: &Run, server: &str) -> Error {
    let message = format!("the run `{}` uses the server `{server}`, which is not connected here", run.id);
    Error::new(ErrorCode::CapabilityUnavailable, message)
        .with_hint("connect the servers that it was started with (`--connect FILE`): it waits until then")
}

fn without_network(run: &Run) -> Error {
    let message = format!("the run `{}` uses a network, which there is none of here", run.id);
    Error::new(ErrorCode::CapabilityUnavailable, message).with_hint(
        "name the rules that it was started with (`--network FILE`, `--allow-net HOST`): it waits until then",
    )
}

fn ended(run: &Run) -> Error {
    Error::new(ErrorCode::InvalidState, format!("the run `{}` has ended: {}", run.id, run.state.as_str()))
        .with_hint("start another one")
}

fn unknown(id: &str) -> Error {
    let shown: String = id.escape_debug().take(64).collect();
    Error::new(ErrorCode::NotFound, format!("there is no run `{shown}`"))
        .with_hint("list the runs: each owner's are its own, and the last 1000 are kept")
}

/// Does what may wait for a disk.
async fn blocked<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| Error::internal("the journal did not answer", error))?
}
