//! `cargo xtask check`: a crate is built in one version, but for the exceptions of deny.toml.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::{Context as _, Result, ensure};
use dormouse_chores::{process, workspace};
use semver::{Version, VersionReq};
use serde_json::Value as Json;

/// A version that may stand beside another one.
struct Exception {
    name: String,
    versions: VersionReq,
}

/// What is built in several versions without an exception, and exceptions that nothing needs.
pub(crate) fn problems() -> Result<Vec<String>> {
    let deny: toml::Table = fs::read_to_string(workspace().join("deny.toml"))?.parse()?;
    let target = deny["graph"]["targets"][0].as_str().context("deny.toml has no graph.targets")?;
    Ok(compared(&built(target)?, &exceptions(&deny)?))
}

fn exceptions(deny: &toml::Table) -> Result<Vec<Exception>> {
    let list = deny["bans"]["skip"].as_array().context("deny.toml has no bans.skip")?;
    list.iter()
        .map(|entry| {
            let field = |key: &str| entry.get(key).and_then(toml::Value::as_str).unwrap_or_default();
            let (name, versions) =
                field("crate").split_once('@').context("an exception is `NAME@VERSIONS`")?;
            ensure!(!field("reason").is_empty(), "deny.toml: the exception for {name} has no reason");
            Ok(Exception { name: name.to_owned(), versions: VersionReq::parse(versions)? })
        })
        .collect()
}

/// The versions of each crate that are built for a target.
fn built(target: &str) -> Result<BTreeMap<String, BTreeSet<Version>>> {
    let output = process::plain_cargo()
        .args(["metadata", "--format-version", "1", "--locked", "--filter-platform", target])
        .current_dir(workspace())
        .output()?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Json = serde_json::from_slice(&output.stdout)?;
    let nodes = metadata["resolve"]["nodes"].as_array().context("cargo metadata resolves nothing")?;
    let used: BTreeSet<&str> = nodes.iter().filter_map(|node| node["id"].as_str()).collect();
    let mut versions: BTreeMap<String, BTreeSet<Version>> = BTreeMap::new();
    for package in metadata["packages"].as_array().context("cargo metadata has no packages")? {
        let field = |key: &str| package[key].as_str().unwrap_or_default();
        if used.contains(field("id")) {
            versions.entry(field("name").to_owned()).or_default().insert(Version::parse(field("version"))?);
        }
    }
    Ok(versions)
}

fn compared(built: &BTreeMap<String, BTreeSet<Version>>, exceptions: &[Exception]) -> Vec<String> {
    let excepted = |name: &str, version: &Version| {
        exceptions.iter().any(|one| one.name == name && one.versions.matches(version))
    };
    let mut problems = Vec::new();
    for (name, versions) in built {
        let left: Vec<String> =
            versions.iter().filter(|version| !excepted(name, version)).map(Version::to_string).collect();
        if left.len() > 1 {
            problems.push(format!(
                "{name} is built in the versions {}: leave one, or name the others with a reason in deny.toml",
                left.join(" and ")
            ));
        }
    }
    for Exception { name, versions } in exceptions {
        let needed = built
            .get(name)
            .is_some_and(|all| all.len() > 1 && all.iter().any(|version| versions.matches(version)));
        if !needed {
            problems.push(format!(
                "nothing needs {name} {versions} beside another version: take it off deny.toml"
            ));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(versions: &[&str], excepted: &[&str]) -> Vec<String> {
        let versions = versions.iter().map(|text| Version::parse(text).expect("a version")).collect();
        let exceptions: Vec<Exception> = excepted
            .iter()
            .map(|text| Exception { name: "a".into(), versions: VersionReq::parse(text).expect("versions") })
            .collect();
        compared(&BTreeMap::from([("a".to_owned(), versions)]), &exceptions)
    }

    #[test]
    fn a_second_version_needs_an_exception_and_an_exception_a_second_version() {
        assert!(told(&["1.2.0"], &[]).is_empty());
        assert!(told(&["1.2.0", "2.0.1"], &["^1"]).is_empty());
        assert_eq!(told(&["1.2.0", "2.0.1"], &[]).len(), 1);
        assert_eq!(told(&["1.2.0", "2.0.1", "3.0.0"], &["^1"]).len(), 1);
        assert_eq!(told(&["2.0.1"], &["^1"]).len(), 1);
        assert_eq!(told(&["2.0.1", "3.0.0"], &["^2", "^1"]).len(), 1);
    }
}
