//! Debian's packages as files: which ones a program needs, in which versions, and what is in them. None of them is
//! installed, and none of their scripts runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use dormouse_chores::program::{self, NETWORK_TIMEOUT};

/// How long apt may think.
const QUESTION: Duration = Duration::from_secs(120);
/// What no image needs: documentation, translations, character sets, types for editors, and git's servers, of which each is a
/// copy of git.
const LEFT_OUT: [&str; 14] = [
    "./usr/share/doc",
    "./usr/share/man",
    "./usr/share/info",
    "./usr/share/locale",
    "./usr/share/lintian",
    "./usr/share/bug",
    "./usr/share/nodejs/@types",
    "./usr/lib/*/gconv",
    "./usr/lib/git-core/git-http-[bfp]*",
    "./usr/lib/git-core/git-daemon",
    "./usr/lib/git-core/git-imap-send",
    "./usr/lib/git-core/git-shell",
    "./usr/lib/git-core/scalar",
    "./usr/bin/git-shell",
];

/// A package in the version that is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) version: String,
}

/// apt-get as if no package were installed, so that the answer is the same on every machine.
struct Apt {
    /// Holds an empty list of installed packages.
    folder: tempfile::TempDir,
}

impl Apt {
    fn new() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        fs::write(folder.path().join("status"), "")?;
        Ok(Self { folder })
    }

    fn command(&self) -> Command {
        let mut status = std::ffi::OsString::from("Dir::State::status=");
        status.push(self.folder.path().join("status"));
        let mut command = Command::new("apt-get");
        command.args(["-o", "Debug::NoLocking=1", "-o", "APT::Install-Recommends=0", "-o"]).arg(status);
        command.env("LC_ALL", "C").env("DEBIAN_FRONTEND", "noninteractive");
        command
    }
}

/// The packages that these need, and themselves, but for those whose name `skipped` knows.
pub(super) fn closure(wanted: &[&str], skipped: impl Fn(&str) -> bool) -> Result<Vec<Package>> {
    let apt = Apt::new()?;
    let ask = || {
        let said = program::run(apt.command().args(["--simulate", "install"]).args(wanted), QUESTION)?;
        ensure!(said.succeeded(), "apt-get: {}", said.end());
        Ok(said.stdout)
    };
    let told = ask().or_else(|_| {
        // A machine that never updated its lists knows no package.
        update();
        ask()
    })?;
    let mut packages: Vec<Package> =
        told.lines().filter_map(read).filter(|package| !skipped(&package.name)).collect();
    packages.sort_by(|a, b| a.name.cmp(&b.name));
    ensure!(!packages.is_empty(), "apt-get names no package for {}", wanted.join(", "));
    Ok(packages)
}

/// A line such as `Inst git (1:2.39.5-0+deb12u2 Debian:12.11/stable [amd64])`.
fn read(line: &str) -> Option<Package> {
    let (name, rest) = line.strip_prefix("Inst ")?.split_once(' ')?;
    let version = rest.split_once('(')?.1.split(' ').next()?;
    Some(Package { name: name.to_owned(), version: version.to_owned() })
}

fn update() {
    let _ = program::run(Command::new("apt-get").arg("update"), NETWORK_TIMEOUT);
}

/// Downloads these packages into a folder; where a version is gone, another one that apt offers.
pub(super) fn download(packages: &[Package], into: &Path) -> Result<Vec<PathBuf>> {
    let apt = Apt::new()?;
    let get = |names: &[String]| -> Result<()> {
        let said =
            program::run(apt.command().arg("download").args(names).current_dir(into), NETWORK_TIMEOUT)?;
        ensure!(said.succeeded(), "apt-get download: {}", said.end());
        Ok(())
    };
    let pinned = |package: &Package| format!("{}={}", package.name, package.version);
    let all: Vec<String> = packages.iter().map(pinned).collect();
    if get(&all).is_err() {
        update();
        for package in packages {
            let others = || {
                let versions = offered(&package.name)?;
                let mut tries = versions.iter().map(|version| get(&[format!("{}={version}", package.name)]));
                ensure!(tries.any(|tried| tried.is_ok()), "no version of `{}` can be had", package.name);
                Ok(())
            };
            get(&[pinned(package)]).or_else(|_| others())?;
        }
    }
    let mut files: Vec<PathBuf> =
        fs::read_dir(into)?.flatten().map(|entry| entry.path()).filter(|path| is_package(path)).collect();
    files.sort();
    Ok(files)
}

fn is_package(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "deb")
}

/// The versions of a package that apt knows, as `apt-cache madison` lists them: `git | 1:2.39.5-0 | ...`.
fn offered(name: &str) -> Result<Vec<String>> {
    let said = program::run(Command::new("apt-cache").args(["madison", name]), QUESTION)?;
    let cells = said.stdout.lines().filter_map(|line| line.split('|').nth(1));
    Ok(cells.map(|version| version.trim().to_owned()).collect())
}

/// Unpacks a package into a tree, without what no image needs. `/bin` and its kind may be links.
pub(super) fn unpack(package: &Path, into: &Path) -> Result<()> {
    let mut packed = Command::new("dpkg-deb")
        .arg("--fsys-tarfile")
        .arg(package)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .context("dpkg-deb is missing")?;
    let content = packed.stdout.take().context("a pipe was asked for")?;
    let mut tar = Command::new("tar");
    tar.arg("--directory").arg(into).args(["--extract", "--keep-directory-symlink", "--no-same-owner"]);
    tar.args(LEFT_OUT.map(|path| format!("--exclude={path}")));
    let unpacked = tar.stdin(content).output().context("tar is missing")?;
    if !packed.wait()?.success() || !unpacked.status.success() {
        let why = String::from_utf8_lossy(&unpacked.stderr);
        bail!("`{}` cannot be unpacked: {}", package.display(), why.trim());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_apt_get_names_package_and_version() {
        let line = "Inst git (1:2.39.5-0+deb12u2 Debian:12.11/stable, Debian-Security:12 [amd64])";
        let expected = Package { name: "git".to_owned(), version: "1:2.39.5-0+deb12u2".to_owned() };
        assert_eq!(read(line), Some(expected));
        assert_eq!(read("Conf git (1:2.39.5-0+deb12u2 Debian:12.11/stable [amd64])"), None);
        assert_eq!(read("Reading package lists..."), None);
    }
}
