//! Where the tests come from: Firefox's source package carries all of test262.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use dormouse_chores::Cache;
use dormouse_chores::progress::Progress;
use dormouse_chores::sources::{DebianFile, debian};
use dormouse_chores::{folder, program};

use crate::sandbox::brief;

/// One version only: the list of expected failures belongs to it.
const ARCHIVE: DebianFile = DebianFile {
    package: "firefox-esr",
    file: "firefox-esr_140.12.0esr.orig.tar.xz",
    sha256: "5c72347381233dcc97cbd02c0324116258769d8b9b0f869fd0c6f1d59519ce2a",
};

/// Where the tests lie in the archive.
const INSIDE: &str = "firefox-140.12.0/js/src/tests/test262";

/// The folder of the tests; the archive (650 MiB) is fetched when they are not there yet. The inner error says why no
/// mirror served it.
pub(super) fn provide() -> Result<Result<PathBuf, String>> {
    let mut missing = None;
    let folder = folder::provide("test262", ARCHIVE.sha256, |into: &Path| {
        let progress = Progress::new("test262");
        let archive = debian(&Cache::open()?, &progress, &[ARCHIVE]);
        let archive = archive.inspect_err(|error| missing = Some(brief(&format!("{error:#}"))))?;
        let _step = progress.step("unpacking the tests");
        let depth = INSIDE.split('/').count();
        let mut tar = Command::new("tar");
        tar.arg("-xJf").arg(&archive).arg("--no-same-owner").arg(format!("--strip-components={depth}"));
        program::install(tar.arg("-C").arg(into).arg(INSIDE))?;
        // Fifty thousand tests lie unpacked now; the rest of a browser engine is of no use.
        Ok(std::fs::remove_file(archive)?)
    });
    match missing {
        Some(cause) => Ok(Err(cause)),
        None => folder.map(Ok),
    }
}
