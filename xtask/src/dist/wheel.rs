//! The Python wheel: the package in Python, its native part, and an installation within it.
//!
//! Cargo has built the native part with all else, so that nothing is compiled twice; PyPA's `wheel` packs it, with the same bytes
//! from the same files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use dormouse_chores::{python, workspace};

use super::pack::{glibc, open_to_all};
use super::{Release, done};

/// What packs wheels.
const WHEEL: &str = "wheel==0.45.1";
/// The name of the package in the names of files.
const NAME: &str = "dormouse_sandbox";

/// Packs it. `prefix`: a staged installation; `native`: the library that cargo made; `root`: a folder for its files.
pub(super) fn pack(
    release: &Release,
    prefix: &Path,
    native: &Path,
    root: &Path,
    into: &Path,
) -> Result<PathBuf> {
    let sources = workspace().join("adapters/python");
    let package = root.join("dormouse");
    let installation = package.join("_release");
    fs::create_dir_all(&installation)?;
    for file in fs::read_dir(sources.join("dormouse"))? {
        let file = file?.path();
        if file.is_file() {
            fs::copy(&file, package.join(file.file_name().unwrap_or_default()))?;
        }
    }
    let library = package.join("_native.abi3.so");
    done(release.machine.strip().arg("-o").arg(&library).arg(native))?;
    let parts = ["bin", "lib"].map(|part| prefix.join(part));
    done(Command::new("cp").args(["--archive", "--link"]).args(parts).arg(&installation))?;
    let needed =
        |file: &Path| -> Result<u32> { glibc(&fs::read(file)?).context("no version of glibc is named") };
    let minor = needed(&library)?.max(needed(&prefix.join("bin/dormouse"))?);
    let tag = format!("cp310-abi3-manylinux_2_{minor}_{}", release.machine.architecture());
    about(&release.version, &tag, &sources, &root.join(format!("{NAME}-{}.dist-info", release.version)))?;
    open_to_all(root)?;
    python::require().map_err(anyhow::Error::msg)?;
    let mut wheel = Command::new(python::environment("wheel", WHEEL)?.join("bin/wheel"));
    wheel.arg("pack").arg("--dest-dir").arg(into).arg(root).env("SOURCE_DATE_EPOCH", &release.time);
    done(wheel.stdout(std::process::Stdio::null()))?;
    Ok(into.join(format!("{NAME}-{}-{tag}.whl", release.version)))
}

/// What the package index and installers read.
///
/// Source: PyPA's specifications of core metadata (2.4), of wheels (1.0) and of entry points.
fn about(version: &str, tag: &str, sources: &Path, folder: &Path) -> Result<()> {
    let licenses = folder.join("licenses");
    fs::create_dir_all(&licenses)?;
    for file in ["LICENSE-APACHE", "LICENSE-MIT"] {
        fs::copy(workspace().join(file), licenses.join(file))?;
    }
    let readme = fs::read_to_string(sources.join("README.md"))?;
    let metadata = format!(
        "Metadata-Version: 2.4\nName: dormouse-sandbox\nVersion: {version}\n\
         Summary: Sandboxes for untrusted Python, JavaScript, TypeScript and PHP, inside your process\n\
         License-Expression: MIT OR Apache-2.0\nLicense-File: LICENSE-APACHE\nLicense-File: LICENSE-MIT\n\
         Requires-Python: >=3.10\nClassifier: Operating System :: POSIX :: Linux\n\
         Classifier: Programming Language :: Python :: 3\nClassifier: Programming Language :: Rust\n\
         Classifier: Typing :: Typed\nDescription-Content-Type: text/markdown\n\n{readme}"
    );
    fs::write(folder.join("METADATA"), metadata)?;
    let wheel =
        format!("Wheel-Version: 1.0\nGenerator: cargo xtask dist\nRoot-Is-Purelib: false\nTag: {tag}\n");
    fs::write(folder.join("WHEEL"), wheel)?;
    let commands =
        "[console_scripts]\ndormouse = dormouse.__main__:main\ndormouse-sandbox = dormouse.__main__:main\n";
    fs::write(folder.join("entry_points.txt"), commands)?;
    Ok(())
}
