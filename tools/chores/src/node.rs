//! Node.js and packages for it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::progress::Progress;
use crate::{apt, folder, program};

/// The conformance suite and the inspector want this version or a newer one.
pub const FOR_SUITES: (u32, u32) = (22, 19);

/// Node.js itself comes as a package where the system's is too old; the package's name ends in the machine.
const VERSION: &str = "24.21.0";

/// Finds npm, or installs it where that is possible. The error is the cause to skip what needs it.
///
/// # Errors
///
/// There is no npm, and it cannot be installed.
pub fn require() -> Result<(), String> {
    // Debian has npm as a package of its own; others put it into that of Node.js.
    for package in ["nodejs", "npm"] {
        if is_here() {
            return Ok(());
        }
        apt::install(&Progress::new("npm"), &[package], "apt-get cannot install it here")
            .map_err(|error| format!("this machine has no npm ({error:#})"))?;
    }
    if is_here() { Ok(()) } else { Err("this machine has no npm (its packages were installed)".to_owned()) }
}

fn is_here() -> bool {
    program::run(Command::new("npm").arg("--version"), Duration::from_secs(30))
        .is_ok_and(|said| said.succeeded())
}

/// A Node.js of this version or a newer one: the system's, or one from a package.
///
/// # Errors
///
/// The package cannot be installed.
pub fn node(oldest: (u32, u32)) -> Result<OsString> {
    let told = program::run(Command::new("node").arg("--version"), Duration::from_secs(30));
    if told.is_ok_and(|said| is_new_enough(&said.stdout, oldest)) {
        return Ok("node".into());
    }
    let machine = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
    let package = format!("node-linux-{machine}");
    let folder = packages("node", &[&format!("{package}@{VERSION}")])?;
    Ok(folder.join("node_modules").join(package).join("bin/node").into())
}

fn is_new_enough(version: &str, oldest: (u32, u32)) -> bool {
    let mut numbers =
        version.trim().trim_start_matches('v').split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= oldest
}

/// A folder with these packages in its `node_modules`. No package's own install script is run.
///
/// # Errors
///
/// npm does not install them.
pub fn packages(name: &str, wanted: &[&str]) -> Result<PathBuf> {
    folder::provide(name, &wanted.join(" "), |into: &Path| {
        let _step = Progress::new(name).step(&format!("installing {} (npm)", wanted.join(", ")));
        std::fs::write(into.join("package.json"), "{\"private\": true}\n")?;
        let npm = || {
            let mut npm = Command::new("npm");
            npm.args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]);
            npm.arg("--prefix").arg(into).args(wanted).current_dir(into);
            npm
        };
        program::fetch(npm).map(drop).context("npm")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_by_number() {
        let is_new_enough = |version| is_new_enough(version, (22, 19));
        assert!(is_new_enough("v22.19.0\n") && is_new_enough("v24.1.0"));
        assert!(!is_new_enough("v22.9.3") && !is_new_enough("v20.20.2") && !is_new_enough(""));
    }
}
