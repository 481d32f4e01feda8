//! Gates: what must hold at the end of a repetition, while its servers are still open (S0-31 … S0-33).

use std::time::{Duration, Instant};

use dormouse_sources::ToolAnswer;
use serde_json::Value as Json;
use serde_saphyr::Spanned;

use super::call::{Called, call};
use super::session::Session;
use super::since;
use crate::config::{ExitCode, Gate, OutputContains, ToolExec, ToolsCalled};
use crate::report::{GateDetails, GateRecord, Step, Text, TurnRecord, last_words, whole_or_cut};
use crate::template;

/// The fields of a payload that say whether something passed, the first that is there counts.
const FLAGS: [&str; 4] = ["passed", "success", "ok", "pass"];
/// The fields that say how a command ended, as servers write them.
const EXIT_CODES: [&str; 2] = ["exit_code", "exitCode"];
const TIMED_OUT: [&str; 2] = ["timed_out", "timedOut"];
/// Why a gate did not hold, or what it found.
type Verdict = Result<String, String>;

/// Looks at one gate.
pub(super) async fn look(session: &Session<'_>, gate: &Spanned<Gate>, turns: &[TurnRecord]) -> GateRecord {
    let start = Instant::now();
    let place = session.scenario.place(gate.referenced);
    let gate = &gate.value;
    let (verdict, tool, details) = match gate {
        Gate::ToolExec(gate) => {
            let (verdict, details) = tool_exec(session, gate).await;
            (verdict, Some(Text::short(&gate.tool)), details)
        }
        Gate::OutputContains(gate) => (output_contains(gate, turns), None, GateDetails::default()),
        Gate::ToolsCalled(gate) => (tools_called(gate, turns), None, GateDetails::default()),
    };
    let passed = verdict.is_ok();
    let reason = verdict.unwrap_or_else(|why| why);
    GateRecord {
        kind: gate.kind(),
        place,
        tool,
        message: gate.message().map(Text::short),
        passed,
        score: if passed { 1.0 } else { 0.0 },
        reason: Text::short(&reason),
        latency_ms: since(start),
        details,
    }
}

async fn tool_exec(session: &Session<'_>, gate: &ToolExec) -> (Verdict, GateDetails) {
    let arguments = match template::fill(&gate.args, &session.variables) {
        Ok(arguments) => arguments,
        Err(error) => return (Err(error.message().to_owned()), GateDetails::default()),
    };
    let time = Duration::from_secs(gate.timeout_seconds);
    let Called { record, result } = call(session, &session.all, &gate.tool, arguments, time).await;
    let mut details =
        GateDetails { arguments: Some(record.arguments), problem: record.problem, ..GateDetails::default() };
    let answer = match result {
        Ok(answer) => answer,
        Err(error) => return (Err(error.message().to_owned()), details),
    };
    let payload = payload(&answer);
    details.output = Some(record.output);
    (details.payload, details.payload_cut) = payload.as_ref().map(whole_or_cut).unwrap_or_default();
    (judged(gate, &answer, payload.as_ref()), details)
}

fn judged(gate: &ToolExec, answer: &ToolAnswer, payload: Option<&Json>) -> Verdict {
    let text = answer.text();
    let failed = |why: String| match last_words(&text) {
        said if said.is_empty() => Err(why),
        said => Err(format!("{why}: {said}")),
    };
    // A status that is no success is what its tool calls a failure: whoever expects it expects that, too.
    let expected = gate.expect.exit_code;
    let judges = matches!(expected, None | Some(ExitCode::Is(0)));
    if judges && answer.is_error {
        return failed("the tool says that it failed".into());
    }
    let status = match ended(expected, payload) {
        Ok(status) => status,
        Err(why) => return failed(why),
    };
    let flag =
        payload.and_then(|payload| FLAGS.iter().find_map(|name| Some((name, payload.get(name)?.as_bool()?))));
    if let Some((name, false)) = flag.filter(|_| judges) {
        return failed(format!("the answer's `{name}` is false"));
    }
    if let Some(pattern) = gate.failure_pattern.as_ref().filter(|pattern| pattern.finds(&text)) {
        return failed(format!("the output has `{pattern}`, which is a failure"));
    }
    match &gate.success_pattern {
        Some(pattern) if !pattern.finds(&text) => failed(format!("the output has no `{pattern}`")),
        Some(pattern) => Ok(format!("the output has `{pattern}`")),
        None => Ok(match (flag, status) {
            (Some((name, true)), _) => format!("the answer's `{name}` is true"),
            (_, Some(status)) => format!("the command ended with exit status {status}"),
            _ => "the tool succeeded".into(),
        }),
    }
}

/// The exit status of the command that the answer tells of, if it tells of one; why it is not what is expected.
fn ended(expected: Option<ExitCode>, payload: Option<&Json>) -> Result<Option<i64>, String> {
    let found = |names: [&str; 2]| names.into_iter().find_map(|name| payload?.get(name));
    if found(TIMED_OUT) == Some(&Json::Bool(true)) {
        return Err("the command was ended by its time limit".into());
    }
    let wanted = match expected {
        Some(ExitCode::Is(wanted)) => wanted,
        None | Some(ExitCode::Any) => 0,
    };
    match (found(EXIT_CODES).map(Json::as_i64), expected) {
        (None, None | Some(ExitCode::Any)) => Ok(None),
        (None, Some(ExitCode::Is(_))) => Err("the answer has no exit status, and one is expected".into()),
        (Some(None), _) => Err("the command has no exit status: it did not end by itself".into()),
        (Some(status), Some(ExitCode::Any)) => Ok(status),
        (Some(Some(status)), _) if status == wanted => Ok(Some(status)),
        (Some(Some(status)), _) => Err(format!("the command ended with exit status {status}, not {wanted}")),
    }
}

/// The structured content, or a text that is a JSON object or array.
fn payload(answer: &ToolAnswer) -> Option<Json> {
    answer.structured.clone().or_else(|| {
        let parsed: Json = serde_json::from_str(answer.text().trim()).ok()?;
        (parsed.is_object() || parsed.is_array()).then_some(parsed)
    })
}

fn output_contains(gate: &OutputContains, turns: &[TurnRecord]) -> Verdict {
    let mut texts = turns.iter().flat_map(|turn| &turn.steps).map(|step| match step {
        Step::Said { text, .. } => text,
        Step::Called(call) => &call.output,
    });
    match texts.any(|text| gate.pattern.finds(&text.text)) {
        true => Ok(format!("an output has `{}`", gate.pattern)),
        false => Err(format!("no output has `{}`", gate.pattern)),
    }
}

fn tools_called(gate: &ToolsCalled, turns: &[TurnRecord]) -> Verdict {
    let answered = |name: &String| {
        let mut calls = turns.iter().flat_map(TurnRecord::calls);
        calls.any(|call| call.tool.text == *name && call.problem.is_none())
    };
    let missing: Vec<&str> = gate.tools.iter().filter(|name| !answered(name)).map(String::as_str).collect();
    match missing.is_empty() {
        true => Ok("all of the tools were called".into()),
        false => Err(format!("never called, or never answered: `{}`", missing.join("`, `"))),
    }
}
