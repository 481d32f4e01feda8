//! Debian's `rustc-web`, a newer compiler than its own whose libraries come as packages of their own: unpacked into a folder, for
//! targets whose standard library the installed compiler does not have.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::program::{NETWORK_TIMEOUT, run_for};
use crate::progress::Progress;

/// The compiler in `folder`, unpacked on first use: the packages `rustc-web`, its libraries and `more`. `other`: Debian's name of
/// another architecture that `more` has packages of, as in `NAME:arm64`. `finish` adds to the unpacked files before they get their
/// name.
///
/// # Errors
///
/// This is no Debian whose apt knows the packages; the files cannot be kept; what `finish` says.
pub fn provide(
    progress: &Progress,
    folder: &Path,
    more: &[&str],
    other: Option<&str>,
    finish: impl FnOnce(&Path) -> Result<()>,
) -> Result<PathBuf> {
    let wrapper = folder.join("rustc.sh");
    if !wrapper.is_file() {
        let fresh = tempfile::tempdir_in(folder.parent().context("the folder lies in another")?)?;
        {
            let _step = progress.step("fetching Debian's rustc-web (apt-get)");
            unpack(fresh.path(), more, other)?;
        }
        finish(fresh.path())?;
        let unpacked = fresh.keep();
        if let Err(error) = fs::rename(&unpacked, folder) {
            // Another build may have been faster.
            let _ = fs::remove_dir_all(&unpacked);
            ensure!(folder.is_dir(), "cannot keep the unpacked compiler: {error}");
        }
        // It says where it lies, so it is written when that is known.
        write_wrapper(folder, &wrapper)?;
    }
    Ok(wrapper)
}

fn unpack(into: &Path, more: &[&str], other: Option<&str>) -> Result<()> {
    let own = into.join("apt");
    fs::create_dir_all(own.join("lists/partial"))?;
    fs::create_dir_all(own.join("archives/partial"))?;
    let mut options = vec!["APT::Sandbox::User=root".to_owned()];
    if let Some(other) = other {
        // With lists of its own apt learns of the other architecture without a change to the system.
        let here = Command::new("dpkg").arg("--print-architecture").output().context("no dpkg")?;
        let here = String::from_utf8_lossy(&here.stdout).trim().to_owned();
        options.push(format!("APT::Architectures={here},{other}"));
        for (name, folder) in [("Dir::State::Lists", "lists"), ("Dir::Cache::archives", "archives")] {
            options.push(format!("{name}={}", own.join(folder).display()));
        }
        options.extend(["Dir::Cache::pkgcache=", "Dir::Cache::srcpkgcache="].map(String::from));
    }
    let apt = |program: &str| {
        let mut apt = Command::new(program);
        apt.args(options.iter().flat_map(|option| ["-o", option])).current_dir(&own);
        apt
    };
    let known = if other.is_some() { None } else { library(apt("apt-cache"))? };
    let library = match known {
        Some(library) => library,
        None => {
            // A machine that never updated its lists knows no package.
            run_for(apt("apt-get").arg("update"), NETWORK_TIMEOUT)?;
            library(apt("apt-cache"))?.context("apt does not say which library libstd-rust-web-dev needs")?
        }
    };
    let mut download = apt("apt-get");
    download.args(["download", "rustc-web", "libstd-rust-web-dev", &library]).args(more);
    run_for(&mut download, NETWORK_TIMEOUT)?;
    for file in fs::read_dir(&own)? {
        let file = file?.path();
        if file.extension().is_some_and(|end| end == "deb") {
            run_for(Command::new("dpkg-deb").arg("-x").arg(file).arg(into), NETWORK_TIMEOUT)?;
        }
    }
    Ok(fs::remove_dir_all(own)?)
}

/// The package with the compiler's own library, whose name has a version in it.
fn library(mut apt_cache: Command) -> Result<Option<String>> {
    let asked = apt_cache.args(["depends", "libstd-rust-web-dev"]).output().context("no apt-cache")?;
    let text = String::from_utf8_lossy(&asked.stdout).into_owned();
    let is_library = |word: &&str| word.starts_with("libstd-rust-web-") && !word.ends_with("-dev");
    Ok(text.split_whitespace().find(is_library).map(str::to_owned))
}

fn write_wrapper(folder: &Path, wrapper: &Path) -> Result<()> {
    let root = folder.join("usr");
    let libraries = fs::read_dir(root.join("lib"))?
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().ends_with("-linux-gnu")))
        .context("the unpacked compiler has no libraries")?;
    let text = format!(
        "#!/bin/sh\nLD_LIBRARY_PATH='{}' exec '{}' \"$@\"\n",
        libraries.display(),
        root.join("bin/rustc").display()
    );
    let partial = folder.join("rustc.sh.partial");
    fs::write(&partial, text)?;
    fs::set_permissions(&partial, fs::Permissions::from_mode(0o755))?;
    Ok(fs::rename(&partial, wrapper)?)
}
