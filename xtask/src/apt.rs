//! Debian packages that a chore needs, installed where that is possible.

use std::os::unix::fs::MetadataExt as _;
use std::process::Command;

use anyhow::{Result, bail};

use crate::guests::{NETWORK_TIMEOUT, on_path, run_for};
use crate::progress::Progress;

/// Installs packages with apt-get. `otherwise` says what to do where that cannot be.
pub(crate) fn install(progress: &Progress, packages: &[&str], otherwise: &str) -> Result<()> {
    let root =
        std::env::var_os("HOME").is_some() && std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    if !root || on_path("apt-get").is_none() {
        bail!("{otherwise}");
    }
    let _step = progress.step(&format!("installing {} (apt-get)", packages.join(", ")));
    let install = || {
        let mut apt = Command::new("apt-get");
        apt.args(["install", "-y", "--no-install-recommends"])
            .args(packages)
            .env("DEBIAN_FRONTEND", "noninteractive");
        apt
    };
    if run_for(&mut install(), NETWORK_TIMEOUT).is_ok() {
        return Ok(());
    }
    // A machine that never updated its lists knows no package.
    run_for(Command::new("apt-get").arg("update"), NETWORK_TIMEOUT)?;
    run_for(&mut install(), NETWORK_TIMEOUT)
}
