//! Folders of the host that this process holds open: a run needs none, and those of its mounts are let go.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::wait_for;

/// Waits until no folder below the system's place for temporary files is held open any more.
///
/// # Panics
/// When some have not been let go within `patience`.
#[track_caller]
pub fn wait_until_let_go(patience: Duration) {
    wait_for("no folder is held open", patience, || {
        let held = held();
        if held.is_empty() { Ok(()) } else { Err(held) }
    });
}

fn held() -> Vec<PathBuf> {
    let place = std::env::temp_dir();
    let descriptors = fs::read_dir("/proc/self/fd").expect("/proc is mounted");
    let open = descriptors.flatten().map(|entry| entry.path());
    let folders = open.filter(|path| fs::metadata(path).is_ok_and(|metadata| metadata.is_dir()));
    folders
        .filter_map(|path| fs::read_link(path).ok())
        .filter(|target| target.starts_with(&place))
        .take(8)
        .collect()
}
