//! A guest's patches: `guests/<name>/patches/NNNN-short-name.patch`, what we change in the sources that others wrote.
//!
//! The crate `diffy` parses a patch, and this module applies it. `git apply`, `patch` and `diffy::apply` are not strict: they
//! search for another position when a hunk does not match at its line (and `patch` is not installed everywhere). In a newer
//! source, another position may be the wrong one. So a hunk matches at its line, byte for byte, or it is an error.

use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use diffy::patch_set::{FileOperation, ParseOptions, PatchKind, PatchSet};
use diffy::{Hunk, Line};

use super::tree::Tree;

/// How the line `Upstream: ` of a patch may continue.
const UPSTREAM: [&str; 3] = ["would take", "ours alone", "sent "];

/// The patches of one guest in their order.
pub(crate) struct Series(Vec<Patch>);

/// One patch: its reason, its relation to the upstream project, and the changes to one or more files.
#[derive(PartialEq, Eq)]
pub(crate) struct Patch {
    /// The file's name, such as `0003-no-fibers.patch`.
    pub(crate) name: String,
    pub(crate) text: Vec<u8>,
    /// Where in the text the changes begin.
    changes: usize,
}

/// The changes to one file.
struct Change<'a> {
    /// The tree's name and the path in it.
    path: PathBuf,
    text: diffy::Patch<'a, [u8]>,
}

impl Series {
    /// Reads the patches in a guest's folder. It is an error if one is for a tree that the recipe does not have.
    pub(crate) fn read(guest: &Path, trees: &[Tree]) -> Result<Self> {
        let folder = guest.join("patches");
        let mut names = Vec::new();
        if folder.exists() {
            for entry in fs::read_dir(&folder)? {
                names.push(entry?.file_name());
            }
        }
        names.sort();
        let mut patches = Vec::new();
        for name in names {
            let path = folder.join(&name);
            let text = fs::read(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
            let patch = Patch::parse(name.to_string_lossy().into_owned(), text)?;
            for change in patch.read()? {
                let known = trees.iter().any(|tree| change.path.starts_with(tree.name));
                ensure!(known, "{}: the recipe has no tree of `{}`", patch.name, change.path.display());
            }
            patches.push(patch);
        }
        Ok(Self(patches))
    }

    pub(crate) fn patches(&self) -> &[Patch] {
        &self.0
    }

    /// The texts of the patches that change a tree.
    pub(crate) fn of(&self, tree: &str) -> Vec<&[u8]> {
        let changes = |patch: &&Patch| {
            patch.read().is_ok_and(|changes| changes.iter().any(|change| change.path.starts_with(tree)))
        };
        self.0.iter().filter(changes).map(|patch| patch.text.as_slice()).collect()
    }

    /// Applies what the patches change in the tree of this name, which lies in `root`.
    pub(crate) fn apply(&self, root: &Path, tree: &str) -> Result<()> {
        self.0.iter().try_for_each(|patch| patch.apply(root, tree))
    }
}

impl Patch {
    /// Checks that a file is a patch with a reason and a line `Upstream: `.
    pub(crate) fn parse(name: String, text: Vec<u8>) -> Result<Self> {
        let number = name.get(..5).is_some_and(|start| {
            start.ends_with('-') && start[..4].bytes().all(|digit| digit.is_ascii_digit())
        });
        let end = Path::new(&name).extension() == Some(OsStr::new("patch"));
        ensure!(
            number && end,
            "`{name}` is not the name of a patch: it has to be like 0001-short-name.patch"
        );
        let first = text.windows(7).position(|bytes| bytes == b"\n--- a/");
        let changes = first.with_context(|| format!("{name} changes no file, or gives no reason"))? + 1;
        let patch = Self { name, text, changes };
        let reason = patch.reason()?;
        let said = reason.lines().filter_map(|line| line.strip_prefix("Upstream: ")).next();
        ensure!(
            said.is_some_and(|said| UPSTREAM.iter().any(|form| said.starts_with(form))),
            "{} has no line `Upstream: `, with `{}` after it",
            patch.name,
            UPSTREAM.join("`, `").trim_end()
        );
        patch.read()?;
        Ok(patch)
    }

    /// All that stands before the changes.
    pub(crate) fn reason(&self) -> Result<&str> {
        let text = std::str::from_utf8(&self.text[..self.changes]);
        Ok(text.with_context(|| format!("{}: the reason is not UTF-8", self.name))?.trim())
    }

    /// Changes the files of the tree of this name in `root`. If a hunk does not match, no file is changed, and the error names it.
    pub(crate) fn apply(&self, root: &Path, tree: &str) -> Result<()> {
        let mut changed = Vec::new();
        for change in self.read()?.iter().filter(|change| change.path.starts_with(tree)) {
            let path = root.join(&change.path);
            let shown = change.path.display();
            let old = fs::read(&path).with_context(|| format!("{}: cannot read `{shown}`", self.name))?;
            match patched(&old, change.text.hunks()) {
                Ok(new) => changed.push((path, new)),
                Err(place) => bail!(
                    "{} does not apply: hunk {} of `{shown}` does not match at line {}",
                    self.name,
                    place + 1,
                    change.text.hunks()[place].old_range().start()
                ),
            }
        }
        changed.into_iter().try_for_each(|(path, new)| fs::write(path, new)).context(self.name.clone())
    }

    fn read(&self) -> Result<Vec<Change<'_>>> {
        let mut changes = Vec::new();
        for file in PatchSet::parse_bytes(&self.text[self.changes..], ParseOptions::unidiff()) {
            let file = file.with_context(|| format!("{} is not a patch", self.name))?;
            let FileOperation::Modify { original, modified } = file.operation().strip_prefix(1) else {
                bail!(
                    "{}: a patch only modifies files; a whole new file belongs in the guest's folder",
                    self.name
                );
            };
            ensure!(original == modified, "{}: a patch does not rename files", self.name);
            let path = PathBuf::from(String::from_utf8(original.into_owned())?);
            let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
            ensure!(plain, "{}: `{}` is not a path in a tree", self.name, path.display());
            let PatchKind::Text(text) = file.into_patch() else { bail!("{} is binary", self.name) };
            changes.push(Change { path, text });
        }
        Ok(changes)
    }
}

/// The text with all hunks applied, each exactly at its line; otherwise the index of the first that does not match.
fn patched(old: &[u8], hunks: &[Hunk<'_, [u8]>]) -> Result<Vec<u8>, usize> {
    let lines: Vec<&[u8]> = old.split_inclusive(|byte| *byte == b'\n').collect();
    let mut new = Vec::with_capacity(old.len());
    let mut next = 0;
    for (place, hunk) in hunks.iter().enumerate() {
        let range = hunk.old_range();
        // A hunk without old lines gives the line before it.
        let start = if range.is_empty() { range.start() } else { range.start().saturating_sub(1) };
        new.extend(lines.get(next..start).ok_or(place)?.concat());
        next = start;
        for line in hunk.lines() {
            match line {
                Line::Insert(text) => new.extend_from_slice(text),
                Line::Context(text) | Line::Delete(text) => {
                    if lines.get(next) != Some(text) {
                        return Err(place);
                    }
                    if matches!(line, Line::Context(_)) {
                        new.extend_from_slice(text);
                    }
                    next += 1;
                }
            }
        }
    }
    new.extend(lines[next..].concat());
    Ok(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine";

    fn patch(changes: &str) -> Result<Patch> {
        let text =
            format!("For a test.\n\nUpstream: ours alone\n\n--- a/tree/file\n+++ b/tree/file\n{changes}");
        Patch::parse("0007-test.patch".to_owned(), text.into_bytes())
    }

    /// The file after the patch.
    fn after(changes: &str) -> Result<String> {
        let root = tempfile::tempdir()?;
        fs::create_dir(root.path().join("tree"))?;
        fs::write(root.path().join("tree/file"), SOURCE)?;
        let applied = patch(changes)?.apply(root.path(), "tree");
        let found = fs::read_to_string(root.path().join("tree/file"))?;
        if applied.is_err() {
            assert_eq!(found, SOURCE, "a patch that does not apply changes nothing");
        }
        applied.map(|()| found)
    }

    #[test]
    fn a_hunk_that_matches_is_applied() {
        let last = "@@ -8,2 +8,2 @@ of eight\n eight\n-nine\n\\ No newline at end of file\n+ten\n";
        let changes =
            format!("@@ -1,3 +1,4 @@\n one\n-two\n+2\n+2.5\n three\n{last}").replace("+8,2", "+9,2");
        assert_eq!(after(&changes).unwrap(), "one\n2\n2.5\nthree\nfour\nfive\nsix\nseven\neight\nten\n");
        assert_eq!(after("@@ -1,0 +2 @@\n+new\n").unwrap(), SOURCE.replace("one\n", "one\nnew\n"));
    }

    #[test]
    fn a_hunk_that_matches_only_elsewhere_is_an_error_with_its_name() {
        let error =
            after("@@ -1,2 +1,2 @@\n one\n-two\n+2\n@@ -5,2 +5,2 @@\n six\n-seven\n+7\n").unwrap_err();
        assert_eq!(
            error.to_string(),
            "0007-test.patch does not apply: hunk 2 of `tree/file` does not match at line 5"
        );
    }

    #[test]
    fn a_hunk_with_other_context_is_an_error() {
        assert!(after("@@ -1,3 +1,3 @@\n one\n-two\n+2\n drei\n").is_err());
        assert!(after("@@ -9,2 +9,2 @@\n-nine\n+9\n ten\n").is_err());
    }

    #[test]
    fn a_patch_has_a_reason_and_changes_files_only() {
        let parse = |text: &str| Patch::parse("0001-a.patch".to_owned(), text.as_bytes().to_vec());
        let changes = "--- a/t/f\n+++ b/t/f\n@@ -1 +1 @@\n-a\n+b\n";
        assert!(parse(&format!("Why.\n\nUpstream: sent t/f#1\n\n{changes}")).is_ok());
        assert!(parse(changes).is_err());
        assert!(parse(&format!("Why.\n\n{changes}")).is_err());
        assert!(parse(&format!("Why.\n\nUpstream: perhaps\n\n{changes}")).is_err());
        assert!(parse("Why.\n\nUpstream: ours alone\n").is_err());
        let outside = changes.replace("/t/f", "/../f");
        assert!(parse(&format!("Why.\n\nUpstream: ours alone\n\n{outside}")).is_err());
        let gone = changes.replace("b/t/f", "/dev/null");
        assert!(parse(&format!("Why.\n\nUpstream: ours alone\n\n{gone}")).is_err());
    }

    #[test]
    fn the_patches_of_every_guest_can_be_read() {
        for recipe in crate::guests::RECIPES {
            let guest = dormouse_chores::workspace().join("guests").join(recipe.language);
            let series = Series::read(&guest, recipe.trees).unwrap();
            for (patch, number) in series.patches().iter().zip(1..) {
                assert!(
                    patch.name.starts_with(&format!("{number:04}-")),
                    "{}: {}",
                    recipe.language,
                    patch.name
                );
            }
        }
    }
}
