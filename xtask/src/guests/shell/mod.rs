//! The recipe of the shell guest: bashkit, a crate, with our driver, its bounds raised and its faults mended.

mod commands;
mod descriptors;
mod devices;
mod filters;
mod language;
mod limits;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::job::{Job, Unit};
use super::recipe::Recipe;
use super::tree::Edit;
use super::wizer::{World, argument};

/// The shell; `guests/shell/Cargo.lock` pins it and what it needs.
pub(crate) const RECIPE: Recipe = Recipe {
    language: "shell",
    interpreter: "bashkit 0.20.2",
    version: 1,
    text: concat!(
        include_str!("mod.rs"),
        include_str!("limits.rs"),
        include_str!("commands.rs"),
        include_str!("devices.rs"),
        include_str!("filters.rs"),
        include_str!("language.rs"),
        include_str!("descriptors.rs"),
    )
    .as_bytes(),
    pins: &[],
    build,
};

/// The C stack: the shell walks its syntax tree by recursion.
const STACK: u32 = 16 << 20;

/// A change that fits once.
const fn once(file: &'static str, find: &'static str, replace: &'static str) -> Edit {
    Edit { file, find, replace, count: 1 }
}

fn build(job: &Job<'_>) -> Result<PathBuf> {
    let edits =
        [limits::EDITS, filters::EDITS, commands::EDITS, devices::EDITS, language::EDITS, descriptors::EDITS]
            .concat();
    let bashkit = job.copy(&job.package("shell/Cargo.toml", "bashkit")?, "bashkit", &edits)?;
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
