//! The C tool chain for `wasm32-wasip1`: a clang of at least version 22 and a wasi-libc of at least April 2026.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use dormouse_chores::program::{NETWORK_TIMEOUT, on_path, run_for};
use dormouse_chores::progress::Progress;
use dormouse_chores::{Cache, apt};

use super::source::{self, DebianFile};

/// The oldest clang whose wasm back end emits what the guests need (standard exception encoding among others).
const OLDEST_CLANG: u32 = 22;

/// What Debian calls the tool chain.
const PACKAGES: [&str; 4] = ["clang-22", "lld-22", "llvm-22", "libclang-rt-22-dev-wasm32"];

/// The sysroot. Older suites ship a wasi-libc without what the guests use, so the file is taken from the pool.
pub(crate) const WASI_LIBC: [DebianFile; 1] = [DebianFile {
    package: "wasi-libc",
    file: "wasi-libc_0.0~git20260423.161b319-2_all.deb",
    sha256: "1051dbb0a5e6d3f709de83b6afb423e07a8ab19a9e9f12ef20ff902131e7b8bc",
}];

/// The target of every guest.
pub(crate) const TARGET: &str = "wasm32-wasip1";

/// The tools and the sysroot of one kind of installation.
pub(crate) struct Toolchain {
    clang: PathBuf,
    /// What follows the name of each tool, such as `-22`.
    suffix: String,
    sysroot: PathBuf,
    identity: String,
}

impl Toolchain {
    /// Finds the tool chain: `$WASI_SDK_PATH`, else an installed clang, else Debian's packages, which are installed.
    pub(crate) fn find(cache: &Cache, progress: &Progress) -> Result<Self> {
        if let Some(sdk) = std::env::var_os("WASI_SDK_PATH").filter(|path| !path.is_empty()) {
            let sdk = PathBuf::from(sdk);
            let clang = sdk.join("bin/clang");
            let version = version(&clang).with_context(|| format!("no clang in `{}`", sdk.display()))?;
            ensure!(
                major(&version) >= OLDEST_CLANG,
                "the clang of WASI_SDK_PATH is older than {OLDEST_CLANG}: {version}"
            );
            let sysroot = sdk.join("share/wasi-sysroot");
            return Ok(Self { clang, suffix: String::new(), sysroot, identity: version });
        }
        let (clang, suffix, version) = match installed() {
            Some(found) => found,
            None => {
                install(progress)?;
                installed().context("clang is still not usable after its packages were installed")?
            }
        };
        let (sysroot, libc) = sysroot(cache, progress)?;
        Ok(Self { clang, suffix, sysroot, identity: format!("{version}; {libc}") })
    }

    /// Versions of everything in here; part of every content key.
    pub(crate) fn identity(&self) -> &str {
        &self.identity
    }

    /// The C compiler, without arguments.
    pub(crate) fn clang(&self) -> &Path {
        &self.clang
    }

    /// The arguments that make clang a cross compiler.
    pub(crate) fn target_arguments(&self) -> Vec<OsString> {
        let mut sysroot = OsString::from("--sysroot=");
        sysroot.push(&self.sysroot);
        vec![format!("--target={TARGET}").into(), sysroot]
    }

    /// The sysroot's start files and libraries.
    pub(crate) fn library_folder(&self) -> PathBuf {
        self.sysroot.join("lib").join(TARGET)
    }

    /// Another tool of the same installation, such as `llvm-ar`, `llvm-ranlib`, `wasm-ld` or `clang++`.
    pub(crate) fn tool(&self, name: &str) -> PathBuf {
        self.clang.with_file_name(format!("{name}{}", self.suffix))
    }

    /// CC, CXX, CPP, AR, RANLIB, NM, READELF and LD for a `configure` script.
    pub(crate) fn environment(&self) -> Vec<(&'static str, OsString)> {
        let cross = |tool: PathBuf| {
            let mut line = tool.into_os_string();
            for argument in self.target_arguments() {
                line.push(" ");
                line.push(argument);
            }
            line
        };
        vec![
            ("CC", cross(self.clang.clone())),
            ("CXX", cross(self.tool("clang++"))),
            ("CPP", cross(self.tool("clang-cpp"))),
            ("AR", self.tool("llvm-ar").into()),
            ("RANLIB", self.tool("llvm-ranlib").into()),
            ("NM", self.tool("llvm-nm").into()),
            ("READELF", self.tool("llvm-readelf").into()),
            ("LD", self.tool("wasm-ld").into()),
        ]
    }
}

/// The first clang on the PATH that is new enough and has its linker, its archiver and its wasm runtime library.
fn installed() -> Option<(PathBuf, String, String)> {
    ["-22", "-23", ""].into_iter().find_map(|suffix| {
        let clang = on_path(&format!("clang{suffix}"))?;
        let version = version(&clang).ok()?;
        let complete =
            ["wasm-ld", "llvm-ar"].iter().all(|tool| on_path(&format!("{tool}{suffix}")).is_some());
        (major(&version) >= OLDEST_CLANG && complete && has_runtime(&clang))
            .then(|| (clang, suffix.to_owned(), version))
    })
}

fn has_runtime(clang: &Path) -> bool {
    let asked =
        Command::new(clang).arg(format!("--target={TARGET}")).arg("--print-libgcc-file-name").output();
    asked.is_ok_and(|told| Path::new(String::from_utf8_lossy(&told.stdout).trim()).is_file())
}

fn version(clang: &Path) -> Result<String> {
    let told = Command::new(clang)
        .arg("--version")
        .output()
        .with_context(|| format!("cannot run `{}`", clang.display()))?;
    Ok(String::from_utf8_lossy(&told.stdout).lines().next().unwrap_or_default().to_owned())
}

/// The `22` of `Debian clang version 22.1.8 (...)`.
fn major(version: &str) -> u32 {
    let number = version.split("version ").nth(1).and_then(|rest| rest.split('.').next());
    number.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

/// Installs Debian's tool chain where that is possible, else says how.
fn install(progress: &Progress) -> Result<()> {
    let otherwise = format!(
        "no clang of version {OLDEST_CLANG} or newer with lld and the wasm32 runtime library; \
         install it with `apt-get install {}` or set WASI_SDK_PATH",
        PACKAGES.join(" ")
    );
    apt::install(progress, &PACKAGES, &otherwise)
}

/// The unpacked wasi-libc, and its name.
fn sysroot(cache: &Cache, progress: &Progress) -> Result<(PathBuf, String)> {
    let file = source::debian(cache, progress, &WASI_LIBC)?;
    let name = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let folder = cache.toolchain()?.join(&name);
    let sysroot = folder.join("usr");
    if !sysroot.is_dir() {
        let fresh = tempfile::tempdir_in(cache.toolchain()?)?;
        let into = fresh.path().join("unpacked");
        run_for(Command::new("dpkg-deb").arg("-x").arg(&file).arg(&into), NETWORK_TIMEOUT)?;
        if let Err(error) = std::fs::rename(&into, &folder) {
            // Another build may have been faster; its unpacked copy is as good.
            ensure!(sysroot.is_dir(), "cannot keep the unpacked sysroot: {error}");
        }
    }
    Ok((sysroot, name))
}

#[cfg(test)]
mod tests {
    use super::major;

    #[test]
    fn the_major_version_is_read_from_clangs_own_words() {
        assert_eq!(major("Debian clang version 22.1.8 (1~deb12u1)"), 22);
        assert_eq!(major("clang version 23.0.0"), 23);
        assert_eq!(major("Apple something else"), 0);
    }
}
