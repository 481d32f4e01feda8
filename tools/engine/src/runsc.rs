//! gVisor as a second runtime, `runsc`, where Debian's package is to be had.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use dormouse_chores::apt;
use dormouse_chores::program::on_path;
use dormouse_chores::progress::Progress;

/// Finds runsc, or installs it where that is possible.
pub(super) fn require() -> Result<()> {
    if on_path("runsc").is_some() {
        return Ok(());
    }
    let otherwise = "there is no runsc, and apt-get cannot install it here";
    apt::install(&Progress::new("docker"), &["runsc"], otherwise)?;
    on_path("runsc").map(drop).context("its package was installed, and there is no runsc")
}

/// `runsc=` and the program to start: it has no network, and a platform that needs no virtual machine.
pub(super) fn runtime(folder: &Path) -> Result<String> {
    let program = on_path("runsc").context("there is no runsc")?;
    let script = folder.join("runsc");
    // `kvm` never answers where virtual machines are nested; `ptrace` works everywhere, also in old versions.
    let text = format!("#!/bin/sh\nexec '{}' --platform=ptrace --network=none \"$@\"\n", program.display());
    fs::write(&script, text)?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    Ok(format!("runsc={}", script.display()))
}
