//! The reference of the packages, made from their code: that of Python by pdoc, that of Node.js by TypeDoc. That of Rust is
//! `cargo doc`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use dormouse_chores::{node, python, workspace};
use serde_json::json;

use super::pack::tar;
use super::{Release, done};

/// What writes the pages of the Python package.
const PDOC: &str = "pdoc==16.0.0";
/// What writes those of the npm package. It needs a compiler of an older generation than the package is compiled with.
const TYPEDOC: [&str; 3] = ["typedoc@0.28.20", "typescript@5.9.3", "@types/node@20.19.43"];

/// Writes both and packs them. `wheel`: the staged files of the wheel; `root`: a folder for the pages.
pub(super) fn pack(release: &Release, wheel: &Path, root: &Path, into: &Path) -> Result<PathBuf> {
    fs::create_dir_all(root)?;
    let mut pdoc = Command::new(python::environment("pdoc", PDOC)?.join("bin/python"));
    pdoc.args(["-m", "pdoc", "--docformat", "markdown", "dormouse", "--output-directory"]);
    pdoc.arg(root.join("python")).env("PYTHONPATH", wheel).env("PYTHONDONTWRITEBYTECODE", "1");
    done(pdoc.stderr(std::process::Stdio::null()))?;
    let modules = node::packages("typedoc", &TYPEDOC)?.join("node_modules");
    let sources = workspace().join("adapters/node/dormouse");
    let config = root.with_extension("json");
    let options = json!({
        "extends": sources.join("tsconfig.json"),
        "compilerOptions": {"typeRoots": [modules.join("@types")]},
        "include": [sources.join("src")],
    });
    fs::write(&config, options.to_string())?;
    let mut typedoc = Command::new(node::node((20, 0))?);
    typedoc.arg(modules.join("typedoc/bin/typedoc")).args(["--logLevel", "Error", "--excludeInternal"]);
    typedoc.arg("--tsconfig").arg(&config).arg("--readme").arg(sources.join("README.md"));
    typedoc.arg("--out").arg(root.join("node")).arg(sources.join("src/index.ts"));
    done(typedoc.current_dir(&sources))?;
    let archive = into.join(format!("{}-reference.tar.xz", release.name()));
    tar(release, root, &archive)?;
    Ok(archive)
}
