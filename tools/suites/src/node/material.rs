//! Where the tests come from: Debian's source package of Node.js.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use dormouse_chores::Cache;
use dormouse_chores::progress::Progress;
use dormouse_chores::sources::{DebianFile, debian};
use dormouse_chores::{folder, program};

use crate::sandbox::brief;

/// That of a stable suite, which stays. One version only: the list of expected failures belongs to it.
const ARCHIVE: DebianFile = DebianFile {
    package: "nodejs",
    file: "nodejs_20.19.2+dfsg.orig.tar.xz",
    sha256: "5e5559381ad031d245a8efa403458abbb73755f74c3e6380f185a4dd342b7949",
};

/// What tests are made of, below the archive's one folder.
const FOLDERS: [&str; 4] = ["common", "es-module", "fixtures", "parallel"];

/// The folder of the tests; the archive (19 MiB) is fetched when they are not there yet. The inner error says why no mirror served it.
pub(super) fn provide() -> Result<Result<PathBuf, String>> {
    let mut missing = None;
    let folder = folder::provide("node", ARCHIVE.sha256, |into: &Path| {
        let progress = Progress::new("node");
        let archive = debian(&Cache::open()?, &progress, &[ARCHIVE]);
        let archive = archive.inspect_err(|error| missing = Some(brief(&format!("{error:#}"))))?;
        let _step = progress.step("unpacking the tests");
        let mut tar = Command::new("tar");
        tar.arg("-xJf").arg(&archive).args(["--no-same-owner", "--strip-components=2", "--wildcards"]);
        tar.arg("-C").arg(into).args(FOLDERS.map(|folder| format!("*/test/{folder}/*")));
        program::install(&mut tar)?;
        Ok(std::fs::remove_file(archive)?)
    });
    match missing {
        Some(cause) => Ok(Err(cause)),
        None => folder.map(Ok),
    }
}
