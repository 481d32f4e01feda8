//! Where source files come from: Debian's archive through apt, Rust packages through cargo, source distributions of Python through
//! the index that pip uses. Every file is checked against a pinned checksum, so no mirror has to be trusted.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::Cache;
use crate::digest::sha256;
use crate::process::plain_cargo;
use crate::program::{NETWORK_TIMEOUT, run_for};
use crate::progress::Progress;
use crate::python;

/// A file in the pool of Debian's archive.
#[derive(Debug)]
pub struct DebianFile {
    /// The source package, which names the folder in the pool.
    pub package: &'static str,
    /// The file's name, with its version.
    pub file: &'static str,
    /// Its SHA-256 in lower-case hexadecimal digits.
    pub sha256: &'static str,
}

/// A source distribution in the index that pip uses.
#[derive(Debug)]
pub struct PythonFile {
    /// The project.
    pub project: &'static str,
    /// The file's name, with its version.
    pub file: &'static str,
    /// Its SHA-256 in lower-case hexadecimal digits.
    pub sha256: &'static str,
}

/// Fetches a file of a project. `pip download` would build it to learn its name, which takes a compiler.
const FETCH: &str = include_str!("fetch.py");

/// apt's own downloader: it knows the proxy and the mirror of this machine.
const APT_HELPER: &str = "/usr/lib/apt/apt-helper";

/// The first of the candidates that is in the cache, else the first that the mirrors serve. Several candidates are
/// worth naming because the archive drops old versions.
///
/// # Errors
///
/// No mirror serves any of them with its checksum.
pub fn debian(cache: &Cache, progress: &Progress, candidates: &[DebianFile]) -> Result<PathBuf> {
    let folder = cache.sources()?;
    for candidate in candidates {
        let path = folder.join(candidate.file);
        if path.is_file() && sha256(&std::fs::read(&path)?) == candidate.sha256 {
            return Ok(path);
        }
    }
    let mut failures = Vec::new();
    let mirrors = mirrors();
    for candidate in candidates {
        for mirror in &mirrors {
            let _step = progress.step(&format!("downloading {}", candidate.file));
            match download(mirror, candidate, &folder) {
                Ok(path) => return Ok(path),
                Err(error) => failures.push(format!("{}: {error:#}", candidate.file)),
            }
        }
    }
    let wanted: Vec<_> =
        candidates.iter().map(|file| format!("{} (sha256 {})", file.file, file.sha256)).collect();
    if failures.is_empty() {
        failures.push("this machine's apt names no Debian mirror".to_owned());
    }
    bail!(
        "cannot fetch a source: {}\nput one of these files into `{}` by hand: {}",
        failures.join("; "),
        folder.display(),
        wanted.join(", ")
    )
}

/// A source distribution: in the cache, or fetched into it.
///
/// # Errors
///
/// There is no Python with pip, or the index does not have it with its checksum.
pub fn python(cache: &Cache, progress: &Progress, wanted: &PythonFile) -> Result<PathBuf> {
    let folder = cache.sources()?;
    let has = |path: &Path| -> Result<bool> { Ok(sha256(&std::fs::read(path)?) == wanted.sha256) };
    let path = folder.join(wanted.file);
    if path.is_file() && has(&path)? {
        return Ok(path);
    }
    let _step = progress.step(&format!("downloading {}", wanted.file));
    python::require().map_err(anyhow::Error::msg)?;
    // Of this version, because the settings of pip are read by what is no interface of it.
    let pip = python::environment("pip", "pip==26.3").context("no Python with pip")?;
    let fresh = tempfile::tempdir_in(&folder)?;
    let partial = fresh.path().join(wanted.file);
    let fetched = crate::program::fetch(|| {
        let mut fetch = Command::new(pip.join("bin/python"));
        fetch.args(["-c", FETCH, wanted.project, wanted.file]).arg(&partial);
        fetch
    });
    fetched.with_context(|| format!("cannot fetch `{}`", wanted.file))?;
    ensure!(has(&partial)?, "`{}` does not have the sha256 {}", wanted.file, wanted.sha256);
    std::fs::rename(&partial, &path)?;
    Ok(path)
}

fn download(mirror: &str, wanted: &DebianFile, folder: &Path) -> Result<PathBuf> {
    let fresh = tempfile::tempdir_in(folder)?;
    let partial = fresh.path().join(wanted.file);
    let prefix = if wanted.package.starts_with("lib") { &wanted.package[..4] } else { &wanted.package[..1] };
    let address = format!("{mirror}/pool/main/{prefix}/{}/{}", wanted.package, wanted.file);
    // The checksum is given to apt too, so that a mirror's error page is not kept; the folder is private to this
    // user, so apt must not change to its own.
    let mut apt = Command::new(APT_HELPER);
    apt.args(["-o", "APT::Sandbox::User=root", "-o", "Acquire::http::Timeout=30", "download-file"]);
    apt.arg(address).arg(&partial).arg(format!("SHA256:{}", wanted.sha256));
    run_for(&mut apt, NETWORK_TIMEOUT)?;
    let found = sha256(&std::fs::read(&partial)?);
    ensure!(found == wanted.sha256, "its sha256 is {found}, not {}", wanted.sha256);
    let path = folder.join(wanted.file);
    std::fs::rename(&partial, &path)?;
    Ok(path)
}

/// The Debian mirrors of this machine's own apt configuration, without the security archive, whose pool is another.
#[must_use]
pub fn mirrors() -> Vec<String> {
    let mut command = Command::new("apt-get");
    command.args(["indextargets", "--format", "$(SITE)|$(CODENAME)|$(COMPONENT)|$(CREATED_BY)|$(ORIGIN)"]);
    let Ok(told) = command.output() else { return Vec::new() };
    let mut sites: Vec<String> = Vec::new();
    for line in String::from_utf8_lossy(&told.stdout).lines() {
        let [site, codename, "main", "Packages", origin] = line.split('|').collect::<Vec<_>>()[..] else {
            continue;
        };
        // The origin is known once the lists were fetched; before, the codename has to do.
        let debian = matches!(origin, "Debian" | "") && !codename.contains("security");
        if debian && !sites.iter().any(|known| known == site) {
            sites.push(site.trim_end_matches('/').to_owned());
        }
    }
    sites
}

/// The folder of a Rust package that a manifest below `guests` depends on; cargo downloads and verifies it.
///
/// # Errors
///
/// Cargo cannot resolve the manifest, or it does not depend on the package.
pub fn crate_sources(workspace: &Path, progress: &Progress, manifest: &str, name: &str) -> Result<PathBuf> {
    let _step = progress.step(&format!("finding the sources in package {name} (cargo)"));
    let told = plain_cargo()
        .args(["metadata", "--locked", "--format-version", "1", "--manifest-path"])
        .arg(workspace.join("guests").join(manifest))
        .output()
        .context("cannot run cargo")?;
    ensure!(
        told.status.success(),
        "cargo cannot resolve `{name}`: {}",
        String::from_utf8_lossy(&told.stderr)
    );
    let metadata: Value = serde_json::from_slice(&told.stdout)?;
    let packages = metadata["packages"].as_array().context("cargo metadata names no packages")?;
    let package = packages.iter().find(|package| package["name"] == name);
    let own = package.and_then(|package| package["manifest_path"].as_str());
    let folder = own.and_then(|path| Path::new(path).parent());
    Ok(folder.with_context(|| format!("`guests/{manifest}` does not depend on `{name}`"))?.to_path_buf())
}
