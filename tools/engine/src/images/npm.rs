//! npm as its own package: one file, where Debian's npm has four hundred packages.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, anyhow, ensure};
use dormouse_chores::{node, program};

use super::tree::Tree;

/// The last series that runs on Debian's Node.js.
pub(super) const VERSION: &str = "10.9.4";

/// Where it belongs in a tree.
const FOLDER: &str = "usr/lib/node_modules/npm";

/// Fetches npm with the machine's own npm and puts it into a tree.
pub(super) fn install(tree: &Tree) -> Result<()> {
    node::require().map_err(|cause| anyhow!(cause))?;
    let scratch = tempfile::tempdir()?;
    let package = format!("npm@{VERSION}");
    program::fetch(|| {
        let mut npm = Command::new("npm");
        npm.args(["pack", "--loglevel=error", &package]).current_dir(scratch.path());
        npm
    })?;
    let file = fs::read_dir(scratch.path())?.flatten().map(|entry| entry.path()).next();
    unpack(&file.context("npm has packed nothing")?, &tree.folder(FOLDER, 0o755)?)?;
    for program in ["npm", "npx"] {
        tree.mode(&format!("{FOLDER}/bin/{program}-cli.js"), 0o755)?;
        tree.link(&format!("../lib/node_modules/npm/bin/{program}-cli.js"), &format!("usr/bin/{program}"))?;
    }
    Ok(())
}

fn unpack(file: &Path, into: &Path) -> Result<()> {
    let mut tar = Command::new("tar");
    tar.arg("--directory").arg(into).args(["--extract", "--gzip", "--strip-components=1", "--no-same-owner"]);
    tar.args(["--exclude=package/man", "--exclude=package/docs", "--file"]).arg(file);
    let said = program::run(&mut tar, program::INSTALLATION)?;
    ensure!(said.succeeded(), "tar: {}", said.end());
    Ok(())
}
