//! `cargo xtask guests check`: lints and unit tests of the guests' own Rust code, on this machine instead of WebAssembly.

use std::fs;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use dormouse_chores::arguments::Check;
use dormouse_chores::process::{plain_cargo, target};
use dormouse_chores::progress::Progress;
use dormouse_chores::{Cache, workspace};

use super::recipe::Recipe;
use super::rust::paths;
use super::series::Series;
use super::shell;

/// Whose packages are used with their patches here as well. git's patches are about WASI and its C library.
const PATCHED: [&Recipe; 1] = [&shell::RECIPE];

/// Runs clippy, then the tests.
///
/// # Errors
///
/// A lint, a test that fails, or sources that cannot be fetched or patched.
pub(super) fn check(arguments: &Check) -> Result<()> {
    let progress = Progress::new("guests");
    // Whoever wants one test does not want the lints first.
    if arguments.only.is_none() {
        let mut clippy = cargo(&["clippy", "--quiet", "--all-targets"], &progress)?;
        run(clippy.args(["--", "-D", "warnings"]))?;
    }
    let mut test = cargo(&["test", "--quiet", "--no-fail-fast"], &progress)?;
    run(test.args(arguments.only.as_slice()))
}

/// Cargo in the workspace of the guests, with the packages that have patches.
fn cargo(words: &[&str], progress: &Progress) -> Result<Command> {
    let (workspace, target, cache) = (workspace(), target().join("guests"), Cache::open()?);
    let sources = target.join("sources");
    fs::create_dir_all(&sources).with_context(|| format!("cannot create `{}`", sources.display()))?;
    let mut replaced = Vec::new();
    for recipe in PATCHED {
        let guest = workspace.join("guests").join(recipe.language);
        let series = Series::read(&guest, recipe.trees)?;
        for tree in recipe.trees {
            let fetched = tree.fetch(&workspace, &cache, progress)?;
            replaced.push(tree.prepare(&fetched, &guest, &series, &sources, progress)?);
        }
    }
    let mut command = plain_cargo();
    command.args(words).args(["--workspace", "--locked", "--config"]).arg(paths(&replaced));
    command.arg("--manifest-path").arg(workspace.join("guests/Cargo.toml"));
    command.env("CARGO_TARGET_DIR", target);
    Ok(command)
}

fn run(command: &mut Command) -> Result<()> {
    let status = command.status().context("cannot run cargo")?;
    ensure!(status.success(), "{command:?}: {status}");
    Ok(())
}
