//! The port to what lasts of runs: their records, their calls, and what others have answered.

use super::id::{Owner, RunId, SandboxId};
use super::ledger::Lease;
use super::run::{Run, RunCall};
use crate::connections::Decision;
use crate::{Error, ErrorCode, Result};

/// The number by which a run as a whole is answered: to end it.
pub const WHOLE_RUN: u32 = 0;

/// What somebody has answered about a call of a run, or about all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The call's number, or [`WHOLE_RUN`].
    pub number: u32,
    /// The answer. Of a whole run: why it is to end.
    pub decision: Decision,
}

/// Records of runs. One state folder, perhaps shared by several processes; what has returned survives the end of the process.
pub trait Journal: Send + Sync {
    /// Keeps a new run and its source.
    ///
    /// # Errors
    /// `quota_exceeded` when the owner has `most` that go on; what keeps it from writing.
    fn add(&self, run: &Run, source: &str, most: u32) -> Result<()>;

    /// The owner's run.
    ///
    /// # Errors
    /// `not_found`, the same for another owner's and for what was never there; `state_damaged`.
    fn find(&self, owner: &Owner, id: &RunId) -> Result<Run>;

    /// The whole source of a run.
    ///
    /// # Errors
    /// `not_found`.
    fn source(&self, id: &RunId) -> Result<String>;

    /// The owner's runs, the newest first, at most `most`.
    ///
    /// # Errors
    /// What keeps it from reading.
    fn list(&self, owner: &Owner, most: usize) -> Result<Vec<Run>>;

    /// All owners' runs that go on.
    ///
    /// # Errors
    /// What keeps it from reading.
    fn open(&self) -> Result<Vec<Run>>;

    /// The run that goes on in a sandbox. Quick.
    ///
    /// # Errors
    /// What keeps it from reading.
    fn open_in(&self, sandbox: &SandboxId) -> Result<Option<Run>>;

    /// The calls of a run, in their order, as far as they are kept.
    ///
    /// # Errors
    /// What keeps it from reading.
    fn calls(&self, id: &RunId) -> Result<Vec<RunCall>>;

    /// Replaces the record of a run, and adds or replaces calls, in one step.
    ///
    /// # Errors
    /// `not_found`; what keeps it from writing. Nothing is changed then.
    fn change(&self, run: &Run, calls: &[RunCall]) -> Result<()>;

    /// Keeps what somebody has answered. It is answered once.
    ///
    /// # Errors
    /// `conflict` when it has been answered already; what keeps it from writing.
    fn answer(&self, id: &RunId, answer: &Answer) -> Result<()>;

    /// All that somebody has answered about a run. Quick.
    ///
    /// # Errors
    /// What keeps it from reading.
    fn answers(&self, id: &RunId) -> Result<Vec<Answer>>;

    /// The right to drive a run, if no process has it.
    ///
    /// # Errors
    /// What keeps it from locking.
    fn lease_run(&self, id: &RunId) -> Result<Option<Lease>>;

    /// Removes the owner's runs that have ended, but for the last `keep`.
    ///
    /// # Errors
    /// What keeps it from writing.
    fn forget(&self, owner: &Owner, keep: usize) -> Result<()>;
}

/// Where no run can outlive its call.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoJournal;

impl NoJournal {
    fn refused<T>() -> Result<T> {
        Err(Error::new(ErrorCode::CapabilityUnavailable, "runs that outlive their call are not kept here")
            .with_hint("start it with a state folder (`--state-dir DIR`)"))
    }
}

impl Journal for NoJournal {
    fn add(&self, _: &Run, _: &str, _: u32) -> Result<()> {
        Self::refused()
    }

    fn find(&self, _: &Owner, _: &RunId) -> Result<Run> {
        Self::refused()
    }

    fn source(&self, _: &RunId) -> Result<String> {
        Self::refused()
    }

    fn list(&self, _: &Owner, _: usize) -> Result<Vec<Run>> {
        Ok(Vec::new())
    }

    fn open(&self) -> Result<Vec<Run>> {
        Ok(Vec::new())
    }

    fn open_in(&self, _: &SandboxId) -> Result<Option<Run>> {
        Ok(None)
    }

    fn calls(&self, _: &RunId) -> Result<Vec<RunCall>> {
        Ok(Vec::new())
    }

    fn change(&self, _: &Run, _: &[RunCall]) -> Result<()> {
        Self::refused()
    }

    fn answer(&self, _: &RunId, _: &Answer) -> Result<()> {
        Self::refused()
    }

    fn answers(&self, _: &RunId) -> Result<Vec<Answer>> {
        Ok(Vec::new())
    }

    fn lease_run(&self, _: &RunId) -> Result<Option<Lease>> {
        Ok(None)
    }

    fn forget(&self, _: &Owner, _: usize) -> Result<()> {
        Ok(())
    }
}
