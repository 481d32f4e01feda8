//! The recipe of the git guest: libgit2, whose C sources ride in a crate, with our commands.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::bridge;
use super::job::{Job, Unit, include};
use super::recipe::Recipe;
use super::tree::{Origin, Tree};
use super::wizer::argument;

/// git's commands; `guests/Cargo.lock` pins libgit2 and what it needs.
pub(crate) const RECIPE: Recipe = Recipe {
    language: "git",
    waits: false,
    interpreter: "libgit2 1.9.7",
    version: 1,
    text: &[include_str!("git.rs"), bridge::TEXT],
    pins: &[],
    trees: &[package("libgit2-sys"), package("libz-sys"), package("git2")],
    build,
};

/// The C stack: trees of folders are walked by recursion.
const STACK: u32 = 8 << 20;

/// The folders of libgit2 whose C files are compiled, all of each.
const FOLDERS: [&str; 7] = [
    "src/libgit2",
    "src/libgit2/streams",
    "src/libgit2/transports",
    "src/util",
    "src/util/hash/sha1dc",
    "deps/llhttp",
    "deps/xdiff",
];

/// Single files of libgit2.
const FILES: [&str; 7] = [
    "src/util/allocators/failalloc.c",
    "src/util/allocators/stdalloc.c",
    "src/util/hash/builtin.c",
    "src/util/hash/collisiondetect.c",
    "src/util/hash/rfc6234/sha224-256.c",
    "src/util/unix/map.c",
    "src/util/unix/realpath.c",
];

/// Sockets are `guests/git/sockets.c`.
const LEFT_OUT: &str = "socket.c";

/// What libgit2's own build would set.
const FLAGS: [&str; 8] = [
    "-O2",
    "-w",
    // There is no mapped memory.
    "-DNO_MMAP",
    // libgit2 takes `size_t` for `unsigned int` where it is 32 bits wide.
    "-Wno-error=incompatible-pointer-types",
    "-DGIT_REGEX_REGCOMP=1",
    "-DSHA1DC_NO_STANDARD_INCLUDES=1",
    "-DSHA1DC_CUSTOM_INCLUDE_SHA1_C=\"common.h\"",
    "-DSHA1DC_CUSTOM_INCLUDE_UBC_CHECK_C=\"common.h\"",
];

/// A package that the guest depends on, all of it.
const fn package(name: &'static str) -> Tree {
    Tree::new(name, Origin::Package { manifest: "git/Cargo.toml", name, folder: "" })
}

fn build(job: &Job<'_>) -> Result<PathBuf> {
    let libgit2 = job.prepare("libgit2-sys")?;
    let zlib = job.prepare("libz-sys")?;
    let git2 = job.prepare("git2")?;
    let library = job.cargo("dormouse_git", &[libgit2.clone(), zlib.clone(), git2])?;
    let objects = sources(job, &libgit2.join("libgit2"), &zlib.join("src/zlib"))?;
    let own = [job.driver.join("state.c"), job.guest.join("interpreter.c")];
    bridge::link(job, "git", STACK, &own, &library, &objects)
}

/// libgit2 and zlib.
fn sources(job: &Job<'_>, libgit2: &Path, zlib: &Path) -> Result<Vec<PathBuf>> {
    let own = job.guest.join("include");
    let mut flags: Vec<OsString> = FLAGS.map(OsString::from).into();
    flags.extend([OsString::from("-include"), argument(&own.join("wasi.h")), include(&own), include(zlib)]);
    for folder in ["include", "src/libgit2", "src/util", "deps/llhttp", "deps/xdiff"] {
        flags.push(include(&libgit2.join(folder)));
    }
    let mut found: Vec<PathBuf> = FILES.iter().map(|file| libgit2.join(file)).collect();
    for folder in FOLDERS {
        found.extend(c_files(&libgit2.join(folder))?);
    }
    found.extend(c_files(zlib)?);
    found.push(job.guest.join("sockets.c"));
    let units: Vec<Unit> = found
        .into_iter()
        .enumerate()
        .map(|(place, file)| {
            let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            job.unit(file, &format!("libgit2/{place}-{name}"), &[])
        })
        .collect();
    job.compile("compile libgit2", &units, &flags)?;
    Ok(units.into_iter().map(|unit| unit.object).collect())
}

fn c_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "c"))
        .filter(|path| path.file_name().is_some_and(|name| name != LEFT_OUT))
        .collect();
    files.sort();
    Ok(files)
}
