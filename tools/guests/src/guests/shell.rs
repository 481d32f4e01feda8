//! The recipe of the shell guest: bashkit, a crate, with our driver, its bounds raised and its faults mended.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::job::{Job, Unit};
use super::recipe::Recipe;
use super::tree::{Origin, Tree};
use super::wizer::{World, argument};

/// The shell; `guests/shell/Cargo.lock` pins it and what it needs.
pub(crate) const RECIPE: Recipe = Recipe {
    language: "shell",
    interpreter: "bashkit 0.20.2",
    version: 1,
    text: include_bytes!("shell.rs"),
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
    let bindings = job.bindings()?;
    let include = |folder: &Path| {
        let mut flag = OsString::from("-I");
        flag.push(folder);
        flag
    };
    let includes = [&bindings.headers, &job.driver].map(|folder| include(folder));
    let flags: Vec<OsString> =
        ["-O2", "-D_GNU_SOURCE", "-std=gnu23"].map(OsString::from).into_iter().chain(includes).collect();
    let unit = |source: PathBuf, name: &str, flags: &[&str]| Unit {
        source,
        object: job.scratch.join("objects").join(format!("{name}.o")),
        flags: flags.iter().map(OsString::from).collect(),
    };
    let units = [
        unit(bindings.source.clone(), "guest", &["-w"]),
        unit(job.driver.join("state.c"), "state", &["-Wall", "-Wextra"]),
        unit(job.guest.join("interpreter.c"), "interpreter", &["-Wall", "-Wextra"]),
    ];
    job.compile("compile", &units, &flags)?;
    let mut inputs: Vec<OsString> = units.iter().map(|unit| argument(&unit.object)).collect();
    inputs.extend([argument(&bindings.object), argument(&library)]);
    let core = job.link("shell", STACK, &inputs)?;
    job.initialise(&core, &World::default())
}
