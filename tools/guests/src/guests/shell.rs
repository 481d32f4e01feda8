//! The recipe of the shell guest: bashkit, a crate, with our driver, its bounds raised and its faults mended.

use std::path::PathBuf;

use anyhow::Result;

use super::bridge;
use super::job::Job;
use super::recipe::Recipe;
use super::tree::{Origin, Tree};

/// The shell; `guests/Cargo.lock` pins it and what it needs.
pub(crate) const RECIPE: Recipe = Recipe {
    language: "shell",
    waits: false,
    interpreter: "bashkit 0.20.2",
    version: 1,
    text: &[include_str!("shell.rs"), bridge::TEXT],
    pins: &[],
    trees: &[Tree {
        name: "bashkit",
        origin: Origin::Package { manifest: "shell/Cargo.toml", name: "bashkit", folder: "" },
        // A module of our own in the place of one of bashkit's.
        own: &[("bashkit/stream.rs", "src/stream.rs")],
    }],
    build,
};

/// The C stack: the shell walks its syntax tree by recursion.
const STACK: u32 = 16 << 20;

fn build(job: &Job<'_>) -> Result<PathBuf> {
    let bashkit = job.prepare("bashkit")?;
    let library = job.cargo("dormouse_shell", &[bashkit])?;
    let sources = [job.driver.join("state.c"), job.guest.join("interpreter.c")];
    bridge::link(job, "shell", STACK, &sources, &library, &[])
}
