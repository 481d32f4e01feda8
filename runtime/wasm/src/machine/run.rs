//! How a run takes its interpreter, and gives it back with what was lost.

use std::sync::Arc;

use dormouse_core::sandbox::Lost;
use dormouse_core::{GuestName, Outcome, Recovery, Result};

use super::WasmMachine;
use crate::instance::Instance;
use crate::ready::Ready;
use crate::snapshot::StoredInterpreter;

/// Why something is lost after a call that shows no outcome.
pub(super) const STOPPED: &str = "an earlier call was stopped";

/// An interpreter during a run.
pub(super) struct Run {
    ready: Arc<Ready>,
    pub(super) instance: Instance,
    /// What the next run begins with if this one is cut off.
    recovery: Recovery,
    /// The last state that was taken.
    before: Option<Arc<StoredInterpreter>>,
}

/// What the answer of a run says of the interpreter: what it is now, and why, where the run's end does not say it.
pub(super) type Told = (Option<Recovery>, Option<String>);

impl WasmMachine {
    /// The interpreter of a language, out of its place, awake, and what it goes back to if the run is stopped or given up:
    /// its state before, where that is wanted and possible. Whoever took it gives it to [`WasmMachine::end`].
    pub(super) async fn begin(&mut self, language: &GuestName) -> Result<Run> {
        let interpreter = self.interpreters.entry(language.clone()).or_default();
        interpreter.wake(&self.loader, language).await?;
        let recovery = if self.spec.rolls_back {
            interpreter.settle(language).await?;
            Recovery::BeforeRun
        } else {
            Recovery::Fresh
        };
        let before = interpreter.stored().cloned();
        if recovery == Recovery::Fresh {
            interpreter.forget();
        }
        let (ready, mut instance) = interpreter.take()?;
        instance.keep_time(&self.clock);
        interpreter.run_begins(language, recovery);
        Ok(Run { ready, instance, recovery, before })
    }

    /// Ends a run: an interpreter that can go on stays in memory. The answer for one that cannot: what the next run begins
    /// with; for one that began with less than the caller can know, what it began with, and why.
    pub(super) fn end(&mut self, language: &GuestName, run: Run) -> Told {
        let interpreter = self.interpreters.entry(language.clone()).or_default();
        // What was captured of its streams has been copied out.
        drop(run.instance.streams());
        let lost = interpreter.run_ends(language);
        if run.instance.is_whole() {
            interpreter.put_back(run.ready, run.instance, run.before);
            return told_of(lost);
        }
        let fresh = interpreter.stored().is_none() && run.recovery != Recovery::BeforeRun;
        let recovery = if fresh { Recovery::Fresh } else { run.recovery };
        match lost.filter(|lost| lost.recovery > recovery) {
            Some(lost) => told_of(Some(lost)),
            None => (Some(recovery), None),
        }
    }

    /// The answer of a run that has ended. Where there is none, the next one tells what was lost before.
    pub(super) fn answer(
        &mut self,
        language: &GuestName,
        done: Result<Outcome>,
        told: Told,
    ) -> Result<Outcome> {
        match done {
            Ok(outcome) => {
                let (recovery, recovery_reason) = told;
                Ok(Outcome { recovery, recovery_reason, ..outcome })
            }
            Err(error) => {
                self.keep(language, told);
                Err(error)
            }
        }
    }

    /// Keeps what was lost before for the next answer.
    pub(super) fn keep(&mut self, language: &GuestName, told: Told) {
        if let (Some(recovery), Some(reason)) = told {
            let lost = Lost { guest: language.clone(), recovery, reason };
            self.interpreters.entry(language.clone()).or_default().note(Some(lost));
        }
    }

    /// Ends a call that has no outcome: the next answer tells what was lost in this.
    pub(super) fn end_quietly(&mut self, language: &GuestName, run: Run) {
        let (recovery, reason) = self.end(language, run);
        let reason = reason.or_else(|| Some(STOPPED.into()));
        self.keep(language, (recovery, reason));
    }
}

/// What an answer says of what was lost before.
pub(super) fn told_of(lost: Option<Lost>) -> Told {
    lost.map_or((None, None), |lost| (Some(lost.recovery), Some(lost.reason)))
}
