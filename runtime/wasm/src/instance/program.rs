//! Programs step by step: begun, waited with, gone on with.

use std::time::Instant;

use dormouse_core::{CallAnswer, Error, ErrorCode, Paused, Progress, Result, Status};

use super::{Instance, options};
use crate::bindings::exports::dormouse::sandbox::interpreter as contract;
use crate::calls::Eval;
use crate::disk::OwnFiles;
use crate::entry::{Allowance, Left};
use crate::task::Task;
use crate::waiting::{Resume, Start, Step};
use crate::{trap, waiting};

impl Instance {
    /// Begins a program: runs it until it ends or waits. Its callbacks answer nothing: what it waits for is the caller's to give
    /// ([`Instance::resume`]). A guest whose programs cannot wait runs it to its end.
    ///
    /// # Errors
    /// Only what a grant names and the host does not have.
    pub(crate) async fn start(&mut self, request: &Task, own: &OwnFiles) -> Result<Progress> {
        let (begin, allowance) = match self.stretch(request, own)? {
            Ok(begun) => begun,
            Err(ended) => return Ok(ended),
        };
        let (options, bounds, source) = (&options(request), &request.context.bounds, request.code.as_str());
        let stepped = match self.waiting.clone() {
            Some(doors) => {
                self.entry.call(&allowance, Start { doors: &doors, source, options, bounds }).await
            }
            None => self.entry.call(&allowance, Eval { source, options, bounds }).await.map(Step::Ended),
        };
        Ok(self.progress(stepped, request, begin))
    }

    /// Goes on with the program that waits, also in an instance that was given its memory. Of the request what it runs with counts,
    /// for this stretch; without answers its time is over.
    ///
    /// # Errors
    /// What a grant names and the host does not have; `capability_unavailable` when the guest's programs cannot wait.
    pub(crate) async fn resume(
        &mut self,
        request: &Task,
        answers: Vec<CallAnswer>,
        own: &OwnFiles,
    ) -> Result<Progress> {
        let Some(doors) = self.waiting.clone() else {
            return Err(Error::new(
                ErrorCode::CapabilityUnavailable,
                format!("programs of the {} guest cannot wait", request.guest),
            ));
        };
        let (begin, allowance) = match self.stretch(request, own)? {
            Ok(begun) => begun,
            Err(ended) => return Ok(ended),
        };
        let (answers, bounds) = (waiting::given(answers), &request.context.bounds);
        let stepped = self.entry.call(&allowance, Resume { doors: &doors, answers, bounds }).await;
        Ok(self.progress(stepped, request, begin))
    }

    /// Begins a stretch of a program, which ends or waits: when, and what it may take; or how it ended at once, for want of memory.
    ///
    /// # Errors
    /// Only what a grant names and the host does not have.
    fn stretch(
        &mut self,
        request: &Task,
        own: &OwnFiles,
    ) -> Result<std::result::Result<(Instant, Allowance), Progress>> {
        let (begin, limits) = (Instant::now(), &request.context.limits);
        self.grant(request, own)?;
        if self.arm(request) {
            return Ok(Ok((begin, Allowance::run(begin + limits.wall))));
        }
        let status = Status::Stopped(trap::held((self.memory(), self.image), request, own.is_kept()));
        Ok(Err(Progress::Ended(self.outcome(status, limits, begin).into())))
    }

    fn progress(&mut self, stepped: Result<Step, Left>, request: &Task, begin: Instant) -> Progress {
        let limits = &request.context.limits;
        let ended = match stepped {
            Ok(Step::Waits(wanted)) => {
                self.entry.host_mut().disarm();
                return Progress::Waits(Paused {
                    wanted: waiting::told(wanted),
                    stdout: self.stdout.captured(),
                    stderr: self.stderr.captured(),
                    usage: self.usage(limits, begin),
                });
            }
            Ok(Step::Ended(outcome)) => Ok(outcome),
            Err(left) => Err(left),
        };
        let status = self.came_to(ended, request);
        Progress::Ended(self.outcome(status, limits, begin).into())
    }

    /// Runs a snippet to its end, and waits with it for what it waits for.
    ///
    /// # Errors
    /// How it was ended without an outcome.
    pub(super) async fn see_through(
        &mut self,
        allowance: &Allowance,
        start: Start<'_>,
    ) -> Result<contract::Outcome, Left> {
        let (doors, bounds) = (start.doors, start.bounds);
        let mut step = self.entry.call(allowance, start).await?;
        loop {
            let answers = match step {
                Step::Ended(outcome) => return Ok(outcome),
                Step::Waits(wanted) => self.entry.wait(allowance, wanted).await?,
            };
            step = self.entry.call(allowance, Resume { doors, answers, bounds }).await?;
        }
    }
}
