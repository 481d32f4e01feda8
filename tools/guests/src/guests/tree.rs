//! Source trees of other projects: fetched, unpacked, and prepared for a build with the guest's patches.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use dormouse_chores::Cache;
use dormouse_chores::progress::Progress;

use super::job::{Job, NETWORK_TIMEOUT, run_for};
use super::key::sha256;
use super::series::Series;
use super::source::{self, DebianFile, PythonFile};

/// A source tree of a recipe. In patches its files have the tree's name before their own: `php/Zend/zend_long.h`.
pub(crate) struct Tree {
    /// Its folder in the scratch folder.
    pub(crate) name: &'static str,
    pub(crate) origin: Origin,
    /// Whole files of ours: the path in the guest's folder, and the path in the tree, where it may replace a file.
    pub(crate) own: &'static [(&'static str, &'static str)],
}

/// Where a tree comes from.
pub(crate) enum Origin {
    /// An archive from Debian, without its top folder: the first of the candidates that is available.
    Debian(&'static [DebianFile]),
    /// A source distribution of Python, without its top folder.
    Python(&'static PythonFile),
    /// A folder (empty: all) of a Rust package that a manifest below `guests` depends on.
    Package { manifest: &'static str, name: &'static str, folder: &'static str },
}

impl Tree {
    /// A tree without files of ours.
    pub(crate) const fn new(name: &'static str, origin: Origin) -> Self {
        Self { name, origin, own: &[] }
    }

    /// The archive, or the package's folder.
    pub(crate) fn fetch(&self, workspace: &Path, cache: &Cache, progress: &Progress) -> Result<PathBuf> {
        match &self.origin {
            Origin::Debian(candidates) => source::debian(cache, progress, candidates),
            Origin::Python(file) => source::python(cache, progress, file),
            Origin::Package { manifest, name, .. } => {
                source::crate_sources(workspace, progress, manifest, name)
            }
        }
    }

    /// Unpacks or copies what was fetched, unchanged.
    pub(crate) fn lay(&self, fetched: &Path, into: &Path) -> Result<()> {
        fs::create_dir_all(into)?;
        match &self.origin {
            Origin::Debian(_) | Origin::Python(_) => {
                let mut tar = Command::new("tar");
                tar.arg("-xf").arg(fetched).args(["--strip-components=1", "--no-same-owner", "-C"]).arg(into);
                run_for(&mut tar, NETWORK_TIMEOUT)
            }
            Origin::Package { folder, .. } => copy(&fetched.join(folder), into),
        }
    }

    /// The tree as a folder in `root`, with the patches and the own files of the guest in the folder `guest`. Does nothing when the
    /// folder already holds exactly that.
    pub(crate) fn prepare(
        &self,
        fetched: &Path,
        guest: &Path,
        series: &Series,
        root: &Path,
        progress: &Progress,
    ) -> Result<PathBuf> {
        let name = self.name;
        let own_file = |name: &str| {
            let path = guest.join(name);
            fs::read(&path).with_context(|| format!("cannot read `{}`", path.display()))
        };
        let mut parts = series.of(name).concat();
        parts.extend(match fetched.is_dir() {
            true => fetched.as_os_str().as_encoded_bytes().to_vec(),
            false => fs::read(fetched).with_context(|| format!("cannot read `{}`", fetched.display()))?,
        });
        for (ours, _) in self.own {
            parts.extend(own_file(ours)?);
        }
        let (folder, state) = (root.join(name), sha256(&parts));
        let stamp = root.join(format!("{name}.stamp"));
        if fs::read_to_string(&stamp).is_ok_and(|found| found == state) {
            return Ok(folder);
        }
        let _step = progress.step(&format!("prepare {name}"));
        let _ = fs::remove_file(&stamp);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        self.lay(fetched, &folder)?;
        series.apply(root, name)?;
        for (ours, theirs) in self.own {
            fs::write(folder.join(theirs), own_file(ours)?)?;
        }
        fs::write(&stamp, state)?;
        Ok(folder)
    }
}

/// All files under a folder, sorted.
pub(crate) fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).with_context(|| format!("cannot list `{}`", next.display()))? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}

impl Job<'_> {
    /// One of the recipe's trees in the scratch folder, with the guest's patches and its own files.
    pub(crate) fn prepare(&self, name: &str) -> Result<PathBuf> {
        let tree = self.trees.iter().find(|tree| tree.name == name);
        let tree = tree.with_context(|| format!("the recipe has no tree `{name}`"))?;
        let fetched = tree.fetch(&self.workspace, self.cache, &self.progress)?;
        self.used(fetched.file_name().unwrap_or_default().to_string_lossy().into_owned());
        tree.prepare(&fetched, &self.guest, &self.series, &self.scratch, &self.progress)
    }
}

fn copy(from: &Path, into: &Path) -> Result<()> {
    for file in files(from)? {
        let to = into.join(file.strip_prefix(from)?);
        fs::create_dir_all(to.parent().unwrap_or(into))?;
        fs::write(&to, fs::read(&file)?)?;
    }
    Ok(())
}
