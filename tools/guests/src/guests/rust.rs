//! Rust for `wasm32-wasip1`: a compiler whose standard library can be had for that target, and cargo on top of it.
//!
//! The compiler that builds the workspace often has the host's standard library only. If it has the target's, it is
//! taken. Else Debian's `rustc-web` is unpacked into the cache, which brings the library's sources; they are compiled with
//! the guest.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use dormouse_chores::process::plain_cargo;
use dormouse_chores::rustc_web;

use super::job::Job;
use super::toolchain::TARGET;

/// The Debian package with the sources of its library.
const SOURCES: &str = "rust-web-src";

/// Where the unpacked compiler lies in the cache's folder of tool chains.
pub(super) const FOLDER: &str = "rustc-web";

/// Where all crates of guests are compiled, in that folder too: the standard library and what several of them need is compiled once.
/// Cargo has one build at a time work in it.
pub(super) const TARGETS: &str = "rust-target";

/// How a guest is compiled.
pub(crate) struct Rust {
    /// The compiler; none: cargo's own.
    rustc: Option<PathBuf>,
    /// Where the linker of WebAssembly lies.
    path: OsString,
}

impl Job<'_> {
    /// Compiles the crate in the guest's folder to a static library. `replaced` are folders with packages that take the
    /// place of those that the lock file names.
    pub(crate) fn cargo(&self, library: &str, replaced: &[PathBuf]) -> Result<PathBuf> {
        self.cargo_in(&self.guest, library, replaced, &[])
    }

    /// The same of a crate in another folder, with variables in the environment.
    pub(crate) fn cargo_in(
        &self,
        folder: &Path,
        library: &str,
        replaced: &[PathBuf],
        environment: &[(&str, &OsStr)],
    ) -> Result<PathBuf> {
        let rust = Rust::find(self)?;
        let target = self.cache.toolchain()?.join(TARGETS);
        let mut command = plain_cargo();
        command.args(["build", "--release", "--locked", "--target", TARGET, "--manifest-path"]);
        command.arg(folder.join("Cargo.toml")).env("CARGO_TARGET_DIR", &target);
        command.envs(environment.iter().copied());
        if !replaced.is_empty() {
            command.arg("--config").arg(paths(replaced));
        }
        // What a build of the workspace around this one has set is not meant for it.
        for name in ["RUSTC", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTUP_TOOLCHAIN", "RUSTC_WRAPPER"] {
            command.env_remove(name);
        }
        command.env("PATH", &rust.path);
        if let Some(rustc) = &rust.rustc {
            command.env("RUSTC", rustc).arg("-Zbuild-std=std,panic_abort");
        }
        command.env("RUSTC_BOOTSTRAP", "1");
        self.run("compile (cargo)", &mut command)?;
        Ok(target.join(TARGET).join("release").join(format!("lib{library}.a")))
    }
}

/// What `--config` is told, so that the packages in these folders take the place of the published ones.
pub(super) fn paths(replaced: &[PathBuf]) -> String {
    let paths: Vec<String> =
        replaced.iter().map(|path| format!("{:?}", path.display().to_string())).collect();
    format!("paths=[{}]", paths.join(","))
}

impl Rust {
    fn find(job: &Job<'_>) -> Result<Self> {
        let sysroot = PathBuf::from(told(Command::new("rustc").args(["--print", "sysroot"]))?);
        let host = told(Command::new("rustc").arg("-vV"))?;
        let host = host.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default().to_owned();
        let tools = sysroot.join("lib/rustlib").join(host).join("bin");
        let before = std::env::var_os("PATH").unwrap_or_default();
        let folders = [tools.clone(), tools.join("gcc-ld")].into_iter().chain(std::env::split_paths(&before));
        let path = std::env::join_paths(folders)?;
        let rustc = if has_library(&sysroot) { None } else { Some(debian(job)?) };
        Ok(Self { rustc, path })
    }
}

/// Whether the installed compiler has the target's standard library.
fn has_library(sysroot: &Path) -> bool {
    let folder = sysroot.join("lib/rustlib").join(TARGET).join("lib");
    fs::read_dir(folder).is_ok_and(|entries| {
        entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("libstd-"))
    })
}

/// Debian's compiler, unpacked into the cache on first use, with what it looks for even when it links nothing.
fn debian(job: &Job<'_>) -> Result<PathBuf> {
    let folder = job.cache.toolchain()?.join(FOLDER);
    rustc_web::provide(&job.progress, &folder, &[SOURCES], None, |unpacked| {
        let library = unpacked.join("usr/lib/rustlib").join(TARGET).join("lib/self-contained");
        fs::create_dir_all(&library)?;
        let sysroot = job.toolchain.library_folder();
        for name in ["crt1-command.o", "crt1-reactor.o", "libc.a"] {
            fs::copy(sysroot.join(name), library.join(name))
                .with_context(|| format!("the sysroot has no `{name}`"))?;
        }
        Ok(())
    })
    .context(
        "no Rust compiler with a standard library for wasm32-wasip1; install one with `rustup target add wasm32-wasip1`, or use a \
         Debian whose apt knows rustc-web",
    )
}

/// The first lines that a command prints, trimmed.
fn told(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
