//! `{{scenario.KEY}}` in the arguments of tools and in what users say. Whatever else stands in braces is left as it is:
//! arguments hold code. (In `source_args` any other use of `{{` is an error; `dormouse-sources` sees to that.)

use std::collections::BTreeMap;

use dormouse_core::{Error, ErrorCode, Result};
use serde_json::{Map, Value as Json};

/// Longest key, in bytes.
const MAX_KEY: usize = 128;
/// Largest text or set of arguments, filled in, in bytes (4 MiB).
const MAX_FILLED: usize = 4 << 20;
/// What a template begins and ends with.
const OPEN: &str = "{{scenario.";
const CLOSE: &str = "}}";

/// Whether this can be the name of a variable.
pub(crate) fn is_key(key: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    !key.is_empty() && key.len() <= MAX_KEY && key.chars().all(plain)
}

/// The text in pieces: what stands before a template, and its key.
fn pieces(text: &str) -> (Vec<(&str, &str)>, &str) {
    let (mut pieces, mut rest, mut from) = (Vec::new(), text, 0);
    while let Some(at) = rest[from..].find(OPEN).map(|at| at + from) {
        let inner = &rest[at + OPEN.len()..];
        let key = inner.find(CLOSE).map(|end| &inner[..end]).filter(|key| is_key(key));
        match key {
            Some(key) => {
                pieces.push((&rest[..at], key));
                (rest, from) = (&inner[key.len() + CLOSE.len()..], 0);
            }
            None => from = at + OPEN.len(),
        }
    }
    (pieces, rest)
}

/// The text with every template filled in.
///
/// # Errors
/// `template_missing_key` naming the key, `too_large` past 4 MiB.
pub(crate) fn fill_text(text: &str, variables: &BTreeMap<String, String>) -> Result<String> {
    fill_within(text, variables, &mut MAX_FILLED.clone())
}

/// The arguments with every template in their strings filled in, however deep; keys are left alone.
///
/// # Errors
/// As [`fill_text`].
pub(crate) fn fill(
    arguments: &Map<String, Json>,
    variables: &BTreeMap<String, String>,
) -> Result<Map<String, Json>> {
    let mut room = MAX_FILLED;
    let filled =
        arguments.iter().map(|(key, value)| Ok((key.clone(), value_of(value, variables, &mut room)?)));
    filled.collect()
}

/// Whether every template of the text is one of these variables.
///
/// # Errors
/// `template_missing_key` naming the key.
pub(crate) fn check_text(text: &str, names: &[&str]) -> Result<()> {
    match pieces(text).0.into_iter().find(|(_, key)| !names.contains(key)) {
        Some((_, key)) => Err(missing(key)),
        None => Ok(()),
    }
}

/// Whether every template of the arguments is one of these variables.
///
/// # Errors
/// As [`check_text`].
pub(crate) fn check(arguments: &Map<String, Json>, names: &[&str]) -> Result<()> {
    arguments.values().try_for_each(|value| check_value(value, names))
}

fn check_value(value: &Json, names: &[&str]) -> Result<()> {
    match value {
        Json::String(text) => check_text(text, names),
        Json::Array(items) => items.iter().try_for_each(|item| check_value(item, names)),
        Json::Object(map) => check(map, names),
        _ => Ok(()),
    }
}

fn value_of(value: &Json, variables: &BTreeMap<String, String>, room: &mut usize) -> Result<Json> {
    Ok(match value {
        Json::String(text) => Json::String(fill_within(text, variables, room)?),
        Json::Array(items) => {
            Json::Array(items.iter().map(|item| value_of(item, variables, room)).collect::<Result<_>>()?)
        }
        Json::Object(map) => {
            let filled = map.iter().map(|(key, item)| Ok((key.clone(), value_of(item, variables, room)?)));
            Json::Object(filled.collect::<Result<_>>()?)
        }
        other => other.clone(),
    })
}

fn fill_within(text: &str, variables: &BTreeMap<String, String>, room: &mut usize) -> Result<String> {
    let (pieces, rest) = pieces(text);
    let mut filled = String::new();
    let mut add = |part: &str| {
        *room = room.checked_sub(part.len()).ok_or_else(|| {
            Error::new(
                ErrorCode::TooLarge,
                format!("arguments have more than {MAX_FILLED} bytes once filled in"),
            )
            .with_hint("use shorter variables")
        })?;
        filled.push_str(part);
        Ok::<_, Error>(())
    };
    for (before, key) in pieces {
        add(before)?;
        add(variables.get(key).ok_or_else(|| missing(key))?)?;
    }
    add(rest)?;
    Ok(filled)
}

fn missing(key: &str) -> Error {
    let message = format!("the scenario has no variable `{key}`, which {{{{scenario.{key}}}}} names");
    Error::new(ErrorCode::TemplateMissingKey, message)
        .with_hint(format!("add `{key}` to the variables of the scenario, or keep it by `save_as` before"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_variables_of_the_scenario_are_filled_in() {
        let variables = BTreeMap::from([("a".to_owned(), "x{{scenario.a}}".to_owned())]);
        let json = json!({"k": ["{{scenario.a}}", {"{{scenario.a}}": "f'{{n}}' {{scenario.}} {{ scenario.a }} {{scenario.a"}], "n": 1});
        let filled = fill(json.as_object().unwrap(), &variables).unwrap();
        let wanted = json!({"k": ["x{{scenario.a}}", {"{{scenario.a}}": "f'{{n}}' {{scenario.}} {{ scenario.a }} {{scenario.a"}], "n": 1});
        assert_eq!(Json::Object(filled), wanted);
    }

    #[test]
    fn a_missing_key_is_named() {
        let error = fill_text("{{scenario.branch}}", &BTreeMap::new()).unwrap_err();
        assert_eq!(error.code(), ErrorCode::TemplateMissingKey);
        assert!(error.message().contains("`branch`"), "{error}");
        assert!(check_text("a {{scenario.b}}", &["b"]).is_ok());
        assert!(check_text("a {{scenario.b}}{{scenario.c}}", &["b"]).is_err());
    }

    #[test]
    fn what_is_filled_in_is_bounded() {
        let variables = BTreeMap::from([("a".to_owned(), "x".repeat(64 << 10))]);
        let error = fill_text(&"{{scenario.a}}".repeat(65), &variables).unwrap_err();
        assert_eq!(error.code(), ErrorCode::TooLarge);
    }
}
