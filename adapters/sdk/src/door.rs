//! Errors in the words of a package: a method where a tool is named, and the options of its own engine where those of a server are.

use std::error::Error as _;

use dormouse::{Error, ErrorCode};
use dormouse_tools::{ERRORS, reworded};
use serde::Deserialize;
use serde_json::Value as Json;

/// What somebody else decides at a server, and nobody within a program.
const ELSEWHERE: &str =
    "an engine within a program cannot be given this: use a server (`dormouse serve`), or do without it";

/// How a package spells names of several words.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Spelling {
    /// `timeout_ms`, as the tools do.
    #[default]
    Snake,
    /// `timeoutMs`.
    Camel,
}

impl Spelling {
    /// A name as the package has it.
    fn name(self, name: &str) -> String {
        if self == Self::Snake {
            return name.to_owned();
        }
        let mut words = name.split('_');
        let first = words.next().unwrap_or_default().to_owned();
        words.fold(first, |told, word| {
            let (initial, rest) = word.split_at(word.len().min(1));
            told + &initial.to_uppercase() + rest
        })
    }

    /// A text, in which names between backquotes are spelt so. Codes of errors are the same everywhere.
    fn text(self, text: &str) -> String {
        let told = reworded(text, |tool| {
            let method = tool.strip_prefix("sandbox_").unwrap_or(tool);
            let method = if method == "eval" { "run" } else { method };
            Some(format!("`{}`", self.name(method)))
        });
        let is_name = |word: &str| {
            let is_plain = word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
            let is_code = ErrorCode::ALL.iter().any(|code| code.as_str() == word);
            is_plain && word.trim_matches('_').contains('_') && !word.starts_with("call_tool") && !is_code
        };
        let words = told.split('`').enumerate().map(|(place, word)| match place % 2 == 1 && is_name(word) {
            true => self.name(word),
            false => word.to_owned(),
        });
        words.collect::<Vec<_>>().join("`")
    }

    /// A hint, for who has an engine in his program.
    fn hint(self, code: &str, hint: &str) -> String {
        let is_for_operators = hint.contains("operator") || hint.contains("`--") || hint.contains(" --");
        if !is_for_operators {
            return self.text(hint);
        }
        let ours = match code {
            "network_denied" => {
                "make the Dormouse with `allow_net` or `network`, which say what may be reached"
            }
            "write_denied" => "a Dormouse that is made with `allow_writes` allows writes",
            "args_invalid" | "too_large" if hint.contains("ceiling") || hint.contains("allows") => {
                "ask for less, or make the Dormouse with a larger `max_timeout_ms` or `max_memory_bytes`"
            }
            "args_invalid" | "too_large" | "limit_memory" => return self.text(hint),
            "guest_missing" | "guest_mismatch" | "version_mismatch" => "install the package again",
            "quota_exceeded" => {
                "remove what is not needed, or use a server (`dormouse serve`), which has other quotas"
            }
            "state_unavailable" => "check the folder of state and its disk",
            _ => ELSEWHERE,
        };
        self.text(ours)
    }

    /// The errors of an answer in these words.
    pub(crate) fn answer(self, mut answer: Json) -> Json {
        for name in ERRORS {
            let Some(error) = answer.get_mut(name).filter(|error| error.is_object()) else { continue };
            let code = error["code"].as_str().unwrap_or_default().to_owned();
            if let Some(hint) = error["hint"].as_str().map(|hint| self.hint(&code, hint)) {
                error["hint"] = hint.into();
            }
            if let Some(message) = error["message"].as_str().map(|message| self.text(message)) {
                error["message"] = message.into();
            }
        }
        answer
    }

    /// An error in these words.
    pub(crate) fn error(self, error: Error) -> Error {
        let hint = self.hint(error.code().as_str(), error.hint().unwrap_or_else(|| error.code().advice()));
        error.with_hint(hint)
    }
}

/// What an error is to a program: its hint, and what it came of, nearest first.
pub fn hint_and_causes(error: &Error) -> (&str, Vec<String>) {
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    let hint = error.hint().unwrap_or_else(|| error.code().advice());
    (hint, causes.map(ToString::to_string).collect())
}

/// Why there are no persistent sandboxes.
pub(crate) fn without_state() -> Error {
    Error::new(ErrorCode::CapabilityUnavailable, "this Dormouse has no folder in which sandboxes could last")
        .with_hint("make it with `state`, the path of a folder")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_name_methods_and_options_as_the_package_has_them() {
        let hint = "sandbox_list_checkpoints lists them; `timeout_ms` is at most 5, see `limit_time`";
        assert_eq!(
            Spelling::Camel.text(hint),
            "`listCheckpoints` lists them; `timeoutMs` is at most 5, see `limit_time`"
        );
        assert_eq!(
            Spelling::Snake.text(hint),
            "`list_checkpoints` lists them; `timeout_ms` is at most 5, see `limit_time`"
        );
        assert_eq!(Spelling::Camel.text("a`b"), "a`b");
    }

    #[test]
    fn hints_for_operators_are_for_programs() {
        let answer = json!({
            "error": {"code": "write_denied", "message": "no", "hint": "have the operator allow writes"},
            "unsaved": {"code": "quota_exceeded", "message": "no", "hint": "raise it (`--quota saved=SIZE`)"},
            "stdout": "sandbox_vars",
        });
        let told = Spelling::Camel.answer(answer);
        assert_eq!(told["error"]["hint"], "a Dormouse that is made with `allowWrites` allows writes");
        assert!(told["unsaved"]["hint"].as_str().unwrap().contains("dormouse serve"));
        assert_eq!(told["stdout"], "sandbox_vars");
        let error = Spelling::Snake.error(Error::new(ErrorCode::CapabilityUnavailable, "no packages"));
        assert_eq!(error.hint(), Some(ELSEWHERE));
    }
}
