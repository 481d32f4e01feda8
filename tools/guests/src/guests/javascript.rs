//! The recipe of the JavaScript guest: QuickJS-ng with our driver.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::job::{Job, include};
use super::recipe::{Pin, Recipe};
use super::tree::{Origin, Tree};
use super::wizer::{World, argument};

/// QuickJS-ng; its C sources ride in the package rquickjs-sys.
pub(crate) const RECIPE: Recipe = Recipe {
    language: "javascript",
    interpreter: "QuickJS-ng 0.16.2",
    version: 1,
    text: &[include_str!("javascript.rs")],
    pins: &[Pin::Crate("rquickjs-sys")],
    trees: &[Tree::new(
        "quickjs",
        Origin::Package { manifest: "sources/Cargo.toml", name: "rquickjs-sys", folder: "quickjs" },
    )],
    build,
};

/// The C stack. The interpreter's own limit lies below it, so that deep recursion is an error of the language.
const STACK: u32 = 5 << 20;

/// Parts of the interpreter that are compiled as they are.
const ENGINE: [&str; 3] = ["dtoa", "libregexp", "libunicode"];

/// Our own C files.
const DRIVER: [&str; 16] = [
    "text",
    "start",
    "interpreter",
    "run",
    "sources",
    "timers",
    "encode",
    "scalars",
    "describe",
    "raise",
    "vars",
    "modules",
    "statements",
    "natives",
    "files",
    "opened",
];

fn build(job: &Job<'_>) -> Result<PathBuf> {
    let quickjs = job.prepare("quickjs")?;
    let bindings = job.bindings()?;
    let includes = [&bindings.headers, &job.driver, &quickjs, &job.guest].map(|folder| include(folder));
    let flags: Vec<OsString> = ["-O2", "-DNDEBUG", "-D_GNU_SOURCE", "-std=gnu23"]
        .map(OsString::from)
        .into_iter()
        .chain(includes)
        .collect();
    let unit =
        |folder: &Path, name: &str, flags: &[&str]| job.unit(folder.join(format!("{name}.c")), name, flags);
    // The largest file comes first, so that it does not run alone at the end.
    let mut units = vec![unit(&job.guest, "engine", &["-w"])];
    units.extend(ENGINE.iter().map(|name| unit(&quickjs, name, &["-w"])));
    units.push(unit(&bindings.headers, "guest", &["-w"]));
    units.push(unit(&job.driver, "state", &["-Wall", "-Wextra"]));
    units.extend(DRIVER.iter().map(|name| unit(&job.guest, name, &["-Wall", "-Wextra"])));
    job.compile("compile", &units, &flags)?;
    let mut inputs: Vec<OsString> = units.iter().map(|unit| argument(&unit.object)).collect();
    inputs.push(argument(&bindings.object));
    let core = job.link("javascript", STACK, &inputs)?;
    job.initialise(&core, &World::default())
}
