//! The calls of a run's program: which may be made, those that are under way, and their answers.

use std::collections::{BTreeMap, HashMap};

use futures::future::{AbortHandle, Abortable, BoxFuture};
use futures::stream::FuturesUnordered;
use futures::{FutureExt as _, StreamExt as _};

use super::approving::CALL;
use super::blocking::FIRST as BLOCKING;
use crate::callback::{AnswerFile, CallbackCall};
use crate::sandbox::{CallState, Run, RunCall, Timestamp};
use crate::waiting::{CallAnswer, PendingCall};
use crate::{CallbackAnswer, Callbacks};

/// What a program is told of a call that was under way when its process ended.
const UNKNOWN: &str = "outcome_unknown: the call was under way when the process that made it ended: it may have happened or not";

type Outcome = Result<CallbackAnswer, String>;
type Underway = Abortable<BoxFuture<'static, (u32, Outcome)>>;

/// What the program waits for, and what it may call.
pub(super) struct Rows {
    callbacks: Callbacks,
    /// The rows of the journal that the program waits for, by number.
    open: BTreeMap<u32, RunCall>,
}

/// The calls of one run.
pub(super) struct Calls {
    pub(super) rows: Rows,
    under_way: FuturesUnordered<Underway>,
    ends: HashMap<u32, AbortHandle>,
}

impl Rows {
    /// Whether the program waits for no call.
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Rows for calls that the program wants made; what keeps one from being made is its answer. Calls that it does not want any
    /// more are given up. Nothing is begun.
    pub(super) fn want(
        &self,
        run: &mut Run,
        calls: &[PendingCall],
        cancelled: &[u32],
        now: Timestamp,
    ) -> Vec<RunCall> {
        let mut rows = Vec::new();
        for number in cancelled {
            if let Some(row) = self.open.get(number) {
                rows.push(RunCall { state: CallState::Cancelled, ended_at: Some(now), ..row.clone() });
            }
        }
        for call in calls {
            run.usage.calls = run.usage.calls.saturating_add(1);
            run.usage.bytes = run.usage.bytes.saturating_add(call.arguments.len() as u64);
            let refused = self.refused(run, call);
            let mut row = RunCall::begun(call, now);
            if let Some(why) = refused {
                (row.state, row.ended_at, row.arguments) = (CallState::Answered, Some(now), String::new());
                (row.outcome, row.refused) = (Some(Err(why)), true);
            }
            rows.push(row);
        }
        rows
    }

    /// Why a call is not made, if it is not.
    fn refused(&self, run: &Run, call: &PendingCall) -> Option<String> {
        let missing = || self.callbacks.get(&call.name).is_none().then(|| self.callbacks.missing(&call.name));
        refused(run, call).or_else(missing)
    }

    /// The rows as they are once the program has the answers that are here.
    pub(super) fn taken(&self) -> Vec<RunCall> {
        let answered = self.open.values().filter(|row| row.state == CallState::Answered);
        answered.map(taken).collect()
    }

    /// The rows that are left when a run ends before its calls do.
    pub(super) fn given_up(&self, now: Timestamp) -> Vec<RunCall> {
        let left = self.open.values().map(|row| match row.state {
            CallState::Answered => taken(row),
            _ => RunCall { state: CallState::Cancelled, ended_at: Some(now), ..row.clone() },
        });
        left.collect()
    }
}

impl Calls {
    pub(super) fn new(callbacks: Callbacks) -> Self {
        Self {
            rows: Rows { callbacks, open: BTreeMap::new() },
            under_way: FuturesUnordered::new(),
            ends: HashMap::new(),
        }
    }

    /// Goes on with the calls that a process before this one has left: those that may be repeated are made again, of the others the
    /// program is told that nobody knows. The rows that have changed.
    pub(super) fn recover(&mut self, run: &Run, rows: Vec<RunCall>, now: Timestamp) -> Vec<RunCall> {
        let mut changed = Vec::new();
        for mut row in rows.into_iter().filter(|row| row.is_open() && row.number < BLOCKING) {
            let asked = row.state == CallState::Asking;
            let repeats = || self.rows.callbacks.get(&row.tool).is_some_and(|callback| callback.repeats);
            if row.state != CallState::Answered && !asked && !repeats() {
                (row.state, row.ended_at) = (CallState::Answered, Some(now));
                row.outcome = Some(Err(UNKNOWN.into()));
                changed.push(row.clone());
            }
            let begins = row.state != CallState::Answered;
            self.rows.open.insert(row.number, row.clone());
            if begins {
                self.begin(run, &row);
            }
        }
        changed
    }

    /// Forgets what the program has taken, and begins the new calls, both as the journal now says.
    pub(super) fn begin_new(&mut self, run: &Run, rows: &[RunCall]) {
        for row in rows {
            match row.state {
                CallState::Begun => {
                    self.rows.open.insert(row.number, row.clone());
                    self.begin(run, row);
                }
                CallState::Answered => drop(self.rows.open.insert(row.number, row.clone())),
                _ => {
                    self.rows.open.remove(&row.number);
                    if let Some(end) = self.ends.remove(&row.number) {
                        end.abort();
                    }
                }
            }
        }
    }

    fn begin(&mut self, run: &Run, row: &RunCall) {
        let (end, registration) = AbortHandle::new_pair();
        let call = self.call(run, row);
        let number = row.number;
        let call = CALL.scope(number, call).map(move |outcome| (number, outcome)).boxed();
        self.under_way.push(Abortable::new(call, registration));
        self.ends.insert(number, end);
    }

    fn call(&self, run: &Run, row: &RunCall) -> BoxFuture<'static, Outcome> {
        let Some(callback) = self.rows.callbacks.get(&row.tool) else {
            return futures::future::ready(Err(self.rows.callbacks.missing(&row.tool))).boxed();
        };
        let key = Some(row.key(&run.id));
        match serde_json::from_str(&row.arguments) {
            Ok(arguments) => {
                async move { callback.call(CallbackCall { arguments, key, ..CallbackCall::default() }).await }
                    .boxed()
            }
            Err(error) => futures::future::ready(Err(format!("the arguments are not JSON: {error}"))).boxed(),
        }
    }

    /// Whether answers are here, or calls under way.
    pub(super) fn has_answers(&self) -> bool {
        self.rows.open.values().any(|row| row.state == CallState::Answered)
    }

    /// The next answer that comes. Never, where no call is under way.
    pub(super) async fn next(&mut self) -> (u32, Outcome) {
        loop {
            match self.under_way.next().await {
                Some(Ok(answered)) => return answered,
                // It was given up.
                Some(Err(_)) => {}
                None => std::future::pending().await,
            }
        }
    }

    /// A further answer that is here already.
    pub(super) fn next_now(&mut self) -> Option<(u32, Outcome)> {
        self.next().now_or_never()
    }

    /// Notes an answer. Its row, as the journal is to have it.
    pub(super) fn note(
        &mut self,
        run: &mut Run,
        (number, outcome): (u32, Outcome),
        now: Timestamp,
    ) -> Option<RunCall> {
        self.ends.remove(&number);
        let row = self.rows.open.get_mut(&number)?;
        let most = Callbacks::MAX_BYTES;
        row.outcome = Some(outcome.and_then(|answer| {
            let text = answer.value.to_string();
            if text.len() > most {
                return Err(format!("the result has {} bytes, at most {most} are passed on", text.len()));
            }
            row.files = answer.files;
            Ok(text)
        }));
        (row.state, row.ended_at) = (CallState::Answered, Some(now));
        let bytes = match &row.outcome {
            Some(Ok(text) | Err(text)) => text.len() as u64,
            None => 0,
        };
        run.usage.bytes = run.usage.bytes.saturating_add(bytes);
        Some(row.clone())
    }

    /// Notes that somebody is asked about a call. Its row.
    pub(super) fn asks(
        &mut self,
        number: u32,
        request: crate::connections::ApprovalRequest,
    ) -> Option<RunCall> {
        let row = self.rows.open.get_mut(&number)?;
        (row.state, row.question) = (CallState::Asking, Some(request));
        Some(row.clone())
    }

    /// Notes that a call is not made.
    pub(super) fn refuses(&mut self, number: u32) {
        if let Some(row) = self.rows.open.get_mut(&number) {
            row.refused = true;
        }
    }

    /// Notes that a call about which somebody was asked is made now. Its row.
    pub(super) fn begins(&mut self, number: u32) -> Option<RunCall> {
        let row = self.rows.open.get_mut(&number)?;
        row.state = CallState::Begun;
        Some(row.clone())
    }

    /// Whether anybody is asked about one.
    pub(super) fn is_asking(&self) -> bool {
        self.rows.open.values().any(|row| row.state == CallState::Asking)
    }

    /// The answers that are here, as the program is given them, and their files.
    pub(super) fn answers(&self) -> (Vec<CallAnswer>, Vec<AnswerFile>) {
        let answered = self.rows.open.values().filter(|row| row.state == CallState::Answered);
        let (mut answers, mut files) = (Vec::new(), Vec::new());
        for row in answered {
            answers.extend(row.outcome.clone().map(|outcome| CallAnswer { id: row.number, outcome }));
            files.extend(row.files.iter().cloned());
        }
        (answers, files)
    }
}

/// What of a run's limits keeps a call from being made, with what the run has used by it.
pub(super) fn refused(run: &Run, call: &PendingCall) -> Option<String> {
    let most = Callbacks::MAX_BYTES;
    if call.arguments.len() > most {
        return Some(format!("the arguments have {} bytes, at most {most} are taken", call.arguments.len()));
    }
    if run.usage.calls > run.limits.calls {
        return Some(format!("budget_exhausted: the run has made its {} tool calls", run.limits.calls));
    }
    if run.usage.bytes > run.limits.bytes {
        let most = run.limits.bytes;
        return Some(format!("budget_exhausted: the run's calls have carried their {most} bytes"));
    }
    None
}

/// An answered row once the program has the answer.
fn taken(row: &RunCall) -> RunCall {
    let state = match &row.outcome {
        Some(Err(text)) if text == UNKNOWN => CallState::Unknown,
        Some(Err(_)) if row.refused => CallState::Refused,
        _ => CallState::Done,
    };
    RunCall { state, files: Vec::new(), ..row.clone() }
}
