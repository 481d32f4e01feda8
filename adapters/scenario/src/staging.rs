//! Skills as mounts: read-only at `/skills/NAME`, in every entry whose source takes mounts (S0-34 … S0-37).

use std::path::PathBuf;

use dormouse_core::{Error, Result};
use dormouse_sources::{Entry, Registry};
use serde_json::{Value as Json, json};

/// The argument of a source that takes mounts.
const MOUNTS: &str = "mounts";

/// The entries with one mount for each skill, after those that the file has.
///
/// # Errors
/// `unknown_source`; `args_invalid` where `mounts` is no list, and for a folder whose path is no UTF-8.
pub(crate) fn staged(
    entries: &[Entry],
    skills: &[(String, PathBuf)],
    registry: &Registry,
) -> Result<Vec<Entry>> {
    entries.iter().map(|entry| staged_entry(entry.clone(), skills, registry)).collect()
}

fn staged_entry(mut entry: Entry, skills: &[(String, PathBuf)], registry: &Registry) -> Result<Entry> {
    let Some(source) = &entry.source else { return Ok(entry) };
    if skills.is_empty() || !registry.find(source)?.takes_mounts() {
        return Ok(entry);
    }
    let mounts = entry.source_args.entry(MOUNTS).or_insert_with(|| Json::Array(Vec::new()));
    let Json::Array(mounts) = mounts else {
        return Err(Error::args_invalid(format!("mcp server `{}`: `{MOUNTS}` is no list", entry.name)));
    };
    for (name, path) in skills {
        let Some(path) = path.to_str() else {
            return Err(Error::args_invalid(format!("the path of the skill `{name}` is no UTF-8")));
        };
        // What users wrote themselves for that place holds.
        let target = format!("/skills/{name}");
        if !mounts.iter().any(|mount| mount["target"] == target.as_str()) {
            mounts.push(json!({"source": path, "target": target, "readonly": true}));
        }
    }
    Ok(entry)
}
