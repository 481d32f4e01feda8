//! Source trees in scratch space: listed, copied, unpacked, and changed by edits that must fit exactly.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::job::Job;
use super::key::sha256;

/// A change to someone else's source text. It must match exactly `count` times, so that a new upstream version
/// cannot silently lose it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edit {
    pub(crate) file: &'static str,
    pub(crate) find: &'static str,
    pub(crate) replace: &'static str,
    pub(crate) count: usize,
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
    /// Unpacks a tar archive into the scratch folder `name` (without its top folder) and applies the edits.
    /// Does nothing when the folder already holds exactly that.
    pub(crate) fn unpack(&self, archive: &Path, name: &str, edits: &[Edit]) -> Result<PathBuf> {
        let origin = fs::read(archive).with_context(|| format!("cannot read `{}`", archive.display()))?;
        self.tree(name, &sha256(&origin), edits, |into| {
            fs::create_dir_all(into)?;
            let mut tar = Command::new("tar");
            tar.arg("-xf")
                .arg(archive)
                .arg("--strip-components=1")
                .arg("--no-same-owner")
                .arg("-C")
                .arg(into);
            self.run(&format!("unpack {name}"), &mut tar)
        })
    }

    /// Copies a folder into the scratch folder `name` and applies the edits. Does nothing when that is already there.
    pub(crate) fn copy(&self, from: &Path, name: &str, edits: &[Edit]) -> Result<PathBuf> {
        self.tree(name, &from.to_string_lossy(), edits, |into| {
            for file in files(from)? {
                let to = into.join(file.strip_prefix(from)?);
                fs::create_dir_all(to.parent().unwrap_or(into))?;
                fs::write(&to, fs::read(&file)?)?;
            }
            Ok(())
        })
    }

    fn tree(
        &self,
        name: &str,
        origin: &str,
        edits: &[Edit],
        fill: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<PathBuf> {
        let folder = self.scratch.join(name);
        let stamp = self.scratch.join(format!("{name}.stamp"));
        let state = sha256(format!("{origin} {edits:?}").as_bytes());
        if fs::read_to_string(&stamp).is_ok_and(|found| found == state) {
            return Ok(folder);
        }
        let _ = fs::remove_file(&stamp);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fill(&folder)?;
        for edit in edits {
            apply(&folder, edit)?;
        }
        fs::write(&stamp, state)?;
        Ok(folder)
    }
}

fn apply(folder: &Path, edit: &Edit) -> Result<()> {
    let path = folder.join(edit.file);
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let found = text.matches(edit.find).count();
    ensure!(
        found == edit.count,
        "an edit of `{}` expects its text {} times and found it {found} times: {:?}",
        edit.file,
        edit.count,
        edit.find
    );
    fs::write(&path, text.replace(edit.find, edit.replace))?;
    Ok(())
}
