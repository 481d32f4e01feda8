//! Where the tests come from: the sources that the guest was built from, so that tests and interpreter fit together.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use dormouse_chores::Cache;
use dormouse_chores::progress::Progress;
use dormouse_chores::sources::debian;
use dormouse_chores::{folder, program};
use dormouse_guests::debian_sources;

/// A folder with the package `test` in it.
pub(super) fn provide() -> Result<PathBuf> {
    let archives = debian_sources("python3.14");
    let key = archives.first().context("the Python guest pins no sources")?.sha256;
    folder::provide("cpython", key, |into: &Path| {
        let progress = Progress::new("cpython");
        let archive = debian(&Cache::open()?, &progress, archives)?;
        let _step = progress.step("unpacking the tests");
        let mut tar = Command::new("tar");
        tar.arg("-xJf").arg(&archive).args(["--no-same-owner", "--strip-components=2", "--wildcards"]);
        program::install(tar.arg("-C").arg(into).arg("*/Lib/test")).map(drop)
    })
}
