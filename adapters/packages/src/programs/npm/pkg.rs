//! `npm pkg get`, `set` and `delete`: fields of `package.json`.

use dormouse_core::sandbox::Files;
use dormouse_core::{Error, GuestPath, ProgramEnd, Result};
use serde_json::{Map, Value as Json};

use super::{MANIFEST, beside, field, pretty, split};
use crate::programs::{text, usage};

const USAGE: &str = "npm pkg takes `get [FIELD...]`, `set FIELD=VALUE...` or `delete FIELD...`";

pub(super) async fn run(files: &mut dyn Files, folder: &GuestPath, words: &[&str]) -> Result<ProgramEnd> {
    let (words, options) = split(words);
    let Some((verb, fields)) = words.split_first() else { return Err(usage(USAGE)) };
    let path = beside(folder, MANIFEST)?;
    let mut whole = read(files, &path).await?;
    match (verb.as_str(), fields) {
        ("get", fields) => return Ok(ProgramEnd::said(pretty(&got(&whole, fields)?)?)),
        ("set", [_, ..]) => {
            for pair in fields {
                set(&mut whole, pair, options.contains(&"--json"))?;
            }
        }
        ("delete", [_, ..]) => {
            for name in fields {
                field::remove(&mut whole, &field::steps(name)?);
            }
        }
        _ => return Err(usage(USAGE)),
    }
    files.write(&path, pretty(&whole)?.as_bytes()).await?;
    Ok(ProgramEnd::default())
}

async fn read(files: &mut dyn Files, path: &GuestPath) -> Result<Json> {
    let read: Json = serde_json::from_str(text(files, path).await?.trim_start_matches('\u{feff}'))
        .map_err(|error| usage(format!("{path} is not JSON: line {}", error.line())))?;
    if read.is_object() { Ok(read) } else { Err(usage(format!("{path} is not an object"))) }
}

/// One field as it is, several by their names, and all where none is named.
fn got(whole: &Json, fields: &[String]) -> Result<Json> {
    if fields.is_empty() {
        return Ok(whole.clone());
    }
    let mut found = Map::new();
    for name in fields {
        if let Some(value) = field::get(whole, &field::steps(name)?) {
            found.insert(name.clone(), value.clone());
        }
    }
    match fields {
        [one] if found.contains_key(one) => Ok(found.remove(one).unwrap_or_default()),
        _ => Ok(Json::Object(found)),
    }
}

/// A pair is split at its first `=`; with `as_json` the value is JSON, else a text.
fn set(whole: &mut Json, pair: &str, as_json: bool) -> Result<()> {
    let (name, value) = pair.split_once('=').ok_or_else(|| usage(USAGE))?;
    let value = match as_json {
        true => serde_json::from_str(value).map_err(|error| {
            Error::args_invalid(format!("the value of `{}` is not JSON", name.escape_debug()))
                .with_hint("leave `--json` out if it is plain text")
                .with_source(error)
        })?,
        false => Json::from(value),
    };
    field::set(whole, &field::steps(name)?, value)
}
