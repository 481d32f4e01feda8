//! `cargo xtask guests tidy`: gives back what only builds need. The next build fetches and prepares it again.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result};
use dormouse_chores::Cache;
use dormouse_chores::progress::complain;

use super::RECIPES;
use super::recipe::Pin;
use super::rust;

/// Removes the build folders and the source archives of all guests, and the compiler for those in Rust. A build that runs is
/// waited for.
pub(super) fn run(cache: &Cache) -> Result<()> {
    let mut locks = Vec::new();
    for recipe in RECIPES {
        locks.push(cache.guest(recipe.language)?.lock()?);
    }
    for recipe in RECIPES {
        remove(&cache.scratch(recipe.language)?)?;
    }
    for folder in [rust::FOLDER, rust::TARGETS] {
        remove(&cache.toolchain()?.join(folder))?;
    }
    let sources = cache.sources()?;
    for pin in RECIPES.iter().flat_map(|recipe| recipe.pins) {
        match pin {
            Pin::Debian(candidates) => {
                for file in *candidates {
                    remove(&sources.join(file.file))?;
                }
            }
            Pin::Python(file) => remove(&sources.join(file.file))?,
            Pin::Crate(_) => {}
        }
    }
    complain("tidy: build folders, sources and the Rust compiler of guests are removed from the cache");
    Ok(())
}

/// Removes a file or a folder, if it is there.
fn remove(path: &Path) -> Result<()> {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove `{}`", path.display()))
        }
        _ => Ok(()),
    }
}
