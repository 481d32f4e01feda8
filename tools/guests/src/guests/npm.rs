//! Packages of npm whose JavaScript is part of a guest. A lock file pins their checksums; no package's own script is run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, anyhow};
use dormouse_chores::node;
use serde_json::Value as Json;

use super::job::{Job, NETWORK_TIMEOUT, empty, run_for};
use super::key::sha256;

/// This file, which is a part of the text of each recipe that uses it.
pub(crate) const TEXT: &str = include_str!("npm.rs");

const LISTS: [&str; 2] = ["package.json", "package-lock.json"];

/// The folder `node_modules` with what the lock file in `lists` names. `files` are those that the guest is made of, below that folder.
pub(crate) fn packages(job: &Job<'_>, lists: &Path, files: &[&str]) -> Result<PathBuf> {
    let folder = job.scratch.join("packages");
    let read = |name: &str| fs::read(lists.join(name)).with_context(|| format!("cannot read `{name}`"));
    let texts = [read(LISTS[0])?, read(LISTS[1])?];
    let lock: Json = serde_json::from_slice(&texts[1]).context("package-lock.json")?;
    for (path, package) in lock["packages"].as_object().into_iter().flatten() {
        let (Some(name), Some(version)) = (path.strip_prefix("node_modules/"), package["version"].as_str())
        else {
            continue;
        };
        if files.iter().any(|file| file.strip_prefix(name).is_some_and(|rest| rest.starts_with('/'))) {
            job.used(format!("npm:{name}@{version}"));
        }
    }
    let (stamp, state) = (folder.join("stamp"), sha256(&texts.concat()));
    if fs::read_to_string(&stamp).is_ok_and(|found| found == state) {
        return Ok(folder.join("node_modules"));
    }
    let _step = job.progress.step("packages (npm)");
    node::require().map_err(|error| anyhow!(error))?;
    empty(&folder)?;
    for (name, text) in LISTS.iter().zip(&texts) {
        fs::write(folder.join(name), text)?;
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]).current_dir(&folder);
    run_for(&mut npm, NETWORK_TIMEOUT).context("npm")?;
    fs::write(stamp, state)?;
    Ok(folder.join("node_modules"))
}
