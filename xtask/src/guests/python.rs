//! The recipe of the Python guest.

use std::path::PathBuf;

use anyhow::{Result, bail};

use super::job::Job;
use super::recipe::Recipe;

/// CPython, statically linked.
pub(crate) const RECIPE: Recipe = Recipe {
    language: "python",
    interpreter: "CPython 3.14.7",
    version: 1,
    text: include_bytes!("python.rs"),
    pins: &[],
    build,
};

fn build(_job: &Job<'_>) -> Result<PathBuf> {
    bail!("the Python guest has no recipe yet")
}
