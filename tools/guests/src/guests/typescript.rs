//! The recipe of the TypeScript guest: swc, which is Rust, with a contract of its own.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Result;

use super::job::{Job, Unit};
use super::recipe::Recipe;
use super::wizer::{World, argument};

/// What makes JavaScript of TypeScript; `guests/typescript/Cargo.lock` pins it and what it needs.
pub(crate) const RECIPE: Recipe = Recipe {
    language: "typescript",
    interpreter: "swc 57.0.0",
    version: 1,
    text: include_bytes!("typescript.rs"),
    pins: &[],
    trees: &[],
    build,
};

/// The C stack: the parser recurses with the nesting of a source.
const STACK: u32 = 8 << 20;

fn build(job: &Job<'_>) -> Result<PathBuf> {
    let library = job.cargo("dormouse_typescript", &[])?;
    let bindings = job.bindings()?;
    let mut include = OsString::from("-I");
    include.push(&bindings.headers);
    let flags = [OsString::from("-O2"), OsString::from("-std=gnu23"), include];
    let unit = |source: PathBuf, name: &str, flags: &[&str]| Unit {
        source,
        object: job.scratch.join("objects").join(format!("{name}.o")),
        flags: flags.iter().map(OsString::from).collect(),
    };
    let units = [
        unit(bindings.source.clone(), "guest", &["-w"]),
        unit(job.guest.join("start.c"), "start", &["-Wall", "-Wextra"]),
    ];
    job.compile("compile", &units, &flags)?;
    let mut inputs: Vec<OsString> = units.iter().map(|unit| argument(&unit.object)).collect();
    inputs.extend([argument(&bindings.object), argument(&library)]);
    let core = job.link("typescript", STACK, &inputs)?;
    job.initialise(&core, &World::default())
}
