//! The npm packages: the one in JavaScript that people name, and the one for this machine with the native part and an
//! installation within it, which npm leaves out on other machines.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use dormouse_chores::{node, workspace};
use serde_json::{Value as Json, json};

use super::pack::tgz;
use super::{Machine, Release, done};

/// The package that people name.
pub(super) const NAME: &str = "dormouse-sandbox";

/// The package for a machine.
fn platform_name(machine: Machine) -> String {
    format!("{NAME}-linux-{}-gnu", machine.node())
}

/// What compiles TypeScript, and the types of Node.js that it is compiled against: those of the oldest one that is supported.
const COMPILER: [&str; 2] = ["typescript@7.0.2", "@types/node@20.19.43"];

/// The compiler, and the folder of the types of Node.js.
pub(super) fn compiler() -> Result<(PathBuf, PathBuf)> {
    node::require().map_err(anyhow::Error::msg)?;
    let modules = node::packages("typescript", &COMPILER)?.join("node_modules");
    Ok((modules.join(".bin/tsc"), modules.join("@types")))
}

/// The files that are made.
#[derive(Clone)]
pub(super) struct Packed {
    /// The package that people name, as a registry serves it.
    pub(super) main: PathBuf,
    /// The package for this machine, likewise.
    pub(super) platform: PathBuf,
    /// Both in one file, which is installed without asking a registry: nobody else's package of that name can come in between.
    pub(super) whole: PathBuf,
}

/// Packs them. `prefix`: a staged installation; `native`: the library that cargo made; `root`: a folder for their files.
pub(super) fn pack(
    release: &Release,
    prefix: &Path,
    native: &Path,
    root: &Path,
    into: &Path,
) -> Result<Packed> {
    let [main, platform, whole] = ["main", "platform", "whole"].map(|part| root.join(part));
    main_files(&main)?;
    platform_files(release, prefix, native, &platform)?;
    for folder in [&main, &platform] {
        for file in ["LICENSE-APACHE", "LICENSE-MIT"] {
            fs::copy(workspace().join(file), folder.join(file))?;
        }
    }
    let modules = whole.join("node_modules");
    let name = platform_name(release.machine);
    for (part, copy) in [(&main, &whole), (&platform, &modules.join(&name))] {
        fs::create_dir_all(copy)?;
        done(Command::new("cp").args(["--archive", "--link", "--no-target-directory"]).arg(part).arg(copy))?;
    }
    bundle(&whole.join("package.json"), &name)?;
    let packed = |folder: &Path, name: &str| -> Result<PathBuf> {
        let archive = into.join(format!("{name}.tgz"));
        tgz(release, folder, &archive)?;
        Ok(archive)
    };
    let version = &release.version;
    Ok(Packed {
        main: packed(&main, &format!("{NAME}-{version}"))?,
        platform: packed(&platform, &format!("{name}-{version}"))?,
        whole: packed(&whole, &format!("{NAME}-{version}-with-linux-{}", release.machine.node()))?,
    })
}

/// Notes that the package for a machine lies within, and forgets those for others: npm would ask its registry for them.
fn bundle(about: &Path, platform: &str) -> Result<()> {
    let mut package: Json = serde_json::from_str(&fs::read_to_string(about)?)?;
    package["bundleDependencies"] = json!([platform]);
    let others =
        package["optionalDependencies"].as_object_mut().context("there are packages for machines")?;
    others.retain(|name, _| name == platform);
    ensure!(others.len() == 1, "package.json does not name {platform}");
    // It is a link to the other package's.
    fs::remove_file(about)?;
    Ok(fs::write(about, format!("{package:#}\n"))?)
}

fn main_files(folder: &Path) -> Result<()> {
    let sources = workspace().join("adapters/node/dormouse");
    fs::create_dir_all(folder)?;
    for file in ["package.json", "README.md"] {
        fs::copy(sources.join(file), folder.join(file))?;
    }
    let (tsc, types) = compiler()?;
    let mut compile = Command::new(tsc);
    compile.arg("--project").arg(sources).arg("--outDir").arg(folder.join("dist"));
    done(compile.arg("--typeRoots").arg(types))?;
    done(Command::new("chmod").arg("u+x").arg(folder.join("dist/cli.js")))
}

fn platform_files(release: &Release, prefix: &Path, native: &Path, folder: &Path) -> Result<()> {
    let installation = folder.join("release");
    fs::create_dir_all(&installation)?;
    done(release.machine.strip().arg("-o").arg(folder.join("dormouse.node")).arg(native))?;
    let parts = ["bin", "lib"].map(|part| prefix.join(part));
    done(Command::new("cp").args(["--archive", "--link"]).args(parts).arg(&installation))?;
    fs::write(folder.join("package.json"), format!("{:#}\n", about(release)))?;
    let (name, people) = (platform_name(release.machine), release.machine.people());
    let text = format!("# {name}\n\nThe part of `{NAME}` for Linux on {people}. Install that one.\n");
    fs::write(folder.join("README.md"), text)?;
    Ok(())
}

/// Source: npm's documentation of package.json.
fn about(release: &Release) -> Json {
    let machine = release.machine;
    json!({
        "name": platform_name(machine),
        "version": release.version,
        "description": format!("The part of {NAME} for Linux on {}", machine.people()),
        "license": "MIT OR Apache-2.0",
        "main": "dormouse.node",
        "os": ["linux"],
        "cpu": [machine.node()],
        "libc": ["glibc"],
        "engines": {"node": ">=20"},
    })
}
