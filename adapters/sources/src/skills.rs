//! Staging of skills (S0-34 … S0-37): one read-only mount a skill, added to what is mounted by hand.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use dormouse_core::{Error, Result};
use serde_json::{Map, Value as Json, json};

use crate::{Entry, Registry, Transport};

/// Where a skill is seen.
const PLACE: &str = "/skills";
/// Longest name of a skill, in bytes.
const MAX_NAME: usize = 64;

/// Adds a mount `/skills/NAME` for each skill. A mount by hand of the same target wins.
///
/// # Errors
/// `args_invalid` for a name that is not letters, digits, `-` and `_`, a path that is not absolute or not UTF-8, and for
/// `mounts` that are no list.
pub fn stage(skills: &[(String, PathBuf)], args: &mut Map<String, Json>) -> Result<()> {
    if skills.is_empty() {
        return Ok(());
    }
    let mounts = args.entry("mounts").or_insert_with(|| Json::Array(Vec::new()));
    if mounts.is_null() {
        *mounts = Json::Array(Vec::new());
    }
    let Json::Array(mounts) = mounts else {
        return Err(Error::args_invalid("the argument `mounts` is not a list"));
    };
    let targets = mounts.iter().filter_map(|mount| mount["target"].as_str());
    let mut taken: HashSet<String> = targets.map(|target| target.trim_end_matches('/').to_owned()).collect();
    for (name, source) in skills {
        let (target, source) = (format!("{PLACE}/{}", checked(name)?), absolute(name, source)?);
        if taken.insert(target.clone()) {
            mounts.push(json!({"source": source, "target": target, "readonly": true}));
        }
    }
    Ok(())
}

/// Stages the skills in every entry whose source takes mounts.
///
/// # Errors
/// As [`stage`]; `unknown_source`.
pub fn stage_all(skills: &[(String, PathBuf)], entries: &mut [Entry], registry: &Registry) -> Result<()> {
    for entry in entries {
        let Transport::Source { source, .. } = entry.transport()? else { continue };
        if registry.find(source).map_err(|error| entry.named(error))?.takes_mounts() {
            let mut args = std::mem::take(&mut entry.source_args);
            let staged = stage(skills, &mut args);
            entry.source_args = args;
            staged.map_err(|error| entry.named(error))?;
        }
    }
    Ok(())
}

fn checked(name: &str) -> Result<&str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(plain) {
        let shown: String = name.escape_debug().take(MAX_NAME).collect();
        return Err(Error::args_invalid(format!("`{shown}` is not a valid name of a skill"))
            .with_hint("use at most 64 letters, digits, `-` and `_`"));
    }
    Ok(name)
}

fn absolute<'a>(name: &str, source: &'a Path) -> Result<&'a str> {
    match source.to_str() {
        // What a path holds is no template.
        Some(path) if source.is_absolute() && !path.contains("{{") => Ok(path),
        _ => Err(Error::args_invalid(format!("the folder of the skill `{name}` cannot be mounted"))
            .with_hint("its path is to be absolute and UTF-8, without `{{`")),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::testing::Pretend;

    fn skills(names: &[&str]) -> Vec<(String, PathBuf)> {
        names.iter().map(|name| ((*name).to_owned(), Path::new("/host").join(name))).collect()
    }

    fn staged(names: &[&str], args: Json) -> Json {
        let Json::Object(mut args) = args else { panic!("a map") };
        stage(&skills(names), &mut args).unwrap();
        args.into()
    }

    #[test]
    fn skills_and_mounts_by_hand_stand_side_by_side_and_the_hand_wins() {
        let one = json!({"source": "/host/a", "target": "/skills/a", "readonly": true});
        assert_eq!(staged(&["a"], json!({})), json!({"mounts": [one]}));
        assert_eq!(staged(&["a"], json!({"mounts": null})), json!({"mounts": [one]}));
        assert_eq!(staged(&[], json!({"image": "x"})), json!({"image": "x"}));
        let hand = json!([{"source": "/mine", "target": "/skills/b/"}, {"source": "/d", "target": "/data"}]);
        let expected = json!([hand[0], hand[1], one]);
        assert_eq!(staged(&["a", "b"], json!({"mounts": hand}))["mounts"], expected);
    }

    #[test]
    fn what_cannot_be_staged_is_refused() {
        let refused = [("a/b", "/x"), ("", "/x"), ("a", "x"), ("a", "/{{x"), ("..", "/x")];
        for (name, path) in refused {
            assert!(stage(&[(name.into(), path.into())], &mut Map::new()).is_err(), "{name} {path}");
        }
        let mut args = Map::from_iter([("mounts".to_owned(), json!("x"))]);
        assert!(stage(&skills(&["a"]), &mut args).is_err());
    }

    #[test]
    fn only_sources_that_take_mounts_get_them() {
        let mut registry = Registry::default();
        registry.register("pretend", Arc::new(Pretend::default()));
        let entry = json!({"name": "a", "source": "pretend", "scope": "run"});
        let mut entries = [Entry::parse(entry).unwrap()];
        stage_all(&skills(&["a"]), &mut entries, &registry).unwrap();
        assert!(entries[0].source_args.is_empty());
    }
}
