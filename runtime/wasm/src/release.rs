//! Which release this program is of, and that it is not mixed with what belongs to another.

use std::fs;
use std::path::{Path, PathBuf};

use dormouse_core::{Error, ErrorCode, Result};
use serde::Deserialize;

/// The release: the version of all crates, packages and guests that belong together.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The folder of guests in the cache folder, and in what was installed with the program.
pub(crate) const GUESTS: &str = "guests";
/// The file in the folder of an installation that says which release it belongs to.
const RECORD: &str = "release.json";

/// What that file says.
#[derive(Deserialize)]
struct Record {
    version: String,
}

/// `../lib/dormouse` beside the running program, links resolved: where the folders of releases are.
pub(crate) fn place() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?.canonicalize().ok()?;
    Some(program.parent()?.parent()?.join("lib/dormouse"))
}

/// Refuses the folder of an installation of another release: its record says which, else its name does.
///
/// # Errors
/// `version_mismatch`.
pub(crate) fn check(folder: &Path) -> Result<()> {
    match version_of(folder) {
        Some(version) if version != VERSION => Err(mismatch(&version)),
        _ => Ok(()),
    }
}

/// Which release the folder of an installation belongs to, if it can be told.
fn version_of(folder: &Path) -> Option<String> {
    if let Ok(text) = fs::read_to_string(folder.join(RECORD)) {
        return serde_json::from_str(&text).ok().map(|Record { version }| version);
    }
    let name = folder.file_name()?.to_str()?;
    let is_version = name.split('.').count() >= 3 && name.starts_with(|first: char| first.is_ascii_digit());
    is_version.then(|| name.to_owned())
}

/// The error where what lies beside the program is of other releases only.
pub(crate) fn mixed() -> Option<Error> {
    let folders = place()?.read_dir().ok()?.flatten().map(|entry| entry.path());
    let mut others: Vec<String> = folders
        .filter(|folder| folder.join(GUESTS).is_dir())
        .filter_map(|folder| version_of(&folder))
        .collect();
    others.sort();
    others.last().map(|version| mismatch(version))
}

/// The error for what belongs to another release.
fn mismatch(found: &str) -> Error {
    let shown: String = found.escape_debug().take(64).collect();
    Error::new(
        ErrorCode::VersionMismatch,
        format!(
            "this program is of release {VERSION}, and the guests that are installed with it are of {shown}"
        ),
    )
    .with_hint(
        "install one release as a whole: its program, its packages and its guests have the same version",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_another_release_is_refused_by_its_record_or_else_by_its_name() {
        let place = tempfile::tempdir().unwrap();
        let folder = |name: &str, record: Option<&str>| {
            let folder = place.path().join(name);
            fs::create_dir_all(&folder).unwrap();
            if let Some(record) = record {
                fs::write(folder.join(RECORD), record).unwrap();
            }
            check(&folder)
        };
        assert!(folder(VERSION, None).is_ok());
        assert!(folder("guests-of-mine", None).is_ok());
        assert!(folder("a", Some(&format!(r#"{{"version": "{VERSION}"}}"#))).is_ok());
        for refused in [folder("99.0.0", None), folder("b", Some(r#"{"version": "99.0.0"}"#))] {
            let refused = refused.unwrap_err();
            assert_eq!(refused.code(), ErrorCode::VersionMismatch);
            assert!(refused.message().contains(VERSION) && refused.message().contains("99.0.0"), "{refused}");
        }
    }
}
