//! `{{scenario.KEY}}` in the strings of `source_args` (S0-13 … S0-15), and no other form: no fallbacks, no expressions.
//!
//! A key has letters, digits, `_`, `-` and `.`. Values are texts, numbers and flags; what they hold is never read as a
//! template again, so a literal `{{` comes by way of a variable. Keys of maps are left alone.

use dormouse_core::{Error, ErrorCode, Result};
use serde_json::{Map, Value as Json};

/// What a template begins and ends with.
const OPEN: &str = "{{";
const CLOSE: &str = "}}";
const PREFIX: &str = "scenario.";
/// Longest key, in bytes.
const MAX_KEY: usize = 128;
/// Most bytes of all texts together, once filled in (1 MiB).
const MAX_BYTES: usize = 1 << 20;
/// Deepest nesting of maps and lists.
const MAX_DEPTH: usize = 32;

/// A piece of a text.
enum Piece<'a> {
    Text(&'a str),
    Key(&'a str),
}

/// The arguments with every template filled in from the scenario's variables.
///
/// # Errors
/// `template_missing_key` naming the key and where it is used; `args_invalid` for any other use of `{{`, a variable that is
/// a list, a map or null, and nesting past 32; `too_large` past 1 MiB.
pub fn fill(args: &Map<String, Json>, variables: &Map<String, Json>) -> Result<Map<String, Json>> {
    let mut room = MAX_BYTES;
    let mut filled = Map::with_capacity(args.len());
    for (key, value) in args {
        let value = fill_value(value, &mut vec![key.clone()], variables, &mut room)?;
        filled.insert(key.clone(), value);
    }
    Ok(filled)
}

/// Every place that uses a template, and the key it names.
///
/// # Errors
/// As [`fill`], but for missing keys.
pub fn keys(args: &Map<String, Json>) -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    for (key, value) in args {
        find(value, &mut vec![key.clone()], &mut found)?;
    }
    Ok(found)
}

/// The error of a key that there is not.
pub(crate) fn missing(path: &str, key: &str) -> Error {
    let message =
        format!("source_args.{path} uses {{{{scenario.{key}}}}}, and the scenario has no variable `{key}`");
    Error::new(ErrorCode::TemplateMissingKey, message)
        .with_hint(format!("add `{key}` to the variables of the scenario"))
}

/// The error of a template where there is no scenario yet.
pub(crate) fn too_early(path: &str, key: &str) -> Error {
    let message = format!(
        "source_args.{path} uses {{{{scenario.{key}}}}}, and an entry of scope run is opened before there is a scenario"
    );
    Error::new(ErrorCode::TemplateMissingKey, message).with_hint("use scope scenario or session")
}

fn find(value: &Json, path: &mut Vec<String>, found: &mut Vec<(String, String)>) -> Result<()> {
    check_depth(path)?;
    match value {
        Json::String(text) => {
            for piece in pieces(text, path)? {
                if let Piece::Key(key) = piece {
                    found.push((shown(path), key.to_owned()));
                }
            }
        }
        Json::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                within(path, at.to_string(), |path| find(item, path, found))?;
            }
        }
        Json::Object(map) => {
            for (key, item) in map {
                within(path, key.clone(), |path| find(item, path, found))?;
            }
        }
        _ => {}
    }
    Ok(())
}

fn fill_value(
    value: &Json,
    path: &mut Vec<String>,
    variables: &Map<String, Json>,
    room: &mut usize,
) -> Result<Json> {
    check_depth(path)?;
    Ok(match value {
        Json::String(text) => Json::String(fill_text(text, path, variables, room)?),
        Json::Array(items) => {
            let filled = items.iter().enumerate().map(|(at, item)| {
                within(path, at.to_string(), |path| fill_value(item, path, variables, room))
            });
            Json::Array(filled.collect::<Result<_>>()?)
        }
        Json::Object(map) => {
            let filled = map.iter().map(|(key, item)| {
                let item = within(path, key.clone(), |path| fill_value(item, path, variables, room))?;
                Ok((key.clone(), item))
            });
            Json::Object(filled.collect::<Result<_>>()?)
        }
        other => other.clone(),
    })
}

fn fill_text(text: &str, path: &[String], variables: &Map<String, Json>, room: &mut usize) -> Result<String> {
    let mut filled = String::new();
    for piece in pieces(text, path)? {
        let part = match piece {
            Piece::Text(text) => text.to_owned(),
            Piece::Key(key) => variable(key, path, variables)?,
        };
        *room = room.checked_sub(part.len()).ok_or_else(|| {
            Error::new(ErrorCode::TooLarge, format!("source_args have more than {MAX_BYTES} bytes"))
                .with_hint("use shorter variables")
        })?;
        filled.push_str(&part);
    }
    Ok(filled)
}

fn variable(key: &str, path: &[String], variables: &Map<String, Json>) -> Result<String> {
    match variables.get(key) {
        Some(Json::String(text)) => Ok(text.clone()),
        Some(Json::Number(number)) => Ok(number.to_string()),
        Some(Json::Bool(flag)) => Ok(flag.to_string()),
        Some(_) => Err(Error::args_invalid(format!(
            "source_args.{} uses the variable `{key}`, which is no text",
            shown(path)
        ))
        .with_hint("a variable is a text, a number or a flag")),
        None => Err(missing(&shown(path), key)),
    }
}

/// The text in pieces; strict about every `{{`.
fn pieces<'a>(text: &'a str, path: &[String]) -> Result<Vec<Piece<'a>>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(OPEN) {
        let (before, inner) = (&rest[..at], &rest[at + OPEN.len()..]);
        let key = inner.find(CLOSE).and_then(|end| inner[..end].strip_prefix(PREFIX));
        let Some(key) = key.filter(|key| is_key(key)) else {
            let cut: String = rest[at..].escape_debug().take(48).collect();
            return Err(Error::args_invalid(format!(
                "source_args.{} has no template in `{cut}`",
                shown(path)
            ))
            .with_hint(
                "the only form is {{scenario.KEY}}, without spaces; a literal {{ comes by way of a variable",
            ));
        };
        pieces.push(Piece::Text(before));
        pieces.push(Piece::Key(key));
        rest = &inner[PREFIX.len() + key.len() + CLOSE.len()..];
    }
    pieces.push(Piece::Text(rest));
    Ok(pieces)
}

fn is_key(key: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    !key.is_empty() && key.len() <= MAX_KEY && key.chars().all(plain)
}

fn within<T>(path: &mut Vec<String>, step: String, then: impl FnOnce(&mut Vec<String>) -> T) -> T {
    path.push(step);
    let done = then(path);
    path.pop();
    done
}

fn check_depth(path: &[String]) -> Result<()> {
    if path.len() > MAX_DEPTH {
        return Err(Error::args_invalid(format!("source_args are nested deeper than {MAX_DEPTH}")));
    }
    Ok(())
}

/// Where in the arguments: the steps with dots, cut.
fn shown(path: &[String]) -> String {
    path.join(".").escape_debug().take(200).collect()
}

#[cfg(test)]
#[path = "template_tests.rs"]
mod tests;
