//! Answers: an outcome or an error as one JSON object, and as text. The command line's `--json` prints exactly
//! [`outcome`].

use dormouse_core::sandbox::{Executed, SandboxId};
use dormouse_core::{Captured, Error, Exception, Outcome, Status, Value};
use serde_json::{Map, Value as Json, json};

use crate::surface::Reply;
use crate::tool::exec;

/// Bytes of each stream's end that the text of a stopped run repeats.
const TAIL: usize = 1_024;

/// The result of a run, in the order of the documentation. Every field is there in every result, except `fuel_used`
/// (only when fuel was counted), `truncated` (only when output was dropped), `fallback_from` (only when another provider was to
/// run it), `recovery` (only when a run of a sandbox that
/// lasts was stopped, or began with less than the caller can know; then `recovery_reason` says why), `closed_files` (only when files could not be opened again) and
/// `warning` (only when there is one).
pub fn outcome(outcome: &Outcome) -> Json {
    let mut fields = head(outcome.is_ok(), outcome.value(), outcome.exception());
    fields.insert("stdout".into(), outcome.stdout.text.as_str().into());
    fields.insert("stderr".into(), outcome.stderr.text.as_str().into());
    fields.insert("exit_code".into(), outcome.exit_code().into());
    fields.insert("timed_out".into(), outcome.timed_out().into());
    fields.insert("error".into(), outcome.stopped().map_or(Json::Null, error));
    fields.insert("duration_ms".into(), milliseconds(outcome.usage.wall).into());
    fields.insert("memory_peak_bytes".into(), outcome.usage.memory_peak.into());
    if let Some(fuel) = outcome.usage.fuel {
        fields.insert("fuel_used".into(), fuel.into());
    }
    if outcome.stdout.is_truncated() || outcome.stderr.is_truncated() {
        let (out, err) = (outcome.stdout.dropped_bytes, outcome.stderr.dropped_bytes);
        fields.insert("truncated".into(), json!({"stdout_bytes": out, "stderr_bytes": err}));
    }
    fields.insert("provider".into(), outcome.provider.into());
    if let Some(wanted) = outcome.fallback_from {
        fields.insert("fallback_from".into(), wanted.into());
    }
    if let Some(recovery) = outcome.recovery {
        fields.insert("recovery".into(), recovery.as_str().into());
    }
    if let Some(warning) = &outcome.warning {
        fields.insert("warning".into(), error(warning));
    }
    if !outcome.closed_files.is_empty() {
        fields.insert("closed_files".into(), outcome.closed_files.clone().into());
    }
    if let Some(reason) = &outcome.recovery_reason {
        fields.insert("recovery_reason".into(), reason.as_str().into());
    }
    Json::Object(fields)
}

/// The result of a run that never began: the fields of [`outcome`], empty, with the error. `provider` is `none`, and
/// `exit_code` is what the command line would exit with.
pub fn refused(cause: &Error) -> Json {
    let mut fields = head(false, None, None);
    fields.insert("stdout".into(), "".into());
    fields.insert("stderr".into(), "".into());
    fields.insert("exit_code".into(), cause.code().exit_status().into());
    fields.insert("timed_out".into(), false.into());
    fields.insert("error".into(), error(cause));
    fields.insert("duration_ms".into(), 0.0.into());
    fields.insert("memory_peak_bytes".into(), 0.into());
    fields.insert("provider".into(), "none".into());
    Json::Object(fields)
}

/// What came of a command line in a sandbox, as `sandbox_exec` answers it, with the whole of its output.
pub fn executed(executed: Executed, sandbox: &SandboxId) -> Json {
    exec::whole(executed).fields(sandbox)
}

/// What a command line's missing commands could be had by; none when there are none.
pub fn missing(executed: &Executed) -> Option<Error> {
    exec::missing(executed)
}

/// An error: `{code, message, hint}`; the hint is the advice of its code where it has none of its own.
pub fn error(error: &Error) -> Json {
    json!({
        "code": error.code().as_str(),
        "message": error.to_string(),
        "hint": error.hint().unwrap_or_else(|| error.code().advice()),
    })
}

/// The text form of an error (S4-13): `Error: <message>`, and the hint on a line of its own.
pub fn error_text(error: &Error) -> String {
    match error.hint() {
        Some(hint) => format!("Error: {error}\nHint: {hint}"),
        None => format!("Error: {error}"),
    }
}

/// The answer to a run: structured, and as text. A value, an exception and an exit are answers; a run that a limit or a
/// crash ended is an error, whose text begins with the cause and repeats the end of what was written (S4-12, S4-13).
pub fn reply(of: &Outcome) -> Reply {
    reply_in(of, None)
}

/// The same for a run in a sandbox that lasts.
pub fn reply_in(of: &Outcome, sandbox: Option<&SandboxId>) -> Reply {
    let mut structured = outcome(of);
    if let Some(id) = sandbox {
        structured["sandbox_id"] = id.as_str().into();
    }
    match &of.status {
        Status::Stopped(cause) => {
            let mut text = error_text(cause);
            tail(&mut text, "stdout", &of.stdout);
            tail(&mut text, "stderr", &of.stderr);
            if let (Some(id), Some(recovery)) = (sandbox, of.recovery) {
                text.push_str(&format!("\nsandbox: {id}, recovery: {}", recovery.as_str()));
                if let Some(reason) = &of.recovery_reason {
                    text.push_str(&format!(" ({reason})"));
                }
            }
            Reply { structured, text, is_error: true }
        }
        _ => Reply { text: structured.to_string(), structured, is_error: false },
    }
}

/// The answer to a run that never began.
pub fn refusal(cause: &Error) -> Reply {
    Reply { structured: refused(cause), text: error_text(cause), is_error: true }
}

fn head(ok: bool, value: Option<&Value>, exception: Option<&Exception>) -> Map<String, Json> {
    // Values and exceptions are made of JSON types only, so writing them cannot fail.
    let value = value.and_then(|value| serde_json::to_value(value).ok());
    let exception = exception.and_then(|exception| serde_json::to_value(exception).ok());
    let mut fields = Map::new();
    fields.insert("ok".into(), ok.into());
    fields.insert("result".into(), value.unwrap_or_default());
    fields.insert("exception".into(), exception.unwrap_or_default());
    fields
}

/// Milliseconds with three decimals.
pub(crate) fn milliseconds(wall: std::time::Duration) -> f64 {
    (wall.as_secs_f64() * 1e6).round() / 1e3
}

/// Adds the end of a stream as a JSON string: data of the run's, that cannot pass for words of ours.
fn tail(text: &mut String, name: &str, stream: &Captured) {
    if stream.text.is_empty() {
        return;
    }
    let start = stream.text.ceil_char_boundary(stream.text.len().saturating_sub(TAIL));
    let end = &stream.text[start..];
    text.push_str(&format!(
        "\n{name} (last {} of {} bytes): {}",
        end.len(),
        stream.total_bytes,
        Json::from(end)
    ));
}

#[cfg(test)]
#[path = "encode_tests.rs"]
mod tests;
