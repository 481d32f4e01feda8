//! How answers say what a sandbox has lost: `recovery` where a language's interpreter answers, `lost` where the sandbox does.

use dormouse_core::sandbox::{Lost, Notes};
use dormouse_core::{Error, ErrorCode, Outcome, Recovery};
use serde_json::{Map, Value as Json, json};

use crate::spec::schema::Object;
use crate::spec::{answer, outcome};

answer! {
    /// What was lost of all languages, and memory that cannot be opened.
    pub(crate) struct Noted {
        lost: Option<Json> = Object::new()
            .description(
                "Losses of interpreters that no run has reported yet, by language: `recovery` (earlier, fresh) and `reason`; only when \
                 something was.",
            )
            .open()
            .build(),
        older_memory: Option<Vec<Older>> =
            "Memory that belongs to other builds of guests; only if there is any. The language continues from it if \
                that build is installed again; sandbox_reset drops it.",
    }
}

answer! {
    /// Memory that cannot be opened.
    pub(crate) struct Older = "Memory of an interpreter whose guest is not here." {
        language: String = "Its language.",
        guest: String = "SHA-256 of the guest that it belongs to.",
        bytes: u64 = "Bytes of its pages.",
    }
}

impl From<&Notes> for Noted {
    fn from(notes: &Notes) -> Self {
        let of = |lost: &Lost| {
            let told = json!({"recovery": lost.recovery.as_str(), "reason": lost.reason});
            (lost.guest.as_str().to_owned(), told)
        };
        let lost: Map<String, Json> = notes.lost.iter().map(of).collect();
        let older = notes.older.iter().map(|older| Older {
            language: older.guest.as_str().to_owned(),
            guest: older.build.clone(),
            bytes: older.bytes,
        });
        let older: Vec<Older> = older.collect();
        Self {
            lost: Some(Json::Object(lost)).filter(|_| !notes.lost.is_empty()),
            older_memory: Some(older).filter(|older| !older.is_empty()),
        }
    }
}

answer! {
    /// What was lost of the language that answers.
    pub(crate) struct Told {
        recovery: Option<&'static str> =
            "What the interpreter is, after something of it was lost: before_run (as before a run that was cut off), earlier (as before an \
             earlier run) or fresh. Reported once.",
        recovery_reason: Option<String> = outcome::RECOVERY_REASON,
    }
}

impl From<Option<&Lost>> for Told {
    fn from(lost: Option<&Lost>) -> Self {
        Self {
            recovery: lost.map(|lost| lost.recovery.as_str()),
            recovery_reason: lost.map(|lost| lost.reason.clone()),
        }
    }
}

impl From<&Outcome> for Told {
    fn from(outcome: &Outcome) -> Self {
        Self {
            recovery: outcome.recovery.map(|recovery| recovery.as_str()),
            recovery_reason: outcome.recovery_reason.clone(),
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
            error.with_hint("rlm_reset starts with fresh variables and keeps the files")
        }
        (ErrorCode::StateDamaged, Some(("sprite", _))) => error.with_hint(
            "sprite_restore goes back to an earlier checkpoint; the operator's `dormouse state check` \
                shows what is intact",
        ),
        _ => error,
    }
}
