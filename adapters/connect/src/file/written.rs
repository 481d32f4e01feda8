//! What a file of connections says, in JSON or TOML, before it is understood; and what is wrong with a part of it.

use std::path::Path;

use dormouse_core::{Error, Result};
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};

use crate::strict;

/// Characters of a parser's message that are told.
const SHOWN: usize = 300;
/// Our own keys, of a file and of a server.
const OWN_KEYS: [&str; 10] = [
    "rules",
    "check",
    "shared",
    "trust_hints",
    "untrusted",
    "outward",
    "idempotent",
    "start_timeout_ms",
    "openapi",
    "base_url",
];

/// What a file says, before it is understood.
pub(super) struct Written {
    pub(super) servers: Vec<(String, Json)>,
    /// Our own keys.
    pub(super) whole: Json,
}

impl Written {
    /// Of a file as clients write it: `mcpServers`, or `servers`.
    pub(super) fn of_json(text: &str, path: &Path) -> Result<Self> {
        let name = &path.display().to_string();
        let mut file = strict::read(text).map_err(|error| {
            let told = error.to_string();
            // The place stands before the message.
            let told = told.rsplit_once(" at line ").map_or(told.as_str(), |(before, _)| before);
            not_understood(&format!("{name}:{}:{}", error.line(), error.column()), told)
        })?;
        misplaced(name, &file)?;
        let Some(keys) = file.as_object_mut() else {
            return Err(not_understood(name, "it is no object with `mcpServers`"));
        };
        let mut servers = Vec::new();
        for key in ["mcpServers", "servers"] {
            match keys.remove(key) {
                None => {}
                Some(Json::Object(entries)) => servers.extend(entries),
                Some(_) => return Err(not_understood(name, &format!("`{key}` is no object of servers"))),
            }
        }
        let whole = keys.remove("dormouse").unwrap_or_else(|| json!({}));
        if servers.is_empty() {
            let keys: Vec<&String> = keys.keys().take(5).collect();
            tracing::warn!(
                file = name,
                ?keys,
                "the file names no server: it has neither `mcpServers` nor `servers`"
            );
        }
        Ok(Self { servers, whole })
    }

    /// Of a file in TOML: `[[connect]]` entries.
    pub(super) fn of_toml(text: &str, path: &Path) -> Result<Self> {
        let name = &path.display().to_string();
        let mut table: toml::Table = toml::from_str(text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
            not_understood(&format!("{name}:{line}:{column}"), error.message())
        })?;
        let whole = table.remove("dormouse").map_or_else(|| Ok(json!({})), |whole| of_value(name, whole))?;
        let entries = match table.remove("connect") {
            None => Vec::new(),
            Some(toml::Value::Array(entries)) => entries,
            Some(_) => return Err(not_understood(name, "`connect` is no list: write `[[connect]]`")),
        };
        if let Some(key) = table.keys().next() {
            let told =
                format!("the key `{}` is unknown: `connect` and `dormouse` are known", key.escape_debug());
            return Err(not_understood(name, &told));
        }
        if entries.is_empty() {
            tracing::warn!(file = name, "the file names no server: it has no `[[connect]]`");
        }
        let mut servers = Vec::new();
        for (at, entry) in entries.into_iter().enumerate() {
            let mut entry = of_value(name, entry)?;
            let server = entry.as_object_mut().and_then(|keys| keys.remove("name"));
            let Some(Json::String(server)) = server else {
                return Err(not_understood(name, &format!("`[[connect]]` number {} has no `name`", at + 1)));
            };
            servers.push((server, entry));
        }
        Ok(Self { servers, whole })
    }
}

fn of_value(name: &str, value: toml::Value) -> Result<Json> {
    serde_json::to_value(value).map_err(|error| not_understood(name, &error.to_string()))
}

/// A part of a file; what is wrong with it is told with its key.
pub(super) fn understood<T: DeserializeOwned>(place: &str, value: Json) -> Result<T> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let (key, told) = (error.path().to_string(), error.inner().to_string());
        let told = told.replace("u64", "a whole number");
        let told = told.replace("a sequence", "a list").replace("a map", "an object");
        match key.as_str() {
            "." | "?" => not_understood(place, &told),
            key => not_understood(place, &format!("`{key}`: {told}")),
        }
    })
}

/// Refuses keys of ours that stand beside those of clients: passed over, a rule would not count.
pub(super) fn misplaced(place: &str, entry: &Json) -> Result<()> {
    let Some(keys) = entry.as_object() else { return Ok(()) };
    match keys.keys().find(|key| OWN_KEYS.contains(&key.as_str())) {
        Some(key) => Err(Error::args_invalid(format!("{place}: `{key}` stands in the wrong place"))
            .with_hint(format!("put it below `dormouse`: `\"dormouse\": {{\"{key}\": …}}`"))),
        None => Ok(()),
    }
}

/// The error for what cannot be understood.
pub(super) fn not_understood(place: &str, told: &str) -> Error {
    let told: String = told.chars().map(|c| if c.is_control() { ' ' } else { c }).take(SHOWN).collect();
    Error::args_invalid(format!("{place}: {told}")).with_hint("docs/guides/connect.md describes the file")
}
