//! What runs have left in the scratch folders of this process.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Scratch folders that may be kept, empty, for later runs.
const KEPT: usize = 80;

/// The run folders that this process holds open, found by its own descriptors.
pub fn run_folders() -> BTreeSet<PathBuf> {
    let descriptors = fs::read_dir("/proc/self/fd").expect("/proc is mounted");
    let targets = descriptors.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
    targets
        .filter_map(|target| target.ancestors().find(|path| is_run_folder(path)).map(Path::to_path_buf))
        .collect()
}

fn is_run_folder(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("dormouse-run-"))
}

/// Waits until every scratch folder is empty.
///
/// # Errors
/// What is left, when it has not gone within `patience`.
pub fn vanished(patience: Duration) -> Result<(), String> {
    let end = Instant::now() + patience;
    loop {
        let left = leftovers();
        if left.is_empty() {
            return Ok(());
        }
        if Instant::now() > end {
            return Err(format!("left in scratch folders: {left:?}"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn leftovers() -> Vec<PathBuf> {
    let list = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let folders: Vec<PathBuf> = run_folders().iter().flat_map(|run| list(run)).collect();
    let mut left: Vec<PathBuf> =
        folders.iter().flat_map(|folder| list(folder)).filter(|path| !is_shown_root(path)).take(8).collect();
    if folders.len() > KEPT {
        left.extend(folders.into_iter().take(4));
    }
    left
}

/// The place of `/tmp` in the root folder that every run sees: an empty folder.
fn is_shown_root(path: &Path) -> bool {
    path.ends_with("root/tmp") && fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}
