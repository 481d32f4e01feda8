//! What tools of the host reach of a sandbox: its own tree, and the folders of the host that are mounted in it, as its programs
//! see them. Nothing outside a mounted folder is opened, whatever links lie in it.
//!
//! Owns: which of the two a path belongs to. Does not own: the tree ([`TreeFiles`]), the host's side of mounts ([`Below`]). A
//! listing of the tree shows where mounts are, and not what lies in them: that is listed by its own path.

mod below;

use std::io;

use async_trait::async_trait;
use cap_std::fs::Dir;
use dormouse_core::sandbox::{Entry, Files as Port, Piece, SpecMount, must_be_seen};
use dormouse_core::{Error, Grants, GuestPath, Mount, Result};
use dormouse_files::{Files, Quota, Tree};

use self::below::{Below, entry, list, read};
use crate::tree_files::TreeFiles;

/// Largest file of a mount that is edited, in bytes, as in the tree.
const MAX_EDIT: u64 = Files::MAX_EDIT as u64;

/// The files that tools reach.
#[derive(Clone)]
pub(crate) struct Reach {
    tree: TreeFiles,
    mounts: Vec<SpecMount>,
}

impl Reach {
    pub(crate) fn new(tree: Files, mounts: &[SpecMount]) -> Self {
        Self { tree: TreeFiles(tree), mounts: mounts.to_vec() }
    }

    /// What a run without a sandbox reaches: its project and its mounts.
    pub(crate) fn granted(grants: &Grants) -> Self {
        Self::new(Files::new(Tree::new(Quota::default())), &Self::mounts(grants))
    }

    /// The project and the mounts of a run without a sandbox.
    pub(crate) fn mounts(grants: &Grants) -> Vec<SpecMount> {
        let project = grants.project.iter().filter_map(|project| project.mount().ok());
        let mounts = project.chain(grants.mounts.iter().cloned());
        mounts.map(|Mount { source, target, access }| SpecMount { source, target, access }).collect()
    }

    /// The tree, for what puts a path there.
    fn growing(&mut self, path: &GuestPath) -> Result<&mut TreeFiles> {
        must_be_seen(path, &self.mounts)?;
        Ok(&mut self.tree)
    }

    /// Where a path lies, if that is below a mount: the one with the longest target.
    fn mounted(&self, path: &GuestPath) -> Option<Below> {
        let below = |mount: &SpecMount| {
            let rest = path.as_str().strip_prefix(mount.target.as_str())?;
            let rest = if rest.is_empty() { "." } else { rest.strip_prefix('/')? };
            Some((mount.target.as_str().len(), rest.to_owned(), mount.clone()))
        };
        let (_, rest, mount) = self.mounts.iter().filter_map(below).max_by_key(|(length, ..)| *length)?;
        Some(Below { path: path.clone(), rest, mount })
    }
}

#[async_trait]
impl Port for Reach {
    async fn read(&mut self, path: &GuestPath, offset: u64, most: u64) -> Result<Piece> {
        match self.mounted(path) {
            None => self.tree.read(path, offset, most).await,
            Some(below) => {
                below.blocking(move |below, folder| read(&below.file(folder)?, offset, most)).await
            }
        }
    }

    async fn write(&mut self, path: &GuestPath, bytes: &[u8]) -> Result<()> {
        match self.mounted(path) {
            None => self.growing(path)?.write(path, bytes).await,
            Some(below) => {
                let bytes = bytes.to_vec();
                below.writable()?.blocking(move |below, folder| below.put(folder, &bytes)).await
            }
        }
    }

    async fn append(&mut self, path: &GuestPath, bytes: &[u8]) -> Result<u64> {
        match self.mounted(path) {
            None => self.growing(path)?.append(path, bytes).await,
            Some(below) => {
                let bytes = bytes.to_vec();
                below.writable()?.blocking(move |below, folder| below.add(folder, &bytes)).await
            }
        }
    }

    async fn edit(&mut self, path: &GuestPath, old: &str, new: &str, all: bool) -> Result<usize> {
        let Some(below) = self.mounted(path) else { return self.tree.edit(path, old, new, all).await };
        let below = below.writable()?;
        let whole = |below: &Below, folder: &Dir| {
            let Piece { bytes, size, .. } = read(&below.file(folder)?, 0, MAX_EDIT)?;
            if size > MAX_EDIT { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
        };
        let bytes = below.clone().blocking(whole).await?;
        // The edit itself is the tree's, on a copy.
        let copy = Files::new(Tree::new(Quota::default()));
        let name = GuestPath::parse("/copy")?;
        copy.write(&name, &bytes)?;
        let replaced = copy.edit(&name, old, new, all).map_err(|error| {
            let message = error.message().replace(name.as_str(), path.as_str());
            let told = Error::new(error.code(), message);
            match error.hint() {
                Some(hint) => told.with_hint(hint.to_owned()),
                None => told,
            }
        })?;
        let bytes = copy.read(&name, 0, Files::MAX_EDIT)?;
        below.blocking(move |below, folder| below.put(folder, &bytes)).await?;
        Ok(replaced)
    }

    async fn list(&mut self, path: &GuestPath, recursive: bool, most: usize) -> Result<(Vec<Entry>, u64)> {
        let Some(below) = self.mounted(path) else { return self.tree.list(path, recursive, most).await };
        let mut found =
            below.blocking(move |below, folder| list(&folder.open_dir(&below.rest)?, recursive)).await?;
        let total = found.len() as u64;
        found.truncate(most);
        Ok((found, total))
    }

    async fn remove(&mut self, path: &GuestPath, all: bool) -> Result<()> {
        let Some(below) = self.mounted(path) else { return self.tree.remove(path, all).await };
        let work = move |below: &Below, folder: &Dir| match folder.symlink_metadata(&below.rest)?.is_dir() {
            true if all => folder.remove_dir_all(&below.rest),
            true => folder.remove_dir(&below.rest),
            false => folder.remove_file(&below.rest),
        };
        below.inner()?.writable()?.blocking(work).await
    }

    async fn rename(&mut self, path: &GuestPath, to: &GuestPath, replace: bool) -> Result<()> {
        match (self.mounted(path), self.mounted(to)) {
            (None, None) => self.growing(to)?.rename(path, to, replace).await,
            (Some(from), Some(onto)) if from.mount == onto.mount => {
                let onto = onto.inner()?;
                let work = move |from: &Below, folder: &Dir| Ok(from.rename(folder, &onto, replace));
                from.inner()?.writable()?.blocking(work).await?
            }
            _ => Err(Error::args_invalid(format!("`{path}` and `{to}` do not lie in the same mount"))
                .with_hint("write it there, and remove it here")),
        }
    }

    async fn make_folder(&mut self, path: &GuestPath) -> Result<()> {
        match self.mounted(path) {
            None => self.growing(path)?.make_folder(path).await,
            Some(below) => {
                below.writable()?.blocking(|below, folder| folder.create_dir_all(&below.rest)).await
            }
        }
    }

    async fn stat(&mut self, path: &GuestPath) -> Result<Entry> {
        let Some(below) = self.mounted(path) else { return self.tree.stat(path).await };
        let work = |below: &Below, folder: &Dir| {
            let about = folder.metadata(&below.rest)?;
            Ok(entry(below.path.to_string(), about.file_type(), &about))
        };
        below.blocking(work).await
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::Path;
    use std::time::Duration;

    use dormouse_core::{Access, ErrorCode};
    use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};

    use super::below::MAX_READ;
    use super::*;

    fn path(text: &str) -> GuestPath {
        GuestPath::parse(text).unwrap()
    }

    fn reach(folder: &Path, access: Access) -> Reach {
        let mount = |target| SpecMount { source: folder.into(), target: path(target), access };
        Reach::new(Files::new(Tree::new(Quota::default())), &[mount("/skills/a"), mount("/b")])
    }

    /// FS-03, FS-05: tools see a mounted folder as programs do, and nothing that links lead to from it.
    #[tokio::test]
    async fn fs_05_tools_read_below_a_mount_and_change_nothing_below_a_read_only_one() {
        let outer = tempfile::tempdir().unwrap();
        std::fs::write(outer.path().join("secret"), "outside").unwrap();
        let folder = outer.path().join("a");
        std::fs::create_dir_all(folder.join("scripts")).unwrap();
        std::fs::write(folder.join("SKILL.md"), "one\ntwo").unwrap();
        symlink("../secret", folder.join("out")).unwrap();
        symlink("/etc", folder.join("etc")).unwrap();
        let mut files = reach(&folder, Access::ReadOnly);
        let Piece { bytes, size, .. } = files.read(&path("/skills/a/SKILL.md"), 4, 99).await.unwrap();
        assert_eq!((bytes.as_slice(), size), (&b"two"[..], 7));
        let (entries, total) = files.list(&path("/skills/a"), true, 2).await.unwrap();
        assert_eq!((entries.len(), total), (2, 4));
        for out in ["/skills/a/out", "/skills/a/etc/passwd", "/b/out"] {
            assert_eq!(
                files.read(&path(out), 0, 99).await.unwrap_err().code(),
                ErrorCode::PathDenied,
                "{out}"
            );
        }
        assert_eq!(files.read(&path("/skills/a"), 0, 1).await.unwrap_err().code(), ErrorCode::ArgsInvalid);
        assert_eq!(files.read(&path("/skills/a/no"), 0, 1).await.unwrap_err().code(), ErrorCode::NotFound);
        let (made, main) = (path("/skills/a/new"), path("/skills/a/SKILL.md"));
        for refused in [
            files.write(&made, b"x").await.unwrap_err(),
            files.append(&main, b"x").await.unwrap_err(),
            files.edit(&main, "one", "1", false).await.unwrap_err(),
            files.remove(&main, true).await.unwrap_err(),
            files.make_folder(&made).await.unwrap_err(),
        ] {
            assert_eq!(refused.code(), ErrorCode::WriteDenied, "{refused}");
        }
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 4);
        // Beside a mount there is nothing that the sandbox's programs would see.
        let own = path("/workspace/own");
        files.write(&own, b"the tree's own").await.unwrap();
        for unseen in ["/skills/ab", "/workspaces", "/", "/etc/x"].map(path) {
            for refused in [
                files.write(&unseen, b"x").await.unwrap_err(),
                files.append(&unseen, b"x").await.unwrap_err(),
                files.make_folder(&unseen).await.unwrap_err(),
                files.rename(&own, &unseen, true).await.unwrap_err(),
            ] {
                assert_eq!(refused.code(), ErrorCode::PathDenied, "{refused}");
            }
        }
        assert_eq!(files.stat(&own).await.unwrap().bytes, 14);
    }

    #[tokio::test]
    async fn tools_write_below_a_mount_that_may_be_written() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = reach(folder.path(), Access::ReadWrite);
        files.write(&path("/b/c/d"), b"one").await.unwrap();
        assert_eq!(files.append(&path("/b/c/e/f"), b"12").await.unwrap(), 2);
        assert_eq!(files.append(&path("/b/c/e/f"), b"345").await.unwrap(), 5);
        assert_eq!(std::fs::read(folder.path().join("c/e/f")).unwrap(), b"12345");
        assert_eq!(files.append(&path("/b/c/e"), b"6").await.unwrap_err().code(), ErrorCode::ArgsInvalid);
        assert_eq!(files.edit(&path("/b/c/d"), "one", "two", false).await.unwrap(), 1);
        assert_eq!(std::fs::read(folder.path().join("c/d")).unwrap(), b"two");
        let large = std::fs::File::create(folder.path().join("large")).unwrap();
        large.set_len(MAX_READ + 1).unwrap();
        let error = files.read(&path("/b/large"), 0, u64::MAX).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::TooLarge);
        assert_eq!(files.read(&path("/b/large"), MAX_READ, 9).await.unwrap().bytes, [0]);
        let error = files.edit(&path("/b/large"), "\0", "x", true).await.unwrap_err();
        assert_eq!((error.code(), large.metadata().unwrap().len()), (ErrorCode::TooLarge, MAX_READ + 1));
        let error = files.edit(&path("/b/c/d"), "none", "x", false).await.unwrap_err();
        assert!(error.message().contains("`/b/c/d`"), "{error}");
        assert_eq!(
            files.remove(&path("/b/c"), false).await.unwrap_err().message(),
            "`/b/c`: the folder is not empty"
        );
        files.rename(&path("/b/c/d"), &path("/b/n/d"), false).await.unwrap();
        assert_eq!(std::fs::read(folder.path().join("n/d")).unwrap(), b"two");
        for (from, to, code) in [
            ("/b/n/d", "/b/c/e/f", ErrorCode::ArgsInvalid),
            ("/b/no", "/b/x/y", ErrorCode::NotFound),
            ("/b/n/d", "/skills/a/d", ErrorCode::ArgsInvalid),
            ("/b/n/d", "/d", ErrorCode::ArgsInvalid),
            ("/b", "/b/x", ErrorCode::ArgsInvalid),
        ] {
            let refused = files.rename(&path(from), &path(to), false).await.unwrap_err();
            assert_eq!(refused.code(), code, "{from} {to}");
        }
        assert!(!folder.path().join("x").exists());
        let refused = files.rename(&path("/b/n"), &path("/b/c"), true).await.unwrap_err();
        assert_eq!(refused.message(), "`/b/c`: the folder is not empty");
        assert!(!refused.hint().unwrap().contains("recursive"), "{refused}");
        files.rename(&path("/b/n/d"), &path("/b/c/e/f"), true).await.unwrap();
        assert_eq!(std::fs::read(folder.path().join("c/e/f")).unwrap(), b"two");
        assert_eq!(files.remove(&path("/b"), true).await.unwrap_err().code(), ErrorCode::ArgsInvalid);
        files.remove(&path("/b/c"), true).await.unwrap();
        assert!(!folder.path().join("c").exists());
    }
    /// What is no file: a pipe that nobody reads, one that somebody holds open, a socket, and a device where one can be made.
    fn odd(folder: &Path) -> (Vec<&'static str>, std::fs::File, std::os::unix::net::UnixListener) {
        for pipe in ["pipe", "held"] {
            mknodat(CWD, folder.join(pipe), FileType::Fifo, Mode::from(0o600), 0).unwrap();
        }
        let held = std::fs::File::options().read(true).write(true).open(folder.join("held")).unwrap();
        let socket = std::os::unix::net::UnixListener::bind(folder.join("socket")).unwrap();
        let device =
            mknodat(CWD, folder.join("device"), FileType::CharacterDevice, Mode::from(0o600), makedev(1, 3));
        let names = ["pipe", "held", "socket"].into_iter().chain(device.is_ok().then_some("device"));
        (names.collect(), held, socket)
    }

    #[tokio::test]
    async fn fs_07_what_is_no_file_is_neither_read_nor_written_and_nobody_waits() {
        let folder = tempfile::tempdir().unwrap();
        let (names, _held, _socket) = odd(folder.path());
        let mut files = reach(folder.path(), Access::ReadWrite);
        for name in names {
            let path = path(&format!("/b/{name}"));
            let refused = tokio::time::timeout(Duration::from_secs(10), async {
                [
                    files.read(&path, 0, 9).await.map(drop),
                    files.write(&path, b"x").await,
                    files.edit(&path, "a", "b", false).await.map(drop),
                ]
            });
            for refused in refused.await.expect("nobody waits") {
                assert_eq!(refused.unwrap_err().code(), ErrorCode::ArgsInvalid, "{name}");
            }
            assert_eq!(files.stat(&path).await.unwrap().bytes, 0, "{name}");
        }
        let (entries, _) = files.list(&path("/b"), true, 9).await.unwrap();
        assert!(entries.iter().any(|entry| entry.path == "pipe"));
    }

    /// That none of the folders is held open is seen from outside, in `tests/flow`.
    #[tokio::test]
    async fn fs_07_folders_side_by_side_and_deep_ones_are_listed() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..3_000 {
            std::fs::create_dir_all(folder.path().join(format!("{number:04}/in"))).unwrap();
        }
        std::fs::create_dir_all(folder.path().join("d/".repeat(1_500))).unwrap();
        let mut files = reach(folder.path(), Access::ReadOnly);
        let (entries, total) = files.list(&path("/b"), true, 10_000).await.unwrap();
        assert_eq!((entries.len(), total), (7_500, 7_500));
        assert!(entries.is_sorted_by(|a, b| a.path < b.path));
        assert_eq!(files.list(&path("/b"), false, 10_000).await.unwrap().1, 3_001);
    }
}
