//! The recipe of the JavaScript guest: QuickJS-ng with our driver.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::job::{Job, Unit};
use super::recipe::{Pin, Recipe};
use super::tree::Edit;
use super::wizer::{World, argument};

/// QuickJS-ng; its C sources ride in the package rquickjs-sys.
pub(crate) const RECIPE: Recipe = Recipe {
    language: "javascript",
    interpreter: "QuickJS-ng 0.16.2",
    version: 1,
    text: include_bytes!("javascript.rs"),
    pins: &[Pin::Crate("rquickjs-sys")],
    build,
};

/// The C stack. The interpreter's own limit lies below it, so that deep recursion is an error of the language.
const STACK: u32 = 8 << 20;

const EDITS: &[Edit] = &[];

fn build(job: &Job<'_>) -> Result<PathBuf> {
    let quickjs = job.copy(&job.crate_sources("rquickjs-sys")?.join("quickjs"), "quickjs", EDITS)?;
    let bindings = job.bindings()?;
    let objects = job.scratch.join("objects");
    let unit = |folder: &Path, name: &str| Unit {
        source: folder.join(format!("{name}.c")),
        object: objects.join(format!("{name}.o")),
        flags: Vec::new(),
    };
    let units = [unit(&bindings.headers, "guest"), unit(&quickjs, "dtoa")];
    let flags: Vec<OsString> = ["-O2", "-DNDEBUG", "-D_GNU_SOURCE", "-std=gnu23"].map(OsString::from).into();
    job.compile("compile", &units, &flags)?;
    let inputs: Vec<OsString> = units.iter().map(|unit| argument(&unit.object)).collect();
    let core = job.link("javascript", STACK, &inputs)?;
    job.initialise(&core, &World::default())
}
