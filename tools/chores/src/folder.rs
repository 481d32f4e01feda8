//! `<cache>/suites/<name>`: what a suite installs, once.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::Cache;

/// The folder of that name. When it was not filled with `key`, it is emptied and `fill` is called. Another process that
/// fills it is waited for.
///
/// # Errors
///
/// The folder cannot be made, or `fill` fails.
pub fn provide(name: &str, key: &str, fill: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let suites = Cache::open()?.suites()?;
    let lock =
        File::options().create(true).truncate(false).write(true).open(suites.join(format!("{name}.lock")))?;
    lock.lock().with_context(|| format!("cannot lock `{name}`"))?;
    let folder = suites.join(name);
    let stamp = folder.join(".filled-with");
    if fs::read_to_string(&stamp).is_ok_and(|old| old == key) {
        return Ok(folder);
    }
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    fill(&folder).with_context(|| format!("cannot install the suite's `{name}`"))?;
    fs::write(&stamp, key)?;
    Ok(folder)
}
