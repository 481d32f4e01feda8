//! What the recipes share whose guest is a Rust library: the C side of the contract, linked with it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::job::{Job, include};
use super::wizer::{World, argument};

/// This file, which is a part of the text of each recipe that uses it.
pub(crate) const TEXT: &str = include_str!("bridge.rs");

/// Compiles `sources` (the guest's C files) and the generated contract, links them with `library` and `objects`, and
/// initialises the module. `stack` is the size of the C stack in bytes.
pub(crate) fn link(
    job: &Job<'_>,
    name: &str,
    stack: u32,
    sources: &[PathBuf],
    library: &Path,
    objects: &[PathBuf],
) -> Result<PathBuf> {
    let bindings = job.bindings()?;
    let mut flags: Vec<OsString> = ["-O2", "-D_GNU_SOURCE", "-std=gnu23"].map(OsString::from).into();
    flags.extend([&bindings.headers, &job.driver].map(|folder| include(folder)));
    let mut units = vec![job.unit(bindings.source.clone(), "guest", &["-w"])];
    for source in sources {
        let stem = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        units.push(job.unit(source.clone(), &stem, &["-Wall", "-Wextra"]));
    }
    job.compile("compile", &units, &flags)?;
    let mut inputs: Vec<OsString> = objects.iter().map(|object| argument(object)).collect();
    inputs.extend(units.iter().map(|unit| argument(&unit.object)));
    inputs.extend([argument(&bindings.object), argument(library)]);
    let core = job.link(name, stack, &inputs)?;
    job.initialise(&core, &World::default())
}
