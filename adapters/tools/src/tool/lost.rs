//! How answers say what a sandbox has lost: `recovery` where a language's interpreter answers, `lost` where the sandbox does.

use dormouse_core::sandbox::{Lost, Notes};
use dormouse_core::{Error, ErrorCode, Recovery};
use serde_json::{Map, Value as Json, json};

use crate::schema::{self, Object};

/// Adds what was lost of all languages, and memory that cannot be opened, where there is any.
pub(crate) fn note(answer: &mut Json, notes: &Notes) {
    if !notes.lost.is_empty() {
        let of = |lost: &Lost| {
            let told = json!({"recovery": lost.recovery.as_str(), "reason": lost.reason});
            (lost.language.as_str().to_owned(), told)
        };
        answer["lost"] = notes.lost.iter().map(of).collect::<Map<_, _>>().into();
    }
    if !notes.older.is_empty() {
        let shown = notes.older.iter().map(
            |older| json!({"language": older.language.as_str(), "guest": older.guest, "bytes": older.bytes}),
        );
        answer["older_memory"] = shown.collect::<Vec<_>>().into();
    }
}

/// The schema of [`note`].
pub(crate) fn noted(object: Object) -> Object {
    let older = Object::new()
        .description("Memory of an interpreter whose guest is not here.")
        .required("language", schema::text("Its language."))
        .required("guest", schema::text("SHA-256 of the guest that it belongs to."))
        .required("bytes", schema::integer(0, "Bytes of its pages."))
        .build();
    let lost = Object::new()
        .description(
            "What was lost of interpreters and no run has told yet, by language: `recovery` (earlier, fresh) and `reason`; only when \
             something was.",
        )
        .open()
        .build();
    object.optional("lost", lost).optional(
        "older_memory",
        schema::list(
            &older,
            "Memory that belongs to other builds of guests; only when there is any. It is gone on from when such a build is there \
             again; sandbox_reset drops it.",
        ),
    )
}

/// Adds what was lost of the language that answers.
pub(crate) fn tell(answer: &mut Json, lost: Option<&Lost>) {
    if let Some(lost) = lost {
        answer["recovery"] = lost.recovery.as_str().into();
        answer["recovery_reason"] = lost.reason.as_str().into();
    }
}

/// The schema of [`tell`].
pub(crate) fn told(object: Object) -> Object {
    object.optional("recovery", recovery()).optional("recovery_reason", reason())
}

/// The schema of `recovery`.
pub(crate) fn recovery() -> Json {
    schema::text(
        "What the interpreter is, after something of it was lost: before_run (as before a run that was cut off), earlier (as before an \
         earlier run) or fresh. Said once.",
    )
}

/// The schema of `recovery_reason`.
pub(crate) fn reason() -> Json {
    schema::text("Why, where the end of this run does not say it.")
}

/// Copies both fields from a run's answer.
pub(crate) fn copy(answer: &mut Json, run: &Json) {
    for field in ["recovery", "recovery_reason"] {
        if let Some(value) = run.get(field) {
            answer[field] = value.clone();
        }
    }
}

/// A text with what was lost at its end, for who reads texts only.
pub(crate) fn with_text(mut text: String, recovery: Option<Recovery>, reason: Option<&str>) -> String {
    if let (Some(recovery), Some(reason)) = (recovery, reason) {
        text.push_str(&format!("\n(recovery: {}, {reason})", recovery.as_str()));
    }
    text
}

/// The error of a tool, with the way out that its profile has: others have arguments that it has not.
pub(crate) fn at_door(tool: &str, error: Error) -> Error {
    match (error.code(), tool.split_once('_')) {
        (ErrorCode::ArgsInvalid, Some(("rlm", "load"))) if error.message().contains("UTF-8") => {
            error.with_hint("only text in UTF-8 is loaded: have the file converted first")
        }
        (ErrorCode::LimitTime, Some(("rlm", "get" | "vars"))) => {
            error.with_hint("ask for less, or do the work in rlm_exec, which has a `timeout`")
        }
        (ErrorCode::StateDamaged, Some(("rlm", _))) => {
            error.with_hint("rlm_reset begins anew with fresh variables; the files are kept")
        }
        (ErrorCode::StateDamaged, Some(("sprite", _))) => {
            error.with_hint("sprite_restore goes back to an earlier checkpoint; the operator's `dormouse state check` tells what is whole")
        }
        _ => error,
    }
}
