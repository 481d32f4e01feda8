//! Arguments as they came, checked once against their table, before any work is done.

use std::{slice, vec};

use dormouse_core::{Error, ErrorCode, Result};
use serde_json::{Map, Value as Json};

use super::field::{Absent, Field, Kind};

/// Characters of an offending value that an error repeats.
const SHOWN: usize = 48;
/// Bytes of a word that is compared with names: a longer one is no typing mistake, and comparing costs its length.
const MOST_COMPARED: usize = 64;

/// The largest whole number that every JSON reader keeps exactly.
const EXACT: f64 = 9_007_199_254_740_991.0;

/// Checked arguments: every value has its type and lies within its bounds; defaults are filled in. They are taken one after the
/// other, in the order of the table.
#[derive(Debug)]
pub(crate) struct Checked<'a> {
    fields: slice::Iter<'a, Field>,
    values: vec::IntoIter<Found>,
}

/// The value of a field, and whether the caller gave it.
type Found = (Option<Json>, bool);

impl<'a> Checked<'a> {
    /// The next field, its value, and whether the caller gave it.
    ///
    /// # Errors
    /// `internal` when there is none: the table is not the one that is read.
    pub(crate) fn take(&mut self) -> Result<(&'a Field, Option<Json>, bool)> {
        match (self.fields.next(), self.values.next()) {
            (Some(field), Some((value, given))) => Ok((field, value, given)),
            _ => Err(Error::new(ErrorCode::Internal, "an argument is not in the tool's table")),
        }
    }
}

/// Checks `arguments` against the table.
///
/// # Errors
/// `args_invalid` for an unknown field, a missing one, a wrong type or a number out of range; `too_large` for a text that is too
/// long. An optional field that is null, or an empty text where there must be one, counts as left out. Each names the field, the value (cut) and the bound.
pub(crate) fn decode(fields: &[Field], mut arguments: Map<String, Json>) -> Result<Checked<'_>> {
    if let Some(unknown) = arguments.keys().find(|key| !fields.iter().any(|field| field.name == *key)) {
        return Err(unknown_field(fields, unknown));
    }
    let mut values: Vec<Found> = Vec::with_capacity(fields.len());
    for field in fields {
        values.push(match arguments.remove(field.name).filter(|value| !is_left_out(field, value)) {
            Some(value) => (Some(check(field, value)?), true),
            None => (default(field)?, false),
        });
    }
    Ok(Checked { fields: fields.iter(), values: values.into_iter() })
}

/// Whether a value is how some clients and models write that an optional field has none.
fn is_left_out(field: &Field, value: &Json) -> bool {
    let takes_empty = !matches!(field.kind, Kind::Text { min: 1.., .. } | Kind::Choice { .. });
    !field.is_required() && (value.is_null() || (!takes_empty && value.as_str() == Some("")))
}

fn default(field: &Field) -> Result<Option<Json>> {
    Ok(match &field.kind {
        Kind::Text { absent: Absent::Default(text), .. } => Some((*text).into()),
        Kind::Integer { absent: Absent::Default(number), .. }
        | Kind::Number { absent: Absent::Default(number), .. } => Some((*number).into()),
        Kind::Flag { default } => Some((*default).into()),
        Kind::Choice { absent: Absent::Default(word), .. } => Some((*word).into()),
        Kind::Text { absent: Absent::None, .. }
        | Kind::Integer { absent: Absent::None, .. }
        | Kind::Number { absent: Absent::None, .. }
        | Kind::Choice { absent: Absent::None, .. }
        | Kind::Object { needed: false }
        | Kind::Texts { .. } => None,
        Kind::Text { absent: Absent::Refused, .. }
        | Kind::Integer { absent: Absent::Refused, .. }
        | Kind::Number { absent: Absent::Refused, .. }
        | Kind::Choice { absent: Absent::Refused, .. }
        | Kind::Object { needed: true } => {
            return Err(Error::args_invalid(format!("the field `{}` is missing", field.name))
                .with_hint(format!("add `{}`: {}", field.name, expected(&field.kind))));
        }
    })
}

fn check(field: &Field, value: Json) -> Result<Json> {
    match (&field.kind, value) {
        (Kind::Flag { .. }, value @ Json::Bool(_)) => Ok(value),
        (Kind::Text { min, max, characters, .. }, Json::String(text)) => {
            text_within(field, text, (*min, *max), *characters)
        }
        (Kind::Integer { min, max, .. }, Json::Number(number)) => {
            let exact = number.as_u64().or_else(|| whole(number.as_f64()?));
            match exact {
                Some(exact) if (*min..=*max).contains(&exact) => Ok(exact.into()),
                _ => Err(out_of_range(field, &number, *min, *max)),
            }
        }
        (Kind::Number { min, max, .. }, Json::Number(number)) => {
            let next = number.as_u64().or_else(|| whole(number.as_f64()?.ceil()));
            match next {
                Some(next) if (*min..=*max).contains(&next) => Ok(next.into()),
                _ => {
                    let problem = format!("the field `{}` is {number}, outside {min} to {max}", field.name);
                    let hint = format!("give `{}` {}", field.name, expected(&field.kind));
                    Err(Error::args_invalid(problem).with_hint(hint))
                }
            }
        }
        (Kind::Choice { of, .. }, Json::String(word)) => {
            if of.contains(&word.as_str()) {
                return Ok(Json::String(word));
            }
            let problem = format!("the field `{}` is {}", field.name, shown(&word.into()));
            Err(Error::args_invalid(problem).with_hint(format!(
                "give `{}` {}",
                field.name,
                expected(&field.kind)
            )))
        }
        (Kind::Texts { most, bytes }, Json::Array(texts)) if texts.iter().all(Json::is_string) => {
            let size: usize = texts.iter().filter_map(Json::as_str).map(str::len).sum();
            if texts.len() <= *most && size <= *bytes {
                return Ok(Json::Array(texts));
            }
            let problem = format!(
                "the field `{}` has {} texts of {size} bytes, at most {most} of {bytes} bytes are taken",
                field.name,
                texts.len()
            );
            Err(Error::new(ErrorCode::TooLarge, problem))
        }
        (Kind::Object { .. }, value @ Json::Object(_)) => Ok(value),
        (kind, Json::Null) => Err(Error::args_invalid(format!("the field `{}` is null", field.name))
            // One that can be left out has been, by then.
            .with_hint(format!("give `{}` {}", field.name, expected(kind)))),
        (kind, other) => Err(Error::args_invalid(format!(
            "the field `{}` is {}, not {}: {}",
            field.name,
            type_of(&other),
            noun(kind),
            shown(&other)
        ))
        .with_hint(format!("give `{}` {}", field.name, expected(kind)))),
    }
}

fn text_within(
    field: &Field,
    text: String,
    (min, max): (usize, usize),
    characters: Option<usize>,
) -> Result<Json> {
    if text.len() < min {
        let problem =
            format!("the field `{}` has {} bytes, at least {min} is needed", field.name, text.len());
        return Err(Error::args_invalid(problem).with_hint(format!(
            "give `{}` {}",
            field.name,
            expected(&field.kind)
        )));
    }
    if text.len() > max {
        if characters.is_some() {
            let problem = format!("the field `{}` has {} bytes", field.name, text.len());
            return Err(Error::new(ErrorCode::TooLarge, problem).with_hint(format!(
                "give `{}` {}",
                field.name,
                expected(&field.kind)
            )));
        }
        let problem = format!("the field `{}` has {} bytes, at most {max} are taken", field.name, text.len());
        return Err(Error::new(ErrorCode::TooLarge, problem)
            .with_hint("send less, or have the operator mount a folder with the data"));
    }
    Ok(Json::String(text))
}

/// JSON has one kind of number: `5000.0` is a whole one.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be exact before")]
fn whole(number: f64) -> Option<u64> {
    (number.fract() == 0.0 && (0.0..=EXACT).contains(&number)).then_some(number as u64)
}

fn out_of_range(field: &Field, number: &serde_json::Number, min: u64, max: u64) -> Error {
    let problem = match number.as_f64() {
        Some(float) if float.fract() != 0.0 => {
            format!("the field `{}` is {number}, not a whole number", field.name)
        }
        _ => format!("the field `{}` is {number}, outside {min} to {max}", field.name),
    };
    Error::args_invalid(problem).with_hint(format!("give `{}` {}", field.name, expected(&field.kind)))
}

fn unknown_field(fields: &[Field], unknown: &str) -> Error {
    let error = Error::args_invalid(format!("there is no field {}", shown(&unknown.into())));
    match nearest(unknown, fields.iter().map(|field| field.name)) {
        Some(name) => error.with_hint(format!("did you mean `{name}`?")),
        None if fields.is_empty() => error.with_hint("this tool takes no arguments"),
        None => {
            let names: Vec<_> = fields.iter().map(|field| format!("`{}`", field.name)).collect();
            error.with_hint(format!("the fields are {}", names.join(", ")))
        }
    }
}

fn expected(kind: &Kind) -> String {
    match kind {
        Kind::Text { min, characters: Some(most), .. } => format!("a string of {min} to {most} characters"),
        Kind::Text { min, max, .. } => format!("a string of {min} to {max} bytes"),
        Kind::Integer { min, max, .. } => format!("a whole number from {min} to {max}"),
        Kind::Number { min, max, .. } => format!("a number from {min} to {max}"),
        Kind::Flag { .. } => "true or false".into(),
        Kind::Choice { of, .. } => format!("`{}`", of.join("`, `")),
        Kind::Texts { most, .. } => format!("a list of at most {most} strings"),
        Kind::Object { .. } => "an object".into(),
    }
}

fn noun(kind: &Kind) -> &'static str {
    match kind {
        Kind::Text { .. } => "a string",
        Kind::Integer { .. } => "a whole number",
        Kind::Number { .. } => "a number",
        Kind::Flag { .. } => "true or false",
        Kind::Choice { .. } => "one of its words",
        Kind::Texts { .. } => "a list of strings",
        Kind::Object { .. } => "an object",
    }
}

fn type_of(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "an array",
        Json::Object(_) => "an object",
    }
}

/// The beginning of a value as JSON, in backticks.
fn shown(value: &Json) -> String {
    let text = match value {
        // Large containers are not written out only to be cut.
        Json::Array(items) => format!("[{} items]", items.len()),
        Json::Object(entries) => format!("{{{} entries}}", entries.len()),
        Json::String(text) => text.escape_debug().take(SHOWN + 1).collect(),
        other => other.to_string(),
    };
    if text.chars().count() <= SHOWN {
        return format!("`{text}`");
    }
    format!("`{}…`", text.chars().take(SHOWN).collect::<String>())
}

/// The known name that `word` most likely stands for: the same beginning (`timeout` for `timeout_ms`), else at most two
/// edits away.
pub fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > MOST_COMPARED {
        return None;
    }
    known
        .map(|name| {
            let related = word.len() >= 4 && (name.starts_with(word) || word.starts_with(name));
            (if related { 1 } else { distance(word, name) }, name)
        })
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, name)| *distance <= 2 && *distance < name.len())
        .map(|(_, name)| name)
}

/// All names: those that are like `word` first, all others by name. A name that holds the word whole, such as
/// `mcp__box__Bash` for `Bash`, is as like as one with a single letter wrong.
pub fn by_likeness<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    const FAR: usize = 3;
    let word = word.to_lowercase();
    let unlike = |name: &str| match name.to_lowercase() {
        _ if word.is_empty() || word.len() > MOST_COMPARED || name.len() > 2 * MOST_COMPARED => FAR,
        name if name.contains(&word) => 1,
        name => distance(&word, &name).min(FAR),
    };
    let mut names: Vec<(usize, &str)> = known.map(|name| (unlike(name), name)).collect();
    names.sort_unstable();
    names.into_iter().map(|(_, name)| name).collect()
}

/// Levenshtein's distance, in bytes.
fn distance(a: &str, b: &str) -> usize {
    strsim::generic_levenshtein(&a.as_bytes().to_vec(), &b.as_bytes().to_vec())
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
