//! The files of an image, before they are packed.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use dormouse_chores::program;

/// How long packing may take.
const PACKING: Duration = Duration::from_secs(300);
/// Who owns `/workspace`: the user that nobody is, in every image. An empty volume takes its owner from here.
const NOBODY: &str = "65534";

/// A tree of files in a folder, deleted with this value.
pub(super) struct Tree {
    root: PathBuf,
}

impl Tree {
    /// The folders, users and groups that every image has, in an empty folder. `shell` is root's.
    pub(super) fn new(root: PathBuf, shell: &str) -> Result<Self> {
        let tree = Self { root };
        for folder in ["dev", "etc", "proc", "root", "run", "sys", "workspace"] {
            tree.folder(folder, 0o755)?;
        }
        tree.folder("tmp", 0o1777)?;
        tree.file(
            "etc/passwd",
            format!(
                "root:x:0:0:root:/root:{shell}\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
            ),
        )?;
        tree.file("etc/group", "root:x:0:\nnogroup:x:65534:\n")?;
        Ok(tree)
    }

    pub(super) fn path(&self, inside: &str) -> PathBuf {
        self.root.join(inside)
    }

    /// Makes a folder with those above it.
    pub(super) fn folder(&self, inside: &str, mode: u32) -> Result<PathBuf> {
        let path = self.path(inside);
        fs::create_dir_all(&path)?;
        self.mode(inside, mode)?;
        Ok(path)
    }

    pub(super) fn mode(&self, inside: &str, mode: u32) -> Result<()> {
        let changed = fs::set_permissions(self.path(inside), fs::Permissions::from_mode(mode));
        changed.with_context(|| format!("the tree has no `{inside}`"))
    }

    pub(super) fn file(&self, inside: &str, content: impl AsRef<[u8]>) -> Result<()> {
        fs::write(self.path(inside), content)?;
        self.mode(inside, 0o644)
    }

    /// Takes a program of another place.
    pub(super) fn program(&self, from: &Path, inside: &str) -> Result<()> {
        let copied = fs::copy(from, self.path(inside));
        copied.with_context(|| format!("`{}` cannot be copied", from.display()))?;
        self.mode(inside, 0o755)
    }

    /// A symbolic link; one that is there stays.
    pub(super) fn link(&self, to: &str, inside: &str) -> Result<()> {
        let path = self.path(inside);
        if path.symlink_metadata().is_ok() {
            return Ok(());
        }
        symlink(to, &path).with_context(|| format!("`{inside}` cannot be linked"))
    }

    /// Packs it, in an order and with times that are always the same. All is root's but `/workspace`.
    pub(super) fn pack(&self, into: &Path) -> Result<()> {
        let common = ["--sort=name", "--mtime=@0", "--numeric-owner", "--file"];
        let tar = |options: &[&str], what: &str| {
            let mut tar = Command::new("tar");
            tar.arg("--directory").arg(&self.root).args(options).args(common).arg(into).arg(what);
            let said = program::run(&mut tar, PACKING)?;
            ensure!(said.succeeded(), "tar: {}", said.end());
            Ok(())
        };
        tar(
            &[
                "--create",
                "--owner=0",
                "--group=0",
                "--mode=go+rX,go-w",
                "--exclude=./workspace",
                "--exclude=./tmp",
            ],
            ".",
        )?;
        tar(&["--append", "--owner=0", "--group=0", "--mode=1777"], "./tmp")?;
        let (owner, group) = (format!("--owner={NOBODY}"), format!("--group={NOBODY}"));
        tar(&["--append", &owner, &group, "--mode=0755"], "./workspace")
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}
