//! One call of a tool: within its time, given up with the run, recorded.

use std::time::{Duration, Instant};

use dormouse_core::{Error, ErrorCode, Result};
use dormouse_sources::{ToolAnswer, Tools};
use serde_json::{Map, Value as Json};

use super::arena::cancelled;
use super::observe::Event;
use super::session::Session;
use super::since;
use crate::report::{CallRecord, Problem, Text, whole_or_cut};

/// What came of a call.
pub(super) struct Called {
    pub(super) record: CallRecord,
    pub(super) result: Result<ToolAnswer>,
}

/// Calls a tool.
pub(super) async fn call(
    session: &Session<'_>,
    tools: &Tools,
    name: &str,
    arguments: Map<String, Json>,
    time: Duration,
) -> Called {
    let (scenario, repetition) = (session.scenario.id.as_str(), session.number);
    session.observer().event(Event::CallStarted { scenario, repetition, tool: name });
    let started_ms = since(session.start);
    let start = Instant::now();
    let shown = Text::long(&Json::Object(arguments.clone()).to_string());
    let (server, result) = match tools.find(name) {
        Ok(tool) => {
            let calling = tool.call(arguments, Some(session.hears()));
            let result = tokio::select! {
                biased;
                () = session.arena.options.cancel.cancelled() => Err(cancelled()),
                answered = tokio::time::timeout(time, calling) => answered.unwrap_or_else(|_| Err(late(name, time))),
            };
            (Some(tool.server.clone()), result)
        }
        Err(error) => (None, Err(error)),
    };
    let latency_ms = since(start);
    let ok = result.as_ref().is_ok_and(|answer| !answer.is_error);
    session.observer().event(Event::CallFinished { scenario, repetition, tool: name, latency_ms, ok });
    let answer = result.as_ref().ok();
    let structured = answer.and_then(|answer| answer.structured.as_ref()).map(whole_or_cut);
    let (structured, structured_cut) = structured.unwrap_or_default();
    let record = CallRecord {
        tool: Text::short(name),
        place: None,
        server,
        arguments: shown,
        output: answer.map(|answer| Text::long(&answer.text())).unwrap_or_default(),
        structured,
        structured_cut,
        is_error: answer.is_some_and(|answer| answer.is_error),
        problem: result.as_ref().err().map(Problem::from),
        started_ms,
        latency_ms,
        failure: None,
    };
    Called { record, result }
}

/// The time that a call in a turn has.
pub(super) fn time_of(session: &Session<'_>) -> Duration {
    let left = session.deadline.saturating_duration_since(Instant::now());
    left.min(Duration::from_secs(session.arena.plan.timeouts.call_seconds))
}

fn late(name: &str, time: Duration) -> Error {
    let shown: String = name.escape_debug().take(128).collect();
    let message = format!("the tool `{shown}` gave no answer within {:.1} s", time.as_secs_f64());
    Error::new(ErrorCode::LimitTime, message).with_hint("raise its time-out, or ask for less")
}
