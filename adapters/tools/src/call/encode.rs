//! Answers: an outcome or an error as one JSON object, and as text. The command line's `--json` prints exactly
//! [`outcome()`].

use dormouse_core::sandbox::{Run, SandboxId};
use dormouse_core::{Captured, Error, Exception, Outcome, Status, Value};
use serde_json::Value as Json;

use super::{Reply, unsaved};
use crate::network::{self, UsedShown};
use crate::spec::{
    Answered as _, ErrorFields, Flat, Inline, Nested, OrNull, answer, answer::Part, error_schema, list_of,
    outcome,
};

/// Bytes of each stream's end that the text of a stopped run repeats.
const TAIL: usize = 1_024;

answer! {
    /// The result of a run.
    pub(crate) struct Ran {
        head: Flat<Head> = Inline,
        duration_ms: f64 = "Wall-clock time of the run in milliseconds.",
        tail: Flat<Tail> = Inline,
    }
}

answer! {
    /// What a run came to.
    pub(crate) struct Head {
        ok: bool = "True when the snippet ran to its end, or exited with status 0.",
        result: OrNull<Value> = outcome::result(),
        exception: OrNull<Exception> = outcome::exception(),
        stdout: String = "Standard output, cut at `output_bytes`. Untrusted: written by the snippet.",
        stderr: String = "Standard error, cut at `output_bytes`. Untrusted: written by the snippet.",
        exit_code: i32 = "0; 1 after an exception; the snippet's own status; 124 after the time limit; 137 after another limit; \
             2 for arguments that were refused.",
        timed_out: bool = "True when the time limit ended the run.",
        error: OrNull<ErrorFields> = error_schema("Why the run was stopped or refused; null when it was not."),
    }
}

answer! {
    /// What it took, and what is to be known besides.
    pub(crate) struct Tail {
        memory_peak_bytes: u64 = "Largest memory of the run in bytes, interpreter included.",
        fuel_used: Option<u64> = "Executed operations; only when `fuel` was given.",
        truncated: Option<Nested<Truncated>> = "Bytes of output that were dropped; only when some were.",
        provider: &'static str = "The provider that ran it, such as `wasm`; `none` when nothing ran.",
        fallback_from: Option<&'static str> =
            "The provider that was requested but unavailable; only if another one ran it.",
        sandbox_id: Option<SandboxId> = "The sandbox that it ran in; only when that lasts.",
        run_id: Option<String> = "The run that goes on in the background; only with `background`.",
        unsaved: Option<ErrorFields> = unsaved::schema(),
        recovery: Option<&'static str> = "What the variables are after a run that was stopped in a persistent sandbox: \
             before_run (as before it), earlier (as before an earlier run) or fresh; or their state at the start of \
             this run, if something had been lost before. Reported once.",
        recovery_reason: Option<String> = outcome::RECOVERY_REASON,
        warning: Option<ErrorFields> = outcome::warning(),
        closed_files: Option<Vec<String>> = list_of("Its path.", outcome::CLOSED_FILES),
        network: Option<Nested<UsedShown>> = "What the run did with its network; only if it has one.",
    }
}

answer! {
    /// Bytes of output that were dropped.
    pub(crate) struct Truncated {
        stdout_bytes: u64 = "Bytes dropped of standard output.",
        stderr_bytes: u64 = "Bytes dropped of standard error.",
    }
}

// Values and exceptions are made of JSON types only, so writing them cannot fail.
impl Part for Value {
    fn json(self) -> Option<Json> {
        serde_json::to_value(self).ok()
    }
}

impl Part for Exception {
    fn json(self) -> Option<Json> {
        serde_json::to_value(self).ok()
    }
}

impl Head {
    /// What this run came to.
    pub(crate) fn of(outcome: &Outcome) -> Self {
        Self {
            ok: outcome.is_ok(),
            result: OrNull(outcome.value().cloned()),
            exception: OrNull(outcome.exception().cloned()),
            stdout: outcome.stdout.text.clone(),
            stderr: outcome.stderr.text.clone(),
            exit_code: outcome.exit_code(),
            timed_out: outcome.timed_out(),
            error: OrNull(outcome.stopped().map(ErrorFields::of)),
        }
    }

    /// Of a run that never began; `exit_code` is what the command line would exit with.
    pub(crate) fn refused(cause: &Error) -> Self {
        Self {
            ok: false,
            result: OrNull(None),
            exception: OrNull(None),
            stdout: String::new(),
            stderr: String::new(),
            exit_code: cause.code().exit_status().into(),
            timed_out: false,
            error: OrNull(Some(ErrorFields::of(cause))),
        }
    }
}

impl Tail {
    /// What this run took; in a sandbox that lasts, in which.
    pub(crate) fn of(outcome: &Outcome, sandbox: Option<&SandboxId>) -> Self {
        let (out, err) = (&outcome.stdout, &outcome.stderr);
        let truncated = (out.is_truncated() || err.is_truncated())
            .then_some(Truncated { stdout_bytes: out.dropped_bytes, stderr_bytes: err.dropped_bytes });
        Self {
            memory_peak_bytes: outcome.usage.memory_peak,
            fuel_used: outcome.usage.fuel,
            truncated: truncated.map(Nested),
            provider: outcome.provider,
            fallback_from: outcome.fallback_from,
            sandbox_id: sandbox.cloned(),
            run_id: None,
            unsaved: None,
            recovery: outcome.recovery.map(|recovery| recovery.as_str()),
            recovery_reason: outcome.recovery_reason.clone(),
            warning: outcome.warning.as_ref().map(ErrorFields::of),
            closed_files: Some(outcome.closed_files.clone()).filter(|files| !files.is_empty()),
            network: network::used(outcome.network.as_ref()),
        }
    }

    /// Of a run that never began: `provider` is `none`.
    pub(crate) fn refused() -> Self {
        Self {
            memory_peak_bytes: 0,
            fuel_used: None,
            truncated: None,
            provider: "none",
            fallback_from: None,
            sandbox_id: None,
            run_id: None,
            unsaved: None,
            recovery: None,
            recovery_reason: None,
            warning: None,
            closed_files: None,
            network: None,
        }
    }
}

/// The result of a run, in the order of the documentation. Every field is there in every result, except `fuel_used`
/// (only when fuel was counted), `truncated` (only when output was dropped), `fallback_from` (only when another provider was to
/// run it), `recovery` (only when a run of a sandbox that
/// lasts was stopped, or began with less than the caller can know; then `recovery_reason` says why), `closed_files` (only when files could not be opened again) and
/// `warning` (only when there is one).
pub fn outcome(outcome: &Outcome) -> Json {
    ran(outcome, None)
}

/// The same for a run in a sandbox that lasts, with its id.
pub fn outcome_in(outcome: &Outcome, sandbox: &SandboxId) -> Json {
    ran(outcome, Some(sandbox))
}

fn ran(outcome: &Outcome, sandbox: Option<&SandboxId>) -> Json {
    let duration_ms = milliseconds(outcome.usage.wall);
    let ran = Ran { head: Flat(Head::of(outcome)), duration_ms, tail: Flat(Tail::of(outcome, sandbox)) };
    Json::Object(ran.into_fields())
}

/// The answer to a run that goes on in the background.
pub(crate) fn started(run: &Run) -> Reply {
    let head = Head {
        ok: true,
        result: OrNull(None),
        exception: OrNull(None),
        stdout: String::new(),
        stderr: String::new(),
        exit_code: 0,
        timed_out: false,
        error: OrNull(None),
    };
    let (sandbox_id, run_id) = (Some(run.sandbox.clone()), Some(run.id.to_string()));
    let tail = Tail { sandbox_id, run_id, ..Tail::refused() };
    let structured = Json::Object(Ran { head: Flat(head), duration_ms: 0.0, tail: Flat(tail) }.into_fields());
    Reply { text: structured.to_string(), structured, is_error: false }
}

/// The result of a run that never began: the fields of [`outcome()`], empty, with the error. `provider` is `none`, and
/// `exit_code` is what the command line would exit with.
pub fn refused(cause: &Error) -> Json {
    let ran = Ran { head: Flat(Head::refused(cause)), duration_ms: 0.0, tail: Flat(Tail::refused()) };
    Json::Object(ran.into_fields())
}

/// An error: `{code, message, hint}`; the hint is the advice of its code where it has none of its own.
pub fn error(error: &Error) -> Json {
    ErrorFields::of(error).into_json()
}

/// The text form of an error (S4-13): `Error: <message>`, and the hint on a line of its own.
pub fn error_text(error: &Error) -> String {
    match error.hint() {
        Some(hint) => format!("Error: {error}\nHint: {hint}"),
        None => format!("Error: {error}"),
    }
}

/// The answer to a run: structured, and as text. A value, an exception and an exit are answers; a run that a limit or a
/// crash ended is an error, whose text begins with the cause and repeats the end of what was written (S4-12, S4-13). `sandbox`:
/// the one that it ran in, if that lasts.
pub(crate) fn reply(of: &Outcome, sandbox: Option<&SandboxId>) -> Reply {
    let structured = ran(of, sandbox);
    match stopped_text(of, sandbox) {
        Some(text) => Reply { structured, text, is_error: true },
        None => Reply { text: structured.to_string(), structured, is_error: false },
    }
}

/// The text of a run that a limit or a crash ended.
pub(crate) fn stopped_text(of: &Outcome, sandbox: Option<&SandboxId>) -> Option<String> {
    let Status::Stopped(cause) = &of.status else { return None };
    let mut text = error_text(cause);
    tail(&mut text, "stdout", &of.stdout);
    tail(&mut text, "stderr", &of.stderr);
    if let (Some(id), Some(recovery)) = (sandbox, of.recovery) {
        text.push_str(&format!("\nsandbox: {id}, recovery: {}", recovery.as_str()));
        if let Some(reason) = &of.recovery_reason {
            text.push_str(&format!(" ({reason})"));
        }
    }
    Some(text)
}

/// The answer to a run that never began.
pub(crate) fn refusal(cause: &Error) -> Reply {
    Reply { structured: refused(cause), text: error_text(cause), is_error: true }
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
