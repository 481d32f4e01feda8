//! Pre-initialisation and compilation to machine code: what only the engine can do. `dormouse-precompile` does it, so that a
//! guest can be compiled while the engine is still being compiled.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use dormouse_chores::process;

use super::job::Job;

/// The program with the engine in it; `cargo xtask guests` has it built.
const PROGRAM: &str = "dormouse-precompile";

/// What a module sees while it initialises. None of it is there later.
#[derive(Default)]
pub(crate) struct World {
    /// Environment variables.
    pub(crate) environment: Vec<(String, String)>,
    /// Host folders, each with its path for the guest; read-only.
    pub(crate) folders: Vec<(PathBuf, String)>,
}

impl Job<'_> {
    /// Initialises the core module; the result lies beside it as `<name>.initialised.wasm`. When the job is only to compile,
    /// the result is the module itself, and the build ends.
    pub(crate) fn initialise(&self, core: &Path, world: &World) -> Result<PathBuf> {
        if self.compile_only {
            return Ok(core.to_path_buf());
        }
        let initialised = core.with_extension("initialised.wasm");
        let mut command = Command::new(process::tool(PROGRAM));
        command.arg("initialise").arg(core).arg(&initialised);
        for (name, value) in &world.environment {
            command.arg("--env").arg(name).arg(value);
        }
        for (folder, path) in &world.folders {
            command.arg("--folder").arg(folder).arg(path);
        }
        self.run("pre-initialise", &mut command)?;
        Ok(initialised)
    }
}

/// Compiles the current guest of `language` for this machine, with and without fuel, where the runtime will look for it.
pub(crate) fn precompile(language: &str) -> Result<()> {
    let program = process::tool(PROGRAM);
    let mut command = Command::new(&program);
    let status = command.args(["compile", language]).stdin(Stdio::null()).status();
    let status = status.with_context(|| format!("cannot run `{}`", program.display()))?;
    ensure!(status.success(), "the guest was built but does not compile");
    Ok(())
}

/// The path as an argument, for recipes that mix paths and flags.
pub(crate) fn argument(path: &Path) -> OsString {
    path.as_os_str().to_owned()
}
