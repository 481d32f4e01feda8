//! Time travel: the state before each of the last runs, in memory for as long as the sandbox is awake in this process.
//!
//! A machine takes the state before a run anyway, to put back what a stopped run leaves; a step only holds on to it. States share
//! what did not change between them.

use std::collections::VecDeque;
use std::sync::Arc;

use super::call::Call;
use super::{Rules, Sandboxes};
use crate::sandbox::{Handle, Include, Owner, Sandbox, Snapshot, Timestamp};
use crate::{Error, ErrorCode, GuestName, Limits, Outcome, Result, Status};

/// Letters kept of a step's code.
const CODE: usize = 200;

/// One run in a sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step {
    /// Its id: `step-` and the time of the run in milliseconds since 1970, made unique. Never used twice for a sandbox.
    pub id: String,
    /// When it began.
    pub at: Timestamp,
    /// Its language.
    pub guest: GuestName,
    /// The beginning of its code, at most 200 characters.
    pub code: String,
    /// How it ended: `returned`, `raised`, `exited` or `stopped`.
    pub ended: &'static str,
}

impl Step {
    /// What every id begins with.
    pub const PREFIX: &'static str = "step-";
}

/// The last steps, oldest first, each with the state before it.
#[derive(Default)]
pub(super) struct History {
    steps: VecDeque<(Step, Arc<dyn Snapshot>)>,
    last: u64,
}

/// A run that has begun.
pub(super) struct Begun {
    guest: GuestName,
    code: String,
    at: Timestamp,
    before: Arc<dyn Snapshot>,
}

impl Begun {
    /// The state before a run, if steps are kept and it can be taken: the sandbox rolls back.
    ///
    /// # Errors
    /// What keeps the sandbox from waking; `limit_time` when taking the state takes longer than the run may.
    pub(super) async fn new(
        call: &mut Call,
        guest: GuestName,
        code: &str,
        limits: &Limits,
    ) -> Result<Option<Self>> {
        if call.inner.rules.history == 0 || !call.record.spec.rolls_back {
            call.settle(limits.wall).await?;
            return Ok(None);
        }
        let include = if call.record.spec.keeps_memory { Include::Both } else { Include::Files };
        let at = call.inner.clock.now();
        let machine = call.machine().await?;
        if machine.forgets() {
            return Ok(None);
        }
        // Who gives up in the middle loses nothing: the next call waits for the rest.
        let taken = tokio::time::timeout(limits.wall, machine.snapshot(include)).await;
        let before = taken.map_err(|_| not_taken(limits))??;
        let code = code.chars().take(CODE).collect();
        Ok(Some(Self { guest, code, at, before }))
    }
}

fn not_taken(limits: &Limits) -> Error {
    let time = limits.wall.as_millis();
    let message = format!(
        "the wall-clock limit of {time} ms was reached before the run began: the snapshot of the state before it was not finished"
    );
    Error::new(ErrorCode::LimitTime, message).with_hint(
        "the run was not started; try again, or set a longer time-out. A snapshot takes long on a busy machine, or if it has to call code of an earlier run",
    )
}

impl History {
    /// Adds a run that has ended, and lets go of what is too much.
    pub(super) fn add(&mut self, begun: Begun, outcome: &Outcome, rules: &Rules) {
        self.last = (self.last + 1).max(begun.at.0);
        let step = Step {
            id: format!("{}{}", Step::PREFIX, self.last),
            at: begun.at,
            guest: begun.guest,
            code: begun.code,
            ended: match outcome.status {
                Status::Returned(_) => "returned",
                Status::Raised(_) => "raised",
                Status::Exited(_) => "exited",
                Status::Stopped(_) => "stopped",
            },
        };
        self.steps.push_back((step, begun.before));
        let mut bytes: u64 = self.steps.iter().map(|(_, state)| state.bytes()).sum();
        while self.steps.len() > rules.history || bytes > rules.history_bytes {
            let Some((_, state)) = self.steps.pop_front() else { break };
            bytes -= state.bytes();
        }
    }

    /// Lets go of all steps.
    pub(super) fn clear(&mut self) {
        self.steps.clear();
    }

    fn list(&self) -> Vec<Step> {
        self.steps.iter().map(|(step, _)| step.clone()).collect()
    }

    fn before(&self, id: &str) -> Option<(usize, Arc<dyn Snapshot>)> {
        let found = self.steps.iter().enumerate().find(|(_, (step, _))| step.id == id);
        found.map(|(place, (_, state))| (place, state.clone()))
    }
}

impl Sandboxes {
    /// The last runs of a sandbox that can be undone, oldest first: at most [`Rules::history`], none after it was put away.
    ///
    /// # Errors
    /// `unknown_sandbox`, `invalid_state`, `busy`.
    pub async fn history(&self, owner: &Owner, handle: &Handle<'_>) -> Result<Vec<Step>> {
        Ok(self.begin_call(owner, handle).await?.live.history.list())
    }

    /// Puts a sandbox back to where it was before a step: that step and all later changes are gone.
    ///
    /// # Errors
    /// `unknown_checkpoint` when the step, or a file that it alone has, is not there any more; the sandbox then is as it was.
    pub async fn go_back(&self, owner: &Owner, handle: &Handle<'_>, step: &str) -> Result<Sandbox> {
        self.inner.ledger.writable()?;
        let call = self.begin_call(owner, handle).await?;
        let (place, state) = call.live.history.before(step).ok_or_else(|| {
            let shown: String = step.escape_debug().take(64).collect();
            Error::new(ErrorCode::UnknownCheckpoint, format!("there is no step `{shown}` to go back to"))
                .with_hint(
                    "sandbox_list_checkpoints lists the checkpoints; steps exist only while the sandbox is awake",
                )
        })?;
        // A block that was never read since an earlier save may have been swept since then.
        let held = state.clone();
        let held = tokio::task::spawn_blocking(move || held.hold()).await;
        held.map_err(|error| Error::internal("the files of the step were not read", error))?.map_err(|error| {
            let gone = "the files of this step are no longer in the state folder";
            Error::new(ErrorCode::UnknownCheckpoint, gone)
                .with_hint("files that only a step refers to are kept until the next sweep; restore a later step, or a checkpoint")
                .with_source(error)
        })?;
        let include = if call.record.spec.keeps_memory { Include::Both } else { Include::Files };
        let mut call = call.restore(state, include).await?;
        call.live.history.steps.truncate(place);
        Ok(call.record.clone())
    }
}
