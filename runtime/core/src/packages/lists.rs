//! Requirements from the files that projects keep them in.

use serde_json::Value as Json;

use super::PackageRequest;
use crate::{Error, ErrorCode, Result};

/// Largest list, in bytes (1 MiB).
const MAX: usize = 1 << 20;

/// The requirements of a `requirements.txt`: comments, continued lines and `--hash` options are understood.
///
/// # Errors
/// `args_invalid` for any other option (`-r`, `-e`, `--index-url`), naming the line; `too_large` past 1 MiB or
/// [`PackageRequest::MAX_REQUIREMENTS`].
pub fn requirements_txt(text: &str) -> Result<Vec<String>> {
    bounded(text.len())?;
    let mut found = Vec::new();
    let mut lines = text.trim_start_matches('\u{feff}').lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let mut whole = line.to_owned();
        while whole.ends_with('\\') {
            whole.pop();
            let Some((_, next)) = lines.next() else { break };
            whole.push_str(next);
        }
        // A comment begins the line, or follows white space.
        let end = whole
            .match_indices('#')
            .map(|(at, _)| at)
            .find(|at| whole[..*at].chars().next_back().is_none_or(char::is_whitespace));
        let line = whole[..end.unwrap_or(whole.len())].trim();
        if line.is_empty() {
            continue;
        }
        let other = line.split_whitespace().find(|word| word.starts_with('-') && !word.starts_with("--hash"));
        if let Some(option) = other {
            let shown: String = option.escape_debug().take(64).collect();
            let message = format!("line {} has the option `{shown}`, which is not taken", number + 1);
            return Err(Error::args_invalid(message)
                .with_hint("write one requirement a line; the index is the operator's"));
        }
        found.push(line.to_owned());
        counted(found.len())?;
    }
    Ok(found)
}

/// The requirements of a `package.json`: its `dependencies`, `optionalDependencies` and, unless `production`, its
/// `devDependencies`.
///
/// # Errors
/// `args_invalid` when it is no such file; `too_large` as [`requirements_txt`].
pub fn package_json(text: &str, production: bool) -> Result<Vec<String>> {
    bounded(text.len())?;
    let bad = |why: &str| Error::args_invalid(format!("`package.json` {why}"));
    let parsed: Json = serde_json::from_str(text.trim_start_matches('\u{feff}'))
        .map_err(|error| bad(&format!("is no JSON: line {}", error.line())))?;
    if !parsed.is_object() {
        return Err(bad("is no object"));
    }
    let mut found = Vec::new();
    for field in ["dependencies", "optionalDependencies", "devDependencies"] {
        if field == "devDependencies" && production {
            continue;
        }
        let named = match &parsed[field] {
            Json::Null => continue,
            Json::Object(named) => named,
            _ => return Err(bad(&format!("has `{field}` that is no object"))),
        };
        for (name, range) in named {
            let Some(range) = range.as_str() else { return Err(bad("has a range that is no text")) };
            let range = if range.trim().is_empty() { "*" } else { range };
            found.push(format!("{name}@{range}"));
            counted(found.len())?;
        }
    }
    Ok(found)
}

fn bounded(bytes: usize) -> Result<()> {
    if bytes <= MAX {
        return Ok(());
    }
    Err(Error::new(ErrorCode::TooLarge, format!("a list of requirements has more than {MAX} bytes")))
}

fn counted(count: usize) -> Result<()> {
    let most = PackageRequest::MAX_REQUIREMENTS;
    if count <= most {
        return Ok(());
    }
    Err(Error::new(ErrorCode::TooLarge, format!("a list has more than {most} requirements")))
}
