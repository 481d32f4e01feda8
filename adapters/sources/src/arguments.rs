//! Checks a call's arguments against the tool's own schema. A schema is a stranger's: whatever it says, a check ends.
//!
//! References between subschemas are the one way to make a small schema costly. Those that lead in a circle, lead out of
//! the schema or unfold to more than 10 000 subschemas are not checked here; the server checks itself. Patterns are matched
//! in time that grows with the length of the pattern and of the text: there are few, they are small, and long texts are not
//! matched. Nothing is ever fetched.

use std::collections::HashMap;

use jsonschema::{PatternOptions, Validator};
use serde_json::Value as Json;

/// Most subschemas of a schema, references followed.
const MAX_UNFOLDED: u64 = 10_000;
/// Most bytes of a compiled pattern (64 KiB).
const MAX_PATTERN: usize = 64 << 10;
/// Most patterns of a schema.
const MAX_PATTERNS: usize = 16;
/// Bytes of all texts of the arguments that patterns are matched with (16 KiB).
const MAX_MATCHED: usize = 16 << 10;
/// Deepest nesting of a schema.
const MAX_DEPTH: usize = 64;
/// Characters of the first violation that are told.
const SHOWN: usize = 400;
/// Keywords that refer to another place.
const REFERS: [&str; 2] = ["$dynamicRef", "$recursiveRef"];

/// How many patterns the schemas of one server may have that are kept compiled: 16 MiB at most.
pub struct Patterns(usize);

impl Default for Patterns {
    fn default() -> Self {
        Self(256)
    }
}

/// The check of one tool's arguments.
pub struct Check {
    validator: Validator,
    has_patterns: bool,
}

impl Check {
    /// The check, or why there is none. Its patterns are taken off those that its server has left.
    ///
    /// # Errors
    /// What stands against it, in words.
    pub fn new(schema: &Json, left: &mut Patterns) -> Result<Self, String> {
        unfold(schema, schema, 0, &mut HashMap::new())?;
        let count = count_patterns(schema);
        if count > MAX_PATTERNS {
            return Err(format!("it has more than {MAX_PATTERNS} patterns"));
        }
        left.0 = left.0.checked_sub(count).ok_or("the server's tools have too many patterns")?;
        let patterns = PatternOptions::regex().size_limit(MAX_PATTERN).dfa_size_limit(MAX_PATTERN);
        jsonschema::options()
            .with_pattern_options(patterns)
            .build(schema)
            .map(|validator| Self { validator, has_patterns: count > 0 })
            .map_err(|error| shown(&error.to_string()))
    }

    /// What is wrong with the arguments first, and where.
    pub fn violation(&self, arguments: &Json) -> Option<String> {
        if self.has_patterns && text_bytes(arguments) > MAX_MATCHED {
            return None;
        }
        let error = self.validator.iter_errors(arguments).next()?;
        let told = shown(&error.to_string());
        let at = error.instance_path().to_string();
        Some(if at.is_empty() { told } else { format!("at `{}`: {told}", at.escape_debug()) })
    }
}

/// A text with what is not shown made visible, and quotes as they are: people and models read it.
fn shown(text: &str) -> String {
    let visible = |c: char| match c {
        '\'' | '"' | '\\' => vec![c],
        c => c.escape_debug().collect(),
    };
    text.chars().flat_map(visible).take(SHOWN).collect()
}

/// The patterns of a schema, and what may be one. It is no deeper than `unfold` has seen.
fn count_patterns(part: &Json) -> usize {
    match part {
        Json::Array(items) => items.iter().map(count_patterns).sum(),
        Json::Object(map) => {
            let own = usize::from(map.get("pattern").is_some_and(Json::is_string));
            let named =
                map.get("patternProperties").and_then(Json::as_object).map_or(0, serde_json::Map::len);
            own + named + map.values().map(count_patterns).sum::<usize>()
        }
        _ => 0,
    }
}

/// Bytes of all names and texts of a value.
fn text_bytes(value: &Json) -> usize {
    match value {
        Json::String(text) => text.len(),
        Json::Array(items) => items.iter().map(text_bytes).sum(),
        Json::Object(map) => map.iter().map(|(name, value)| name.len() + text_bytes(value)).sum(),
        _ => 0,
    }
}

/// How many subschemas a part of the schema comes to; None in the map: being counted.
fn unfold<'a>(
    root: &'a Json,
    part: &'a Json,
    depth: usize,
    known: &mut HashMap<&'a str, Option<u64>>,
) -> Result<u64, String> {
    if depth > MAX_DEPTH {
        return Err(format!("it is nested deeper than {MAX_DEPTH}"));
    }
    let mut count = 1_u64;
    match part {
        Json::Array(items) => {
            for item in items {
                count += unfold(root, item, depth + 1, known)?;
            }
        }
        Json::Object(map) => {
            if REFERS.iter().any(|word| map.contains_key(*word)) || (depth > 0 && map.contains_key("$id")) {
                return Err("its references depend on where it is used".into());
            }
            if let Some(target) = map.get("$ref").and_then(Json::as_str) {
                count += referred(root, target, depth, known)?;
            }
            for item in map.values() {
                count += unfold(root, item, depth + 1, known)?;
            }
        }
        _ => {}
    }
    if count > MAX_UNFOLDED {
        return Err(format!("it comes to more than {MAX_UNFOLDED} subschemas"));
    }
    Ok(count)
}

fn referred<'a>(
    root: &'a Json,
    target: &'a str,
    depth: usize,
    known: &mut HashMap<&'a str, Option<u64>>,
) -> Result<u64, String> {
    match known.get(target) {
        Some(Some(count)) => return Ok(*count),
        Some(None) => return Err("its references lead in a circle".into()),
        None => {}
    }
    let pointer = target.strip_prefix('#').filter(|pointer| pointer.starts_with('/'));
    let Some(part) = pointer.and_then(|pointer| root.pointer(pointer)) else {
        return Err("a reference leads out of it, or in a circle".into());
    };
    known.insert(target, None);
    let count = unfold(root, part, depth + 1, known)?;
    known.insert(target, Some(count));
    Ok(count)
}

#[cfg(test)]
#[path = "arguments_tests.rs"]
mod tests;
