//! Drives a run: one stretch after the other, and between them calls, time and approvals.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, mpsc};

use super::super::Sandboxes;
use super::approving::{ByJournal, Question};
use super::blocked;
use super::blocking::Blocking;
use super::calls::{Calls, Rows};
use super::stretch::{Given, Noted};
use crate::connections::{Caller, Taint};
use crate::sandbox::{Cause, Lease, Run, RunCall, RunEnd, RunState, RunUsage};
use crate::waiting::{Paused, Wanted};
use crate::{Callbacks, Error, ErrorCode, EvalRequest, MeteredModel, Progress, Result};

/// How long a program waits before its sandbox is put out of memory.
const BRIEFLY: Duration = Duration::from_secs(1);
/// How often a run that waits looks at the journal: another process may have ended it.
const LOOK: Duration = Duration::from_millis(500);
/// How long to wait before a stretch that found no place is tried again.
const AGAIN: Duration = Duration::from_millis(200);

/// One run, and the right to drive it.
pub(super) struct Driver {
    sandboxes: Sandboxes,
    run: Run,
    calls: Calls,
    /// What the program can call, and its calls that it does not await.
    callbacks: Callbacks,
    blocking: Blocking,
    taint: Taint,
    model: Option<MeteredModel>,
    /// What of the run's usage its owner's day has already.
    counted: RunUsage,
    questions: mpsc::UnboundedReceiver<Question>,
    /// Those about awaited calls that came while the program computed.
    aside: Vec<Question>,
    /// Told when somebody has answered, or has ended the run.
    woken: Arc<Notify>,
    answered: Arc<Notify>,
    /// When the program was saved last, at one of its waits.
    saved_at: tokio::time::Instant,
    /// When the program began to wait, if that was in this process.
    waits_since: Option<tokio::time::Instant>,
    _lease: Lease,
}

/// Why a run goes no further here.
enum Stop {
    /// It has ended so.
    Ended,
    /// By an error.
    By(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::By(error)
    }
}

impl Driver {
    pub(super) fn new(sandboxes: &Sandboxes, run: &Run, lease: Lease, woken: Arc<Notify>) -> Result<Self> {
        // It may have gone on since it was looked at.
        let run = sandboxes.inner.ledger.journal().find(&run.owner, &run.id)?;
        let answered = Arc::new(Notify::new());
        let (approver, questions) =
            ByJournal::new(sandboxes.inner.clone(), run.id.clone(), run.limits.approval, answered.clone());
        let taint = Taint::default();
        if run.tainted {
            taint.set();
        }
        let caller = Caller {
            owner: run.owner.clone(),
            language: Some(run.language.clone()),
            approver: Some(Arc::new(approver)),
            taint: taint.clone(),
        };
        let (callbacks, model) = sandboxes.inner.runs.callbacks(&caller, run.usage.model);
        let calls = Calls::new(callbacks.clone());
        let blocking = Blocking::of(&sandboxes.inner, &run);
        Ok(Self {
            sandboxes: sandboxes.clone(),
            model,
            counted: run.usage,
            run,
            calls,
            callbacks,
            blocking,
            taint,
            questions,
            aside: Vec::new(),
            woken,
            answered,
            saved_at: tokio::time::Instant::now(),
            waits_since: None,
            _lease: lease,
        })
    }

    /// Drives it until it has ended. It ends with an error in its record where it cannot go on.
    pub(super) async fn drive(mut self) {
        let closing = self.sandboxes.inner.runs.closing.clone();
        let driven = async {
            if self.run.state.is_open() {
                match self.go_on().await {
                    Ok(()) | Err(Stop::Ended) => {}
                    Err(Stop::By(error)) => self.end_by(&error).await,
                }
            }
        };
        // Where this process ends, the run is left as it was saved: calls that are under way are given up, and their answers, which
        // the end of their servers may be, are not taken.
        tokio::select! {
            biased;
            () = closing.cancelled() => {}
            () = driven => {}
        }
        self.sandboxes.inner.runs.driven().remove(&self.run.id);
        self.changed();
    }

    async fn go_on(&mut self) -> Result<(), Stop> {
        let mut given = self.begin().await?;
        loop {
            self.check()?;
            let (progress, rows) = self.stretch(given).await?;
            let Progress::Waits(_) = progress else { return Err(Stop::Ended) };
            self.calls.begin_new(&self.run, &rows);
            self.changed();
            given = self.wait().await?;
        }
    }

    /// What the first stretch in this process begins with.
    async fn begin(&mut self) -> Result<Given, Stop> {
        let rows = self.sandboxes.inner.ledger.journal().calls(&self.run.id)?;
        let mut changed = self.blocking.recover(&self.callbacks, &rows)?;
        if self.run.usage.waits == 0 {
            if !changed.is_empty() {
                self.write(&changed).await?;
            }
            return Ok(Given::Start);
        }
        // Everything is as it was saved when the program waited last.
        changed.extend(self.calls.recover(&self.run, rows, self.now()));
        self.write(&changed).await?;
        self.wait().await
    }

    /// One stretch, again and again while there is no place for it.
    async fn stretch(&mut self, given: Given) -> Result<(Progress, Vec<RunCall>), Stop> {
        let source = match given {
            Given::Start => self.sandboxes.inner.ledger.journal().source(&self.run.id)?,
            Given::Answers(..) => String::new(),
        };
        let shown = self.clock();
        self.run.state = RunState::Running;
        self.run.tainted |= self.taint.is_set();
        loop {
            let mut request = self.request(source.clone());
            request.context.callbacks = self.blocking.begin(&self.run, self.callbacks.clone());
            let (run, rows, blocking) = (&self.run, &self.calls.rows, &self.blocking);
            let clock = self.sandboxes.inner.clock.clone();
            let is_old = self.saved_at.elapsed() > BRIEFLY;
            let model = self.model.as_ref();
            let note = |progress: &Progress, shown: Duration| {
                // It may have waited for its turn before it began.
                let mut noted = noted((run, shown), rows, blocking, progress, clock.now());
                if let Some(model) = model {
                    noted.0.usage.model = model.usage();
                }
                (noted, is_old || !is_brief(progress, rows, blocking))
            };
            let outgoing = Arc::new(blocking.clone());
            let stretch = self.sandboxes.stretch(run, request, (given.clone(), shown, outgoing), note);
            let ended = ended(&self.sandboxes, run, &self.woken);
            let done = tokio::select! {
                biased;
                done = stretch => done,
                error = ended => return Err(error.into()),
                () = blocking.take_questions(&mut self.questions, &mut self.aside) => return Err(Stop::Ended),
            };
            match done {
                Ok((progress, (run, rows), saved)) => {
                    (self.run, self.waits_since) = (run, Some(tokio::time::Instant::now()));
                    self.count();
                    if saved {
                        self.saved_at = tokio::time::Instant::now();
                    }
                    return Ok((progress, rows));
                }
                // Nothing has been done yet.
                Err(error) if error.code() == ErrorCode::Busy => {
                    tokio::time::sleep(AGAIN).await;
                    self.check()?;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// What the program runs with.
    fn request(&self, source: String) -> EvalRequest {
        let mut request = EvalRequest::new(self.run.language.clone(), source);
        request.name.clone_from(&self.run.name);
        request.context.taint = self.taint.clone();
        let policy = self.sandboxes.policy();
        request.context.limits = policy.defaults.clone();
        // The end of what it writes is kept, so the whole is needed.
        request.context.limits.output = policy.ceiling.output;
        let (inner, uptime) = (&self.sandboxes.inner, self.sandboxes.inner.clock.uptime());
        let of_owner = inner.runs.owners.time_left(&self.run.owner, &inner.rules.run_budget, uptime);
        let left = self.run.limits.running.saturating_sub(self.run.usage.running).min(of_owner);
        request.context.limits.wall = self.run.stretch.min(left).max(crate::Limits::MIN_WALL);
        request
    }

    /// Waits until the program can go on.
    async fn wait(&mut self) -> Result<Given, Stop> {
        let begun = tokio::time::Instant::now();
        let due = self.time_left().map(|left| begun + left);
        let mut sleeps = false;
        loop {
            for question in std::mem::take(&mut self.aside) {
                self.ask(question).await?;
            }
            if self.calls.has_answers() {
                break;
            }
            let now = tokio::time::Instant::now();
            if due.is_some_and(|due| due <= now) {
                break;
            }
            self.check()?;
            if !sleeps && begun.elapsed() >= BRIEFLY {
                sleeps = self.sandboxes.let_sleep(&self.run).await;
            }
            let look = now + if begun.elapsed() >= BRIEFLY { LOOK } else { BRIEFLY };
            let until = due.map_or(look, |due| due.min(look));
            tokio::select! {
                biased;
                () = self.woken.notified() => self.answered.notify_waiters(),
                Some(question) = self.questions.recv() => self.ask(question).await?,
                answered = self.calls.next() => self.take(answered).await?,
                () = tokio::time::sleep_until(until) => {}
            }
        }
        let (answers, files) = self.calls.answers();
        Ok(Given::Answers(answers, files))
    }

    /// How long until the program goes on by itself.
    fn time_left(&self) -> Option<Duration> {
        let (due, wait) = (self.run.due_at?, self.run.wait?);
        Some(Duration::from_millis(due.0.saturating_sub(self.now().0)).min(wait))
    }

    /// Takes an answer, and those that are here with it. They are written down before the program has them.
    async fn take(&mut self, answered: (u32, Result<crate::CallbackAnswer, String>)) -> Result<(), Stop> {
        let now = self.now();
        self.hear().await?;
        let mut rows: Vec<RunCall> = self.calls.note(&mut self.run, answered, now).into_iter().collect();
        while let Some(more) = self.calls.next_now() {
            self.hear().await?;
            rows.extend(self.calls.note(&mut self.run, more, now));
        }
        self.run.state = if self.calls.is_asking() { RunState::Asking } else { RunState::Waiting };
        self.run.usage.model = self.model.as_ref().map_or(self.run.usage.model, MeteredModel::usage);
        self.count();
        Ok(self.write(&rows).await?)
    }

    /// Writes down what calls have said that have come to their answers since.
    async fn hear(&mut self) -> Result<(), Stop> {
        while let Ok(question) = self.questions.try_recv() {
            self.ask(question).await?;
        }
        Ok(())
    }

    /// Counts what the run has taken since the last time for its owner.
    fn count(&mut self) {
        let inner = &self.sandboxes.inner;
        inner.runs.owners.add(&self.run.owner, (&self.counted, &self.run.usage), inner.clock.uptime());
        self.counted = self.run.usage;
    }

    /// Writes a question down, for whoever looks at the run.
    async fn ask(&mut self, question: Question) -> Result<(), Stop> {
        let (row, written) = match question {
            Question::Asks { number, request } => (self.calls.asks(number, request), None),
            Question::Begins { number, written } => (self.calls.begins(number), Some(written)),
            Question::Refused { number } => {
                // Its answer comes next, and is written down with it.
                self.calls.refuses(number);
                return Ok(());
            }
        };
        let Some(row) = row else { return Ok(()) };
        self.run.state = if self.calls.is_asking() { RunState::Asking } else { RunState::Waiting };
        self.write(&[row]).await?;
        if let Some(written) = written {
            let _ = written.send(());
        }
        Ok(())
    }

    async fn write(&mut self, rows: &[RunCall]) -> Result<()> {
        self.run.changed_at = self.now();
        self.run.tainted |= self.taint.is_set();
        loop {
            let (ledger, run, rows) = (self.sandboxes.inner.ledger.clone(), self.run.clone(), rows.to_vec());
            match blocked(move || ledger.journal().change(&run, &rows)).await {
                // A disk that is full now need not be later, and the program waits.
                Err(error) if error.code() == ErrorCode::StateUnavailable => {
                    tracing::warn!(%error, run = %self.run.id, "the journal of a run cannot be written; it is tried again");
                    tokio::time::sleep(BRIEFLY).await;
                }
                written => break written?,
            }
        }
        self.changed();
        Ok(())
    }

    /// Whether the run may go on.
    fn check(&self) -> Result<(), Stop> {
        self.sandboxes.goes_on(&self.run)?;
        self.sandboxes.within_budget(&self.run.owner)?;
        let age = Duration::from_millis(self.now().0.saturating_sub(self.run.created_at.0));
        if age > self.run.limits.lifetime {
            let seconds = self.run.limits.lifetime.as_secs();
            let message = format!("the run did not end within {seconds} seconds of its start");
            return Err(Error::new(ErrorCode::LimitTime, message)
                .with_hint("give it a longer lifetime, or wait for less")
                .into());
        }
        self.run.used_up().map_or(Ok(()), |error| Err(error.into()))
    }

    /// Ends the run by an error. What its program waits for is given up.
    async fn end_by(&mut self, error: &Error) {
        let now = self.now();
        let rows = self.calls.rows.given_up(now);
        let state = match error.code() {
            ErrorCode::Cancelled => RunState::Cancelled,
            _ => RunState::Failed,
        };
        self.run.end(state, RunEnd::by(error), now);
        if let Err(error) = self.write(&rows).await {
            tracing::warn!(%error, run = %self.run.id, "the end of a run cannot be written");
        }
    }

    /// What the program's monotonic clock has to show now: it has gone on while the program waited, in memory or not.
    fn clock(&self) -> Duration {
        let Some((shown, at)) = self.run.clock else { return Duration::ZERO };
        let by_the_wall = || Duration::from_millis(self.now().0.saturating_sub(at.0));
        shown.saturating_add(self.waits_since.map_or_else(by_the_wall, |since| since.elapsed()))
    }

    fn now(&self) -> crate::sandbox::Timestamp {
        self.sandboxes.inner.clock.now()
    }

    fn changed(&self) {
        self.sandboxes.inner.runs.changed.notify_waiters();
    }
}

/// Waits until somebody asks for the run's end; why.
async fn ended(sandboxes: &Sandboxes, run: &Run, woken: &Notify) -> Error {
    loop {
        let _ = tokio::time::timeout(LOOK, woken.notified()).await;
        if let Err(error) = sandboxes.goes_on(run)
            && error.code() == ErrorCode::Cancelled
        {
            return error;
        }
    }
}

/// Whether a program waits for a moment alone: nothing is to be begun or told, so that a wait before this one serves as well to go on
/// from.
fn is_brief(progress: &Progress, open: &Rows, blocking: &Blocking) -> bool {
    let Progress::Waits(Paused { wanted, .. }) = progress else { return false };
    let quiet =
        wanted.calls.is_empty() && wanted.cancelled.is_empty() && open.is_empty() && blocking.is_empty();
    quiet && wanted.time.is_some_and(|time| time < BRIEFLY)
}

/// What the journal says after a stretch.
fn noted(
    (run, shown): (&Run, Duration),
    open: &Rows,
    blocking: &Blocking,
    progress: &Progress,
    now: crate::sandbox::Timestamp,
) -> Noted {
    let mut run = run.clone();
    let mut rows = open.taken();
    rows.extend(blocking.settle(&mut run));
    match progress {
        Progress::Waits(Paused { wanted: Wanted { calls: new, cancelled, time }, stdout, stderr, usage }) => {
            run.stdout.add(stdout);
            run.stderr.add(stderr);
            run.usage.running = run.usage.running.saturating_add(usage.wall);
            run.usage.waits = run.usage.waits.saturating_add(1);
            (run.state, run.changed_at, run.wait) = (RunState::Waiting, now, *time);
            run.due_at = time.map(|time| now.after(time));
            run.clock = Some((shown, now));
            rows.extend(open.want(&mut run, new, cancelled, now));
        }
        Progress::Ended(outcome) => {
            run.stdout.add(&outcome.stdout);
            run.stderr.add(&outcome.stderr);
            run.usage.running = run.usage.running.saturating_add(outcome.usage.wall);
            let (state, mut end) = RunEnd::of(outcome);
            // The last stretch had what was left of the whole.
            if let (Some(cause), Some(error)) = (&mut end.error, run.used_up())
                && cause.code == error.code()
            {
                *cause = Cause::from(&error);
            }
            run.end(state, end, now);
            let taken: Vec<u32> = rows.iter().map(|row| row.number).collect();
            rows.extend(open.given_up(now).into_iter().filter(|row| !taken.contains(&row.number)));
        }
    }
    (run, rows)
}
