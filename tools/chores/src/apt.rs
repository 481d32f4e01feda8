//! Debian packages that a chore needs, installed where that is possible.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::program::{NETWORK_TIMEOUT, on_path, run_for};
use crate::progress::Progress;

/// What Debian's packages ask before they start a service.
const POLICY: &str = "/usr/sbin/policy-rc.d";

/// Like [`install`], and no package starts a service.
///
/// # Errors
///
/// As [`install`].
pub fn install_quietly(progress: &Progress, packages: &[&str], otherwise: &str) -> Result<()> {
    let forbid = is_possible() && !Path::new(POLICY).exists();
    if forbid {
        fs::write(POLICY, "#!/bin/sh\nexit 101\n")?;
        fs::set_permissions(POLICY, fs::Permissions::from_mode(0o755))?;
    }
    let installed = install(progress, packages, otherwise);
    if forbid {
        fs::remove_file(POLICY)?;
    }
    installed
}

/// Whether packages can be installed here at all.
fn is_possible() -> bool {
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    std::env::var_os("HOME").is_some() && is_root && on_path("apt-get").is_some()
}

/// Installs packages with apt-get. `otherwise` says what to do where that cannot be.
///
/// # Errors
///
/// `otherwise` where this is not root or not Debian; else what apt-get says.
pub fn install(progress: &Progress, packages: &[&str], otherwise: &str) -> Result<()> {
    if !is_possible() {
        bail!("{otherwise}");
    }
    let _step = progress.step(&format!("installing {} (apt-get)", packages.join(", ")));
    let install = || {
        let mut apt = Command::new("apt-get");
        // Another step of a set-up may be installing something.
        apt.args(["install", "-y", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=300"])
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
