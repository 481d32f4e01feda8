//! The recipe of the TypeScript guest: swc, which is Rust, with a contract of its own.

use std::path::PathBuf;

use anyhow::Result;

use super::bridge;
use super::job::Job;
use super::recipe::Recipe;

/// What makes JavaScript of TypeScript; `guests/typescript/Cargo.lock` pins it and what it needs.
pub(crate) const RECIPE: Recipe = Recipe {
    language: "typescript",
    waits: false,
    interpreter: "swc 57.0.0",
    version: 1,
    text: &[include_str!("typescript.rs"), bridge::TEXT],
    pins: &[],
    trees: &[],
    build,
};

/// The C stack: the parser recurses with the nesting of a source.
const STACK: u32 = 8 << 20;

fn build(job: &Job<'_>) -> Result<PathBuf> {
    let library = job.cargo("dormouse_typescript", &[])?;
    bridge::link(job, "typescript", STACK, &[job.guest.join("start.c")], &library, &[])
}
