//! Snippets: made ready, run to their end, or step by step as programs that wait.

use std::time::Instant;

use dormouse_core::{CallAnswer, EvalRequest, GuestName, Outcome, Progress, Result};

use super::WasmMachine;
use super::run::Run;
use crate::engine::Metering;
use crate::instance::Spent;
use crate::plain;
use crate::task::Task;
use crate::typescript::Prepared;

/// A run that is about to begin.
pub(super) struct Begun {
    pub(super) task: Task,
    pub(super) at: Instant,
    /// Whether its source is not the one that the caller wrote.
    is_compiled: bool,
}

impl WasmMachine {
    /// What a snippet is run with, and its interpreter; or how it ended before it began.
    pub(super) async fn prepared(
        &mut self,
        request: EvalRequest,
    ) -> Result<std::result::Result<(Begun, Run), Box<Outcome>>> {
        let mut task = self.adopt(request.into());
        let (mut spent, is_compiled) = (Spent::default(), task.guest == GuestName::typescript());
        let mut written = None;
        if is_compiled {
            let reach = |_: &Task| self.reach.clone();
            match self.transpilers.prepare(task, Metering::Epoch, reach).await? {
                Prepared::Request { task: compiled, spent: used, source } => {
                    (task, spent) = (*compiled, used);
                    written = task.context.callbacks.looks_ahead().then(|| source.clone());
                    self.sources.add(source, &task.code);
                }
                Prepared::Ended(outcome) => return Ok(Err(outcome)),
            }
        }
        let guest = task.guest.clone();
        self.prepare(&guest).await?;
        let mut at = spent.begin();
        if !self.spec.keeps_memory {
            self.interpreters.remove(&guest);
        }
        let mut run = self.begin(&guest).await?;
        let (own, looking) = (self.own(), (&*self.transpilers, Metering::Epoch));
        let looked = plain::refused(looking, (&task, written.as_deref()), &mut run.instance, &own);
        let looked = self.share.hold(Instant::now() + task.context.limits.wall, looked).await;
        if let Some(refused) = looked.transpose() {
            let told = self.end(&guest, run);
            return self.answer(&guest, refused, told).map(|outcome| Err(Box::new(outcome)));
        }
        if task.context.callbacks.looks_ahead() {
            at = spent.begin();
        }
        run.instance.charge(spent);
        if guest == GuestName::javascript() {
            run.instance.compile_with(self.compiler(&task.context.limits));
        }
        Ok(Ok((Begun { task, at, is_compiled }, run)))
    }

    /// Begins a program that may wait.
    ///
    /// # Errors
    /// As [`Machine::advance`](dormouse_core::sandbox::Machine::advance).
    pub(super) async fn begin_program(&mut self, request: EvalRequest) -> Result<Progress> {
        let (begun, mut run) = match self.prepared(request).await? {
            Ok(prepared) => prepared,
            Err(ended) => return Ok(Progress::Ended(ended)),
        };
        let own = self.own();
        let running = run.instance.start(&begun.task, &own);
        let done = self.share.hold(begun.at + begun.task.context.limits.wall, running).await;
        self.stepped(&begun, run, done)
    }

    /// Goes on with the program that waits.
    ///
    /// # Errors
    /// As [`Machine::advance`](dormouse_core::sandbox::Machine::advance).
    pub(super) async fn resume_program(
        &mut self,
        request: EvalRequest,
        answers: Vec<CallAnswer>,
    ) -> Result<Progress> {
        let task = self.adopt(EvalRequest { language: request.language.runs_as(), ..request }.into());
        let (guest, own, at) = (task.guest.clone(), self.own(), Instant::now());
        let mut run = self.begin(&guest).await?;
        let running = run.instance.resume(&task, answers, &own);
        let done = self.share.hold(at + task.context.limits.wall, running).await;
        let begun = Begun { task, at, is_compiled: true };
        self.stepped(&begun, run, done)
    }

    /// The answer of a run that has come to its end.
    pub(super) fn ended(&mut self, begun: &Begun, run: Run, done: Result<Outcome>) -> Result<Outcome> {
        let guest = &begun.task.guest;
        let told = self.end(guest, run);
        let mut outcome = self.answer(guest, done, told)?;
        if *guest == GuestName::javascript() {
            self.sources.show((!begun.is_compiled).then_some(&*begun.task.code), &mut outcome);
        }
        Ok(outcome)
    }

    /// The same of a program that may wait.
    fn stepped(&mut self, begun: &Begun, run: Run, done: Result<Progress>) -> Result<Progress> {
        match done {
            Ok(Progress::Ended(outcome)) => {
                self.ended(begun, run, Ok(*outcome)).map(|outcome| Progress::Ended(outcome.into()))
            }
            Ok(Progress::Waits(paused)) => {
                let told = self.end(&begun.task.guest, run);
                self.keep(&begun.task.guest, told);
                Ok(Progress::Waits(paused))
            }
            Err(error) => {
                let told = self.end(&begun.task.guest, run);
                self.keep(&begun.task.guest, told);
                Err(error)
            }
        }
    }
}
