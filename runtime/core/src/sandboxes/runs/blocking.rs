//! Calls that a run's program makes without waiting for them as it waits for others: each in PHP, and those in Python without `await`.
//!
//! The program is on its stack meanwhile, so nothing can be saved. Each call is written down before it is made. Where a process ends
//! before the program has come to its next wait, what was called since the last one would be called again: such a run does not go on.
//! The same holds for what a program sends by its network, of which the first in a stretch is written down for all.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt as _;
use tokio::sync::mpsc;

use super::super::Inner;
use super::approving::{CALL, Question};
use super::blocked;
use super::calls::refused;
use crate::callback::{Answered, CallbackCall, Handler, Wrap};
use crate::network::Outgoing;
use crate::sandbox::{CallState, Run, RunCall, RunState, Timestamp};
use crate::waiting::PendingCall;
use crate::{Callbacks, Error, ErrorCode, Result};

/// Numbers of these calls begin here; those of calls that are awaited are below.
pub(super) const FIRST: u32 = 1 << 31;

/// The calls of the stretch that is under way.
#[derive(Clone)]
pub(super) struct Blocking(Arc<Shared>);

struct Shared {
    inner: Arc<Inner>,
    state: Mutex<State>,
}

struct State {
    run: Run,
    next: u32,
    rows: Vec<RunCall>,
    /// Whether something was sent by the network.
    sent: bool,
}

impl State {
    /// A row for what is about to be done.
    fn begin(&mut self, pending: &PendingCall, now: Timestamp) -> RunCall {
        self.next = self.next.saturating_add(1);
        let row = RunCall::begun(pending, now);
        self.rows.push(row.clone());
        row
    }
}

impl Blocking {
    /// Those of a run.
    pub(super) fn of(inner: &Arc<Inner>, run: &Run) -> Self {
        let state = State { run: run.clone(), next: FIRST, rows: Vec::new(), sent: false };
        Self(Arc::new(Shared { inner: inner.clone(), state: Mutex::new(state) }))
    }

    /// Goes on after a process before this one, whose journal says this. Answers what is new in it: the program does again what it did
    /// since it waited last, under other numbers.
    ///
    /// # Errors
    /// `conflict` when calls were made in a stretch that has not come to its end, and one of them may not be repeated.
    pub(super) fn recover(&self, callbacks: &Callbacks, rows: &[RunCall]) -> Result<Vec<RunCall>> {
        let own = rows.iter().filter(|row| row.number >= FIRST);
        self.state().next = own.clone().map(|row| row.number + 1).max().unwrap_or(FIRST);
        let repeats = |row: &RunCall| callbacks.get(&row.tool).is_some_and(|callback| callback.repeats);
        let open = own.filter(|row| row.is_open());
        // One that somebody was asked about was not made.
        let Some(lost) = open.clone().find(|row| row.state != CallState::Asking && !repeats(row)) else {
            let ended_at = Some(self.0.inner.clock.now());
            let over = |row: &RunCall| RunCall { state: CallState::Cancelled, ended_at, ..row.clone() };
            return Ok(open.map(over).collect());
        };
        let (what, again, hint) = match lost.tool.contains("://") {
            true => ("sent", "send", "look at what the request has done, then start the program anew"),
            false => (
                "called",
                "call",
                "look at what the call has done, then start the program anew; calls that are awaited (Python, JavaScript) do not have this",
            ),
        };
        let message = format!(
            "the process ended after the program had {what} `{}` and before it next waited: going on would {again} it again",
            lost.tool
        );
        Err(Error::new(ErrorCode::Conflict, message).with_hint(hint))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A stretch of the run begins. What the program can call in it.
    pub(super) fn begin(&self, run: &Run, callbacks: Callbacks) -> Callbacks {
        let mut state = self.state();
        (state.run, state.rows, state.sent) = (run.clone(), Vec::new(), false);
        drop(state);
        let own = self.clone();
        let wrap: Arc<Wrap> = Arc::new(move |name| {
            let (own, name) = (own.clone(), name.to_owned());
            Arc::new(move |call, handler| {
                let (own, name) = (own.clone(), name.clone());
                async move { own.call(name, call, handler).await }.boxed()
            })
        });
        callbacks.wrapped(&wrap)
    }

    async fn call(self, tool: String, call: CallbackCall, handler: Arc<Handler>) -> Answered {
        let row = self.admit(&tool, &call)?;
        self.write(&row).await.map_err(|error| format!("the call cannot be written down: {error}"))?;
        let key = Some(row.key(&self.state().run.id));
        let answered = CALL.scope(row.number, handler(CallbackCall { key, ..call })).await;
        if answered.is_err() {
            // Whether it was refused is said beside this.
            tokio::task::yield_now().await;
        }
        let outcome = match &answered {
            Ok(answer) => Ok(answer.value.to_string()),
            Err(text) => Err(text.clone()),
        };
        let bytes = outcome.as_ref().map_or_else(String::len, String::len);
        let mut state = self.state();
        state.run.usage.bytes = state.run.usage.bytes.saturating_add(bytes as u64);
        let ended_at = Some(self.0.inner.clock.now());
        if let Some(kept) = state.rows.iter_mut().find(|kept| kept.number == row.number) {
            (kept.state, kept.ended_at, kept.outcome) = (CallState::Answered, ended_at, Some(outcome));
        }
        drop(state);
        answered
    }

    /// A row for a call, if it may be made.
    fn admit(&self, tool: &str, call: &CallbackCall) -> std::result::Result<RunCall, String> {
        let mut state = self.state();
        let arguments = call.arguments.to_string();
        let pending = PendingCall { id: state.next, name: tool.into(), arguments };
        state.run.usage.calls = state.run.usage.calls.saturating_add(1);
        state.run.usage.bytes = state.run.usage.bytes.saturating_add(pending.arguments.len() as u64);
        if let Some(why) = refused(&state.run, &pending) {
            return Err(why);
        }
        Ok(state.begin(&pending, self.0.inner.clock.now()))
    }

    async fn write(&self, row: &RunCall) -> Result<()> {
        let (inner, run, row) = (self.0.inner.clone(), self.state().run.clone(), row.clone());
        blocked(move || inner.ledger.journal().change(&run, &[row])).await
    }

    /// Writes down what is asked about these calls, for as long as the stretch lasts. What is asked about other calls is put aside.
    pub(super) async fn take_questions(
        &self,
        questions: &mut mpsc::UnboundedReceiver<Question>,
        aside: &mut Vec<Question>,
    ) {
        while let Some(question) = questions.recv().await {
            let (Question::Asks { number, .. }
            | Question::Begins { number, .. }
            | Question::Refused { number }) = &question;
            if *number < FIRST {
                aside.push(question);
                continue;
            }
            let row = {
                let mut state = self.state();
                let number = *number;
                state.run.state = match &question {
                    Question::Asks { .. } => RunState::Asking,
                    Question::Begins { .. } | Question::Refused { .. } => RunState::Running,
                };
                let row = state.rows.iter_mut().find(|row| row.number == number);
                row.map(|row| {
                    match &question {
                        Question::Asks { request, .. } => {
                            (row.state, row.question) = (CallState::Asking, Some(request.clone()));
                        }
                        Question::Begins { .. } => row.state = CallState::Begun,
                        Question::Refused { .. } => row.refused = true,
                    }
                    row.clone()
                })
            };
            let Some(row) = row else { continue };
            match (self.write(&row).await, question) {
                (Ok(()), Question::Begins { written, .. }) => drop(written.send(())),
                (Ok(()), Question::Asks { .. } | Question::Refused { .. }) => {}
                (Err(error), _) => tracing::warn!(%error, "a question of a run cannot be written down"),
            }
            self.0.inner.runs.changed.notify_waiters();
        }
        std::future::pending().await
    }

    /// Whether the stretch has made no such call.
    pub(super) fn is_empty(&self) -> bool {
        self.state().rows.is_empty()
    }

    /// What the stretch has used, and its rows, once its program has come to a wait or to its end.
    pub(super) fn settle(&self, run: &mut Run) -> Vec<RunCall> {
        let state = self.state();
        run.usage.calls = state.run.usage.calls;
        run.usage.bytes = state.run.usage.bytes;
        let state_of = |row: &RunCall| if row.refused { CallState::Refused } else { CallState::Done };
        let now = self.0.inner.clock.now();
        let over = |row: &RunCall| RunCall {
            state: state_of(row),
            ended_at: row.ended_at.or(Some(now)),
            ..row.clone()
        };
        state.rows.iter().map(over).collect()
    }
}

impl Outgoing for Blocking {
    fn leaves(&self, what: &str) -> Result<()> {
        let mut state = self.state();
        if std::mem::replace(&mut state.sent, true) {
            return Ok(());
        }
        let pending = PendingCall { id: state.next, name: what.into(), arguments: "{}".into() };
        let row = state.begin(&pending, self.0.inner.clock.now());
        let run = state.run.clone();
        drop(state);
        let written = self.0.inner.ledger.journal().change(&run, &[row]);
        if written.is_err() {
            self.state().sent = false;
        }
        written
    }
}
