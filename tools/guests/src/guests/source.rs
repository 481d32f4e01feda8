//! What is fetched for a guest: files of Debian's archive, and C sources inside Rust packages, whose checksums a lock file pins.

use std::path::Path;

use anyhow::{Context, Result};
pub(crate) use dormouse_chores::sources::{DebianFile, PythonFile, crate_sources, debian, python};

/// The checksum that `guests/sources/Cargo.lock` pins for a package.
pub(crate) fn crate_checksum(workspace: &Path, name: &str) -> Result<String> {
    let path = workspace.join("guests/sources/Cargo.lock");
    let lock = std::fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let named = format!("name = \"{name}\"");
    let entry = lock.split("[[package]]").find(|entry| entry.lines().any(|line| line == named));
    let checksum = entry.and_then(|entry| entry.lines().find_map(|line| line.strip_prefix("checksum = ")));
    Ok(checksum
        .with_context(|| format!("`{}` pins no `{name}`", path.display()))?
        .trim_matches('"')
        .to_owned())
}
