//! What came back from a run: everything the caller may know, already bounded.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::network::NetworkUse;
use crate::{Captured, Error, ErrorCode, Exception, Value};

/// How a run ended.
#[derive(Debug)]
pub enum Status {
    /// It ran to its end; the value of its last expression.
    Returned(Value),
    /// It raised.
    Raised(Exception),
    /// It ended itself with this exit status.
    Exited(i32),
    /// A limit or a crash ended it. The instance is gone.
    Stopped(Error),
}

/// What a run used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Wall-clock time from the start of instantiation to the outcome.
    pub wall: Duration,
    /// Largest size of all linear memories and tables together, in bytes.
    pub memory_peak: u64,
    /// Fuel that was used, if it was counted.
    pub fuel: Option<u64>,
    /// Bytes written to files.
    pub disk_written: u64,
}

/// What a kept interpreter is after a run that was stopped, or was when a run began, if what came before was lost.
/// Ordered by how much was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Recovery {
    /// As it was before the run.
    BeforeRun,
    /// As it was before an earlier run: since then saving it failed, or what came since belongs to another build of its guest.
    Earlier,
    /// Fresh.
    Fresh,
}

impl Recovery {
    /// The word on every wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BeforeRun => "before_run",
            Self::Earlier => "earlier",
            Self::Fresh => "fresh",
        }
    }
}

/// The outcome of a run.
#[derive(Debug)]
pub struct Outcome {
    /// How it ended.
    pub status: Status,
    /// Standard output.
    pub stdout: Captured,
    /// Standard error.
    pub stderr: Captured,
    /// What it used.
    pub usage: Usage,
    /// Who ran it: `wasm` or `docker`.
    pub provider: &'static str,
    /// Who would have run it, had it been able to.
    pub fallback_from: Option<&'static str>,
    /// What its interpreter is now, if it is kept and the run was stopped; or what it began with, if what came later was lost
    /// because the interpreter could not be saved.
    pub recovery: Option<Recovery>,
    /// What the caller is to know besides: more is saved than may be, so that the run could change and remove files, and not add
    /// to them.
    pub warning: Option<Error>,
    /// Files that it had open when it was saved and that could not be opened again, such as one below a mount that is no longer
    /// granted: their paths. What the program has of them is closed.
    pub closed_files: Vec<String>,
    /// Why, in a few words; only beside `recovery`, and not where the run's own end says it.
    pub recovery_reason: Option<String>,
    /// What it did with its network, if it has one.
    pub network: Option<NetworkUse>,
}

impl Outcome {
    /// True when a value came back, or the run ended itself with status 0.
    pub fn is_ok(&self) -> bool {
        matches!(self.status, Status::Returned(_) | Status::Exited(0))
    }

    /// The value, if one came back.
    pub fn value(&self) -> Option<&Value> {
        match &self.status {
            Status::Returned(value) => Some(value),
            _ => None,
        }
    }

    /// The exception, if one was raised.
    pub fn exception(&self) -> Option<&Exception> {
        match &self.status {
            Status::Raised(exception) => Some(exception),
            _ => None,
        }
    }

    /// The error that ended the run, if one did.
    pub fn stopped(&self) -> Option<&Error> {
        match &self.status {
            Status::Stopped(error) => Some(error),
            _ => None,
        }
    }

    /// Where memory ended a run that had all of `ceiling` (both in bytes), the hint does not tell to raise the limit.
    pub(crate) fn tell_ceiling(&mut self, memory: u64, ceiling: u64) {
        if let Status::Stopped(error) = &mut self.status
            && error.code() == ErrorCode::LimitMemory
            && memory >= ceiling
            && error.hint().is_some_and(|hint| hint.starts_with("raise the memory limit"))
        {
            let hint = "work on less data at a time: the limit is as high as the operator allows";
            let told = std::mem::replace(error, Error::new(ErrorCode::LimitMemory, ""));
            *error = told.with_hint(hint);
        }
    }

    /// Whether the wall-clock limit ended it.
    pub fn timed_out(&self) -> bool {
        self.stopped().is_some_and(|error| error.code() == ErrorCode::LimitTime)
    }

    /// The exit status as a shell would see it: 0, 1 after an exception, the run's own status (its low 8 bits), 124 after
    /// a time limit, 137 after another limit.
    pub fn exit_code(&self) -> i32 {
        match &self.status {
            Status::Returned(_) => 0,
            Status::Raised(_) => 1,
            Status::Exited(status) => status & 0xff,
            Status::Stopped(error) => i32::from(error.code().exit_status()),
        }
    }
}
