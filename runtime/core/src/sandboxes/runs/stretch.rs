//! One stretch of a program: a call of its sandbox, saved together with the run's journal.

use std::sync::Arc;
use std::time::Duration;

use super::super::Sandboxes;
use super::super::providers::with_fallback;
use crate::callback::AnswerFile;
use crate::connections::Decision;
use crate::network::Outgoing;
use crate::sandbox::{Answer, Handle, Run, RunCall, WHOLE_RUN};
use crate::{CallAnswer, Error, ErrorCode, EvalRequest, GuestName, Progress, Result};

/// How long to wait before saving is tried again.
const AGAIN: Duration = Duration::from_secs(1);

/// What a stretch begins with.
#[derive(Clone)]
pub(super) enum Given {
    /// The program's beginning.
    Start,
    /// Answers of its calls, and their files; none: its time is over.
    Answers(Vec<CallAnswer>, Vec<AnswerFile>),
}

/// What the journal is to say after a stretch: the run, and calls that are new or have changed.
pub(super) type Noted = (Run, Vec<RunCall>);

impl Sandboxes {
    /// Lets a program compute until it ends or waits, and saves the sandbox and what `note` says in one step, unless that says that
    /// it need not be saved. The clock of the sandbox's guests shows no less than `shown`; what it shows afterwards is `note`'s to
    /// know.
    ///
    /// # Errors
    /// As [`Sandboxes::eval`]; `cancelled` when the run was ended meanwhile; what keeps it from being saved. The program may have
    /// gone on then.
    pub(super) async fn stretch(
        &self,
        run: &Run,
        mut request: EvalRequest,
        (given, shown, outgoing): (Given, Duration, Arc<dyn Outgoing>),
        note: impl FnOnce(&Progress, Duration) -> (Noted, bool),
    ) -> Result<(Progress, Noted, bool)> {
        self.inner.admission.admit(&mut request)?;
        let guest = GuestName::from(&request.language);
        let mut call = self.begin_to_run(&run.owner, &Handle::IdOrName(run.sandbox.as_str())).await?;
        // Whoever put the sandbox back to another state did so in a turn of its own, and has said so.
        self.goes_on(run)?;
        let place = call.admitted(&guest).await?;
        request.context.callbacks = request.context.callbacks.giving_up(&place.seat());
        self.connect(&call.record, (run.id.as_str(), &run.language.to_string()), &mut request.context);
        let door = request.context.network.clone();
        if let Some(door) = &door {
            door.go_on(run.network.as_ref(), outgoing);
        }
        call.live.program = Some(guest.runs_as());
        let stretch = call.run(|machine| {
            Box::pin(async move {
                let answers = match given {
                    Given::Start => None,
                    Given::Answers(answers, files) => {
                        for file in files {
                            machine.files().write(&file.path, &file.bytes).await?;
                        }
                        Some(answers)
                    }
                };
                request.context.taint.join(machine.taint());
                machine.reach_time(u64::try_from(shown.as_nanos()).unwrap_or(u64::MAX));
                let progress = machine.advance(request, answers).await?;
                Ok((progress, Duration::from_nanos(machine.time())))
            })
        });
        let (mut progress, shown) = self.inner.admission.share(&run.owner, stretch).await?;
        if let Progress::Ended(outcome) = progress {
            progress = Progress::Ended(with_fallback(*outcome, &call.record.spec, &self.inner.rules).into());
        }
        let (mut noted, saves) = note(&progress, shown);
        if let Some(door) = door {
            noted.0.network = Some(door.used());
        }
        if !saves {
            return Ok((progress, noted, false));
        }
        loop {
            let (record, calls) = (noted.0.clone(), noted.1.clone());
            let save = call.save_with(move |saves, sandbox, state| {
                Ok((saves.update_with_run(sandbox, state, (&record, &calls))?, ()))
            });
            let (back, saved) = save.await?;
            match saved {
                // The program has gone on in memory alone, and nothing of it is begun before it is saved.
                Err(error) if error.code() == ErrorCode::StateUnavailable => {
                    tracing::warn!(%error, run = %run.id, "a run cannot be saved where it waits; it is tried again");
                    tokio::time::sleep(AGAIN).await;
                    call = back;
                }
                saved => return saved.map(|()| (progress, noted, true)),
            }
        }
    }

    /// Whether nobody has asked for a run's end.
    ///
    /// # Errors
    /// `cancelled`, and why.
    pub(super) fn goes_on(&self, run: &Run) -> Result<()> {
        let answers = self.inner.ledger.journal().answers(&run.id)?;
        match answers.into_iter().find(|answer| answer.number == WHOLE_RUN) {
            Some(Answer { decision: Decision::Denied(why), .. }) => {
                Err(Error::new(ErrorCode::Cancelled, why))
            }
            _ => Ok(()),
        }
    }

    /// Lets go of the memory of the sandbox of a program that is going to wait for a while. Answers whether that is settled: one that
    /// is in use just now is tried again. If it cannot be done, the sandbox goes to sleep as every other one.
    pub(super) async fn let_sleep(&self, run: &Run) -> bool {
        let resident = self.inner.residents().get(&run.sandbox).map(Arc::clone);
        let Some(resident) = resident else { return true };
        let Ok(live) = resident.live.clone().try_lock_owned() else { return false };
        if !live.jobs.any()
            && let Err(error) = self.put_down_now(&run.sandbox, &resident, live, true).await
        {
            tracing::debug!(%error, run = %run.id, "the sandbox of a run that waits stays in memory");
        }
        true
    }
}
