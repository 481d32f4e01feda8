//! `cargo xtask check`: what Cargo.lock may hold, and what a commit may not name.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use dormouse_chores::outcome::Outcome;
use dormouse_chores::process;
use dormouse_chores::progress::complain;
use dormouse_chores::workspace;
use serde_json::Value as Json;

use crate::duplicates;

/// Addresses of registries, in halves, so that this file does not name them itself.
const REGISTRIES: [(&str, &str); 6] = [
    ("pypi.", "org"),
    ("npmjs.", "org"),
    ("npmjs.", "com"),
    ("crates.", "io"),
    ("deb.debian.", "org"),
    ("static.rust-", "lang.org"),
];

/// Runs all checks; prints what is wrong.
pub(crate) fn run() -> Result<Outcome> {
    let mut outcome = Outcome::default();
    for (name, problems) in [
        ("licences", licences()?),
        ("duplicates", duplicates::problems()?),
        ("minimum versions", minimums()?),
        ("names", names()?),
    ] {
        if problems.is_empty() {
            outcome.add(Outcome::passed());
        } else {
            let problem = format!("{name}:\n  {}", problems.join("\n  "));
            complain(&problem);
            outcome.add(Outcome::failed(problem));
        }
    }
    complain(&outcome.totals.to_string());
    Ok(outcome)
}

/// Every package of the build, as `cargo metadata` tells it.
pub(crate) fn packages() -> Result<Vec<Json>> {
    let output = process::plain_cargo()
        .args(["metadata", "--format-version", "1", "--locked"])
        .current_dir(workspace())
        .output()?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Json = serde_json::from_slice(&output.stdout)?;
    Ok(metadata["packages"].as_array().cloned().unwrap_or_default())
}

/// Every dependency's licence is one of deny.toml's.
fn licences() -> Result<Vec<String>> {
    let deny: toml::Table = fs::read_to_string(workspace().join("deny.toml"))?.parse()?;
    let allowed: BTreeSet<&str> = deny["licenses"]["allow"]
        .as_array()
        .context("deny.toml has no licenses.allow")?
        .iter()
        .filter_map(toml::Value::as_str)
        .collect();
    let mut problems = Vec::new();
    for package in packages()? {
        let (name, text) = (&package["name"], package["license"].as_str().unwrap_or_default());
        let fits = spdx::Expression::parse_mode(text, spdx::ParseMode::LAX).is_ok_and(|expression| {
            expression.evaluate(|requirement| allowed.contains(requirement.to_string().as_str()))
        });
        // A package without the field carries its licence as a file, which a person must have read.
        let as_file = text.is_empty() && package["license_file"].is_string();
        if !fits && !as_file {
            problems.push(format!("{name}: `{text}` is not in deny.toml"));
        }
    }
    Ok(problems)
}

/// No dependency is older than advisories.toml says.
fn minimums() -> Result<Vec<String>> {
    let list: toml::Table = fs::read_to_string(workspace().join("advisories.toml"))?.parse()?;
    let locked: toml::Table = fs::read_to_string(workspace().join("Cargo.lock"))?.parse()?;
    let none = Vec::new();
    let mut problems = Vec::new();
    for minimum in list["minimum"].as_array().unwrap_or(&none) {
        let field = |key: &str| minimum[key].as_str().unwrap_or_default();
        let least = semver::Version::parse(field("version"))?;
        for package in locked["package"].as_array().unwrap_or(&none) {
            if package["name"].as_str() != Some(field("crate")) {
                continue;
            }
            let version = semver::Version::parse(package["version"].as_str().unwrap_or_default())?;
            if version < least {
                problems.push(format!(
                    "{} {version} is older than {least}: {}",
                    field("crate"),
                    field("reason")
                ));
            }
        }
    }
    Ok(problems)
}

/// No committed file names a registry's address or a path of one machine.
fn names() -> Result<Vec<String>> {
    let output = Command::new("git").args(["ls-files", "-z"]).current_dir(workspace()).output()?;
    let files = String::from_utf8_lossy(&output.stdout).into_owned();
    let home = ["/ro", "ot/"].concat();
    let mut problems = Vec::new();
    for file in files.split('\0').filter(|file| !file.is_empty() && !file.ends_with(".lock")) {
        let Ok(text) = fs::read_to_string(workspace().join(file)) else { continue };
        for (number, line) in text.lines().enumerate() {
            let registry =
                REGISTRIES.iter().map(|(a, b)| [*a, *b].concat()).find(|host| line.contains(host.as_str()));
            if let Some(host) = registry {
                problems.push(format!("{file}:{}: names `{host}`", number + 1));
            }
            // `/proc/self` has a folder of that name, which is no machine's own.
            let own =
                line.match_indices(&home).any(|(at, _)| !line[..at].ends_with(|c: char| c.is_alphanumeric()));
            if own && !file.ends_with("package-lock.json") {
                problems.push(format!("{file}:{}: names a path of one machine", number + 1));
            }
        }
    }
    Ok(problems)
}
