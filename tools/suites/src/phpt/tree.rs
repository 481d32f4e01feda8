//! A writable copy of the files that lie beside the tests. Each worker has one, and puts it in order after each test.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context as _, Result};
use tempfile::TempDir;

/// The copy.
pub(super) struct Tree {
    origin: PathBuf,
    copy: TempDir,
    /// Every file of the copy as it was made; none: a folder.
    known: BTreeMap<PathBuf, Option<(u64, SystemTime)>>,
}

impl Tree {
    /// Copies all that is not a test itself.
    pub(super) fn copy(origin: &Path) -> Result<Self> {
        let mut tree = Self { origin: origin.to_path_buf(), copy: TempDir::new()?, known: BTreeMap::new() };
        tree.add(Path::new(""))?;
        Ok(tree)
    }

    fn add(&mut self, folder: &Path) -> Result<()> {
        for entry in fs::read_dir(self.origin.join(folder))? {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            let kind = entry.file_type()?;
            if kind.is_dir() {
                fs::create_dir(self.copy.path().join(&path))?;
                self.known.insert(path.clone(), None);
                self.add(&path)?;
            } else if kind.is_file() && path.extension().is_none_or(|ending| ending != "phpt") {
                self.put(&path)?;
            }
        }
        Ok(())
    }

    /// Copies one file.
    fn put(&mut self, path: &Path) -> Result<()> {
        let copy = self.copy.path().join(path);
        fs::copy(self.origin.join(path), &copy)?;
        self.known.insert(path.to_path_buf(), Some(stamp(&copy)?));
        Ok(())
    }

    pub(super) fn root(&self) -> &Path {
        self.copy.path()
    }

    /// Removes what a test of this folder left behind there and in the root, and brings back what it changed.
    pub(super) fn restore(&mut self, folder: &Path) -> Result<()> {
        self.sweep(Path::new(""), false)?;
        self.sweep(folder, true)?;
        let (copy, mut lost) = (self.copy.path(), Vec::new());
        for (path, known) in
            self.known.range(folder.to_path_buf()..).take_while(|(path, _)| path.starts_with(folder))
        {
            match known {
                None => fs::create_dir_all(copy.join(path))?,
                Some(known) if stamp(&copy.join(path)).ok().as_ref() != Some(known) => {
                    lost.push(path.clone())
                }
                Some(_) => {}
            }
        }
        for path in lost {
            self.put(&path).with_context(|| format!("cannot bring back `{}`", path.display()))?;
        }
        Ok(())
    }

    fn sweep(&self, folder: &Path, deep: bool) -> Result<()> {
        for entry in fs::read_dir(self.copy.path().join(folder))? {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            let is_folder = entry.file_type()?.is_dir();
            match self.known.get(&path) {
                Some(known) if known.is_none() == is_folder => {
                    if is_folder && deep {
                        self.sweep(&path, true)?;
                    }
                }
                _ if is_folder => fs::remove_dir_all(entry.path())?,
                _ => fs::remove_file(entry.path())?,
            }
        }
        Ok(())
    }
}

fn stamp(path: &Path) -> Result<(u64, SystemTime)> {
    let metadata = fs::symlink_metadata(path)?;
    Ok((metadata.len(), metadata.modified()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_leaves_nothing_behind() {
        let origin = TempDir::new().unwrap();
        fs::create_dir_all(origin.path().join("a/b")).unwrap();
        for (name, text) in [("a/one.inc", "1"), ("a/b/two.inc", "2"), ("a/t.phpt", "3")] {
            fs::write(origin.path().join(name), text).unwrap();
        }
        let mut tree = Tree::copy(origin.path()).unwrap();
        assert!(!tree.root().join("a/t.phpt").exists());
        fs::write(tree.root().join("left"), "x").unwrap();
        fs::create_dir(tree.root().join("a/more")).unwrap();
        fs::write(tree.root().join("a/more/left"), "x").unwrap();
        fs::write(tree.root().join("a/one.inc"), "changed").unwrap();
        fs::remove_dir_all(tree.root().join("a/b")).unwrap();
        tree.restore(Path::new("a")).unwrap();
        let text = |name: &str| fs::read_to_string(tree.root().join(name)).unwrap();
        assert_eq!((text("a/one.inc"), text("a/b/two.inc")), ("1".into(), "2".into()));
        assert!(!tree.root().join("left").exists() && !tree.root().join("a/more").exists());
    }
}
