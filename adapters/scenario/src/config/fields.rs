//! Fields that are checked where they are read, so that the error has their place.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::Value as Json;

/// Longest pattern, in bytes.
const MAX_PATTERN: usize = 4 << 10;
/// Largest compiled pattern, in bytes.
const MAX_COMPILED: usize = 1 << 20;

/// A regular expression of the crate `regex`: linear time, no look-around, found anywhere in the text. At most 4 KiB.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct Pattern(regex::Regex);

impl Pattern {
    /// Whether it is found in the text.
    pub fn finds(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if text.len() > MAX_PATTERN {
            return Err(format!("a pattern has at most {MAX_PATTERN} bytes"));
        }
        regex::RegexBuilder::new(&text)
            .size_limit(MAX_COMPILED)
            .dfa_size_limit(MAX_COMPILED)
            .build()
            .map(Self)
            .map_err(|error| {
                let text = error.to_string();
                let why = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
                format!("the pattern is not a regular expression: {why}")
            })
    }
}

impl JsonSchema for Pattern {
    fn schema_name() -> Cow<'static, str> {
        "Pattern".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "format": "regex", "maxLength": MAX_PATTERN, "description": "A regular expression, found anywhere in the text."})
    }
}

/// A JSON Pointer (RFC 6901): empty, or begins with `/`.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(try_from = "String")]
pub struct Pointer(String);

impl Pointer {
    /// What it points to.
    pub fn find<'a>(&self, value: &'a Json) -> Option<&'a Json> {
        value.pointer(&self.0)
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for Pointer {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.is_empty() || text.starts_with('/') {
            true => Ok(Self(text)),
            false => Err("a JSON Pointer is empty or begins with `/`, such as `/passed`".into()),
        }
    }
}

impl JsonSchema for Pointer {
    fn schema_name() -> Cow<'static, str> {
        "Pointer".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "format": "json-pointer", "description": "A JSON Pointer (RFC 6901)."})
    }
}

/// The exit status that a command must have: a whole number, or `any`.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(try_from = "Json")]
pub enum ExitCode {
    /// This one.
    Is(i64),
    /// Whichever, but it must have ended by itself.
    Any,
}

impl TryFrom<Json> for ExitCode {
    type Error = String;

    fn try_from(value: Json) -> Result<Self, String> {
        match &value {
            Json::String(word) if word == "any" => Ok(Self::Any),
            _ => value.as_i64().map(Self::Is).ok_or_else(|| "`exit_code` is a whole number, or `any`".into()),
        }
    }
}

impl JsonSchema for ExitCode {
    fn schema_name() -> Cow<'static, str> {
        "ExitCode".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"anyOf": [{"type": "integer"}, {"const": "any"}], "description": "An exit status, or `any`."})
    }
}
