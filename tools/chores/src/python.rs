//! Programs in Python that others wrote, each in a virtual environment of its own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use crate::progress::Progress;
use crate::{apt, folder, program};

/// Finds a Python that can make virtual environments, or installs it where that is possible. The error is the cause to
/// skip what needs it.
///
/// # Errors
///
/// The machine has none, and it cannot be installed.
pub fn require() -> Result<(), String> {
    let is_here = || {
        let mut python = Command::new("python3");
        let told = program::run(python.args(["-c", "import venv, ensurepip"]), Duration::from_secs(30));
        told.is_ok_and(|said| said.succeeded())
    };
    if is_here() {
        return Ok(());
    }
    let packages = ["python3", "python3-venv"];
    let installed = apt::install(&Progress::new("python"), &packages, "apt-get cannot install it here");
    let cause = match installed {
        Ok(()) if is_here() => return Ok(()),
        Ok(()) => "its packages were installed".to_owned(),
        Err(error) => format!("{error:#}"),
    };
    Err(format!("this machine has no python3 with venv ({cause})"))
}

/// The folder of a virtual environment in the cache, with packages in it: names with spaces between them.
///
/// # Errors
///
/// A package cannot be had.
pub fn environment(name: &str, packages: &str) -> Result<PathBuf> {
    folder::provide(name, packages, |into: &Path| {
        let _step = Progress::new("python").step(&format!("installing {packages} (pip)"));
        program::install(Command::new("python3").args(["-m", "venv"]).arg(into))?;
        let pip = || {
            let mut pip = Command::new(into.join("bin/pip"));
            pip.args(["install", "--quiet", "--disable-pip-version-check"]).args(packages.split(' '));
            pip
        };
        program::fetch(pip).map(drop)
    })
}
