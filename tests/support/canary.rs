//! Files of the host that no snippet may ever read or change.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::SystemTime;

/// What the canary file holds. No output of any run may contain it.
pub const SONG: &str = "canary-5f1d8c3a-of-the-host";

static CANARY: LazyLock<Canary> = LazyLock::new(Canary::new);

struct Canary {
    folder: tempfile::TempDir,
    modified: SystemTime,
}

impl Canary {
    fn new() -> Self {
        let folder =
            tempfile::Builder::new().prefix("dormouse-canary-").tempdir().expect("a temporary folder");
        fs::write(folder.path().join("canary"), SONG).expect("a file can be written");
        let modified = modified(&folder.path().join("canary"));
        Self { folder, modified }
    }
}

fn modified(path: &Path) -> SystemTime {
    fs::metadata(path).and_then(|metadata| metadata.modified()).expect("the canary is there")
}

/// Where the file is on the host.
pub fn path() -> PathBuf {
    CANARY.folder.path().join("canary")
}

/// Asserts that the file is as it was made, and alone.
#[track_caller]
pub fn check() {
    let found = fs::read_to_string(path()).expect("the canary is there");
    assert_eq!(found, SONG, "the canary's content was changed");
    assert_eq!(modified(&path()), CANARY.modified, "the canary was written to");
    let names: Vec<_> = fs::read_dir(CANARY.folder.path()).expect("the folder is there").collect();
    assert_eq!(names.len(), 1, "something was put beside the canary: {names:?}");
}
