//! Three files in a folder: `report.html`, `report.json` and `junit.xml`. Each is written beside its place and then takes
//! it, so that a reader sees a whole file or none; those of an earlier run go before a run begins.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use dormouse_core::{Error, Result};

use super::record::Report;

/// The page, its JSON twin, and the same for CI systems.
const HTML: &str = "report.html";
const JSON: &str = "report.json";
const JUNIT: &str = "junit.xml";

impl Report {
    /// Removes the files of an earlier run from a folder, so that nobody takes its report for that of a run that did not
    /// begin.
    ///
    /// # Errors
    /// `path_denied` when one is there and cannot be removed.
    pub fn clear(folder: &Path) -> Result<()> {
        for name in [HTML, JSON, JUNIT] {
            match fs::remove_file(folder.join(name)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound && folder.join(name).exists() => {
                    return Err(denied(folder, error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The JSON twin: this tree, with two spaces of indentation.
    ///
    /// # Errors
    /// `internal`; no value of a report is known that cannot be JSON.
    pub fn to_json(&self) -> Result<String> {
        serde_json::to_string_pretty(self)
            .map_err(|error| Error::internal("the report cannot be JSON", error))
    }

    /// Makes the folder, if it is not there, and tries whether it can be written: before a run, not after it. A process that
    /// confines itself can make nothing beside it later.
    ///
    /// # Errors
    /// `path_denied` when it cannot be written.
    pub fn prepare(folder: &Path) -> Result<()> {
        let tried = fs::create_dir_all(folder).and_then(|()| tempfile::tempfile_in(folder));
        tried.map(drop).map_err(|error| denied(folder, error))
    }

    /// Writes `report.html`, `report.json` and `junit.xml` into a folder, which is made if it is not there. The path of the
    /// HTML. A process that confines itself names the folder from the root on.
    ///
    /// # Errors
    /// `path_denied` when the folder cannot be written.
    pub fn write(&self, folder: &Path) -> Result<PathBuf> {
        let denied = |error| denied(folder, error);
        fs::create_dir_all(folder).map_err(denied)?;
        replace(folder, JSON, self.to_json()?.as_bytes()).map_err(denied)?;
        replace(folder, JUNIT, self.to_junit()?.as_bytes()).map_err(denied)?;
        replace(folder, HTML, self.to_html().as_bytes()).map_err(denied)?;
        Ok(folder.join(HTML))
    }
}

fn denied(folder: &Path, error: std::io::Error) -> Error {
    let message = format!("the folder of the report, `{}`, cannot be written", folder.display());
    Error::new(dormouse_core::ErrorCode::PathDenied, message)
        .with_hint("name a folder that can be written")
        .with_source(error)
}

fn replace(folder: &Path, name: &str, bytes: &[u8]) -> std::io::Result<()> {
    let mut form = tempfile::Builder::new();
    let mut file = readable(&mut form).prefix(".report-").tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(folder.join(name)).map_err(|error| error.error)?;
    Ok(())
}

/// As a file that one writes oneself, not as a secret one: readers are others, such as a CI. Made so, for a process that has
/// confined itself changes no modes.
#[cfg(unix)]
fn readable<'a, 'b>(form: &'a mut tempfile::Builder<'b, 'b>) -> &'a mut tempfile::Builder<'b, 'b> {
    use std::os::unix::fs::PermissionsExt as _;
    form.permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable<'a, 'b>(form: &'a mut tempfile::Builder<'b, 'b>) -> &'a mut tempfile::Builder<'b, 'b> {
    form
}
