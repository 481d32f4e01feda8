//! What tools of the host reach of a sandbox: its own tree, and the folders of the host that are mounted in it, as its programs
//! see them. Nothing outside a mounted folder is opened, whatever links lie in it.
//!
//! Owns: which of the two a path belongs to, and the host's side of mounts. Does not own: the tree's ([`TreeFiles`]). A listing
//! of the tree shows where mounts are, and not what lies in them: that is listed by its own path.

use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use async_trait::async_trait;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, FileType, Metadata, OpenOptions, OpenOptionsExt as _};
use dormouse_core::sandbox::{Entry, EntryKind, Files as Port, SpecMount};
use dormouse_core::{Access, Error, ErrorCode, GuestPath, Result};
use dormouse_files::Files;

use super::TreeFiles;

/// Entries of a mount that are looked at for one listing.
const MAX_ENTRIES: usize = 100_000;
/// Most bytes of a mounted file that one call reads (256 MiB): the host's files have no quota.
const MAX_READ: u64 = 256 << 20;
/// Largest file of a mount that is edited, in bytes, as in the tree.
const MAX_EDIT: u64 = Files::MAX_EDIT as u64;

/// The files that tools reach.
pub(crate) struct Reach {
    tree: TreeFiles,
    mounts: Vec<SpecMount>,
}

impl Reach {
    pub(crate) fn new(tree: Files, mounts: &[SpecMount]) -> Self {
        Self { tree: TreeFiles(tree), mounts: mounts.to_vec() }
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

/// A path below a mount.
#[derive(Clone)]
struct Below {
    path: GuestPath,
    /// What is left of it below the mount.
    rest: String,
    mount: SpecMount,
}

impl Below {
    /// Does what may wait for a disk or a network away from the event loop.
    async fn blocking<T: Send + 'static>(
        self,
        work: impl FnOnce(&Self, &Dir) -> io::Result<T> + Send + 'static,
    ) -> Result<T> {
        tokio::task::spawn_blocking(move || {
            let done = Dir::open_ambient_dir(&self.mount.source, ambient_authority())
                .and_then(|folder| work(&self, &folder));
            done.map_err(|error| self.failed(error))
        })
        .await
        .map_err(|error| Error::internal("a mounted folder was not reached", error))?
    }

    fn failed(&self, error: io::Error) -> Error {
        let shown = self.path.as_str().escape_debug();
        let (code, why, hint) = match error.kind() {
            io::ErrorKind::NotFound => (
                ErrorCode::NotFound,
                "there is no such file or folder",
                "list the folder to see what there is",
            ),
            io::ErrorKind::PermissionDenied => (
                ErrorCode::PathDenied,
                "it cannot be reached",
                "links of a mounted folder lead nowhere outside it",
            ),
            io::ErrorKind::FileTooLarge => (
                ErrorCode::TooLarge,
                "there is too much of it for one call",
                "look at a part of it, or work on it with a program of the sandbox",
            ),
            _ => (ErrorCode::ArgsInvalid, "it is no file or folder that this can be done with", ""),
        };
        let told = Error::new(code, format!("`{shown}`: {why}")).with_source(error);
        if hint.is_empty() { told } else { told.with_hint(hint) }
    }

    /// # Errors
    /// `write_denied` below a read-only mount.
    fn writable(self) -> Result<Self> {
        if self.mount.access == Access::ReadWrite {
            return Ok(self);
        }
        let (shown, target) = (self.path.as_str().escape_debug(), &self.mount.target);
        Err(Error::new(ErrorCode::WriteDenied, format!("`{shown}`: `{target}` is mounted read-only"))
            .with_hint("copy it to a place of the sandbox's own, such as below `/workspace`"))
    }

    /// An open regular file. Nothing waits for the other end of a pipe.
    fn file(&self, folder: &Dir) -> io::Result<std::fs::File> {
        let mut options = OpenOptions::new();
        let flags = rustix::fs::OFlags::NONBLOCK.bits();
        options.read(true).custom_flags(i32::try_from(flags).unwrap_or_default());
        let file = folder.open_with(&self.rest, &options)?;
        if file.metadata()?.is_file() { Ok(file.into_std()) } else { Err(io::ErrorKind::InvalidInput.into()) }
    }

    fn put(&self, folder: &Dir, bytes: &[u8]) -> io::Result<()> {
        if let Some(parent) = Path::new(&self.rest).parent().filter(|parent| !parent.as_os_str().is_empty()) {
            folder.create_dir_all(parent)?;
        }
        folder.write(&self.rest, bytes)
    }

    /// Adds to the end of a regular file; answers its size. When not all fits, it is as it was.
    fn add(&self, folder: &Dir, bytes: &[u8]) -> io::Result<u64> {
        if let Some(parent) = Path::new(&self.rest).parent().filter(|parent| !parent.as_os_str().is_empty()) {
            folder.create_dir_all(parent)?;
        }
        let mut options = OpenOptions::new();
        let flags = rustix::fs::OFlags::NONBLOCK.bits();
        options.append(true).create(true).custom_flags(i32::try_from(flags).unwrap_or_default());
        let mut file = folder.open_with(&self.rest, &options)?.into_std();
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        if let Err(error) = file.write_all(bytes) {
            file.set_len(about.len())?;
            return Err(error);
        }
        Ok(about.len().saturating_add(bytes.len() as u64))
    }
}

fn read(file: &std::fs::File, offset: u64, most: u64) -> io::Result<(Vec<u8>, u64)> {
    let size = file.metadata()?.len();
    let most = most.min(size.saturating_sub(offset));
    if most > MAX_READ {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let most = usize::try_from(most).map_err(|_| io::ErrorKind::FileTooLarge)?;
    let mut bytes = vec![0; most];
    let mut had = 0;
    while had < most {
        match file.read_at(bytes.get_mut(had..).unwrap_or_default(), offset + had as u64)? {
            0 => break,
            count => had += count,
        }
    }
    bytes.truncate(had);
    Ok((bytes, size))
}

fn entry(path: String, kind: FileType, about: &Metadata) -> Entry {
    let kind = match kind {
        kind if kind.is_dir() => EntryKind::Folder,
        kind if kind.is_symlink() => EntryKind::Link,
        _ => EntryKind::File,
    };
    let since = about.modified().ok().and_then(|time| {
        let time = time.into_std().duration_since(std::time::UNIX_EPOCH).ok()?;
        u64::try_from(time.as_millis()).ok()
    });
    let bytes = if kind == EntryKind::File { about.len() } else { 0 };
    Entry { path, kind, bytes, modified_ms: since.unwrap_or_default() }
}

/// What lies in a folder of the host, in the order of the paths. Links are not followed.
fn list(folder: &Dir, recursive: bool) -> io::Result<Vec<Entry>> {
    let mut found = Vec::new();
    let mut left = vec![(String::new(), folder.try_clone()?)];
    while let Some((above, folder)) = left.pop() {
        for item in folder.entries()? {
            let item = item?;
            let path = format!("{above}{}", item.file_name().to_string_lossy());
            let kind = item.file_type()?;
            found.push(entry(path.clone(), kind, &item.metadata()?));
            if recursive && kind.is_dir() {
                left.push((format!("{path}/"), item.open_dir()?));
            }
            if found.len() > MAX_ENTRIES {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

#[async_trait]
impl Port for Reach {
    async fn read(&mut self, path: &GuestPath, offset: u64, most: u64) -> Result<(Vec<u8>, u64)> {
        match self.mounted(path) {
            None => self.tree.read(path, offset, most).await,
            Some(below) => {
                below.blocking(move |below, folder| read(&below.file(folder)?, offset, most)).await
            }
        }
    }

    async fn write(&mut self, path: &GuestPath, bytes: &[u8]) -> Result<()> {
        match self.mounted(path) {
            None => self.tree.write(path, bytes).await,
            Some(below) => {
                let bytes = bytes.to_vec();
                below.writable()?.blocking(move |below, folder| below.put(folder, &bytes)).await
            }
        }
    }

    async fn append(&mut self, path: &GuestPath, bytes: &[u8]) -> Result<u64> {
        match self.mounted(path) {
            None => self.tree.append(path, bytes).await,
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
            let (bytes, size) = read(&below.file(folder)?, 0, MAX_EDIT)?;
            if size > MAX_EDIT { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
        };
        let bytes = below.clone().blocking(whole).await?;
        // The edit itself is the tree's, on a copy.
        let copy = Files::new(dormouse_files::Tree::new(dormouse_files::Quota::default()));
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

    async fn remove(&mut self, path: &GuestPath) -> Result<()> {
        let Some(below) = self.mounted(path) else { return self.tree.remove(path).await };
        let work = |below: &Below, folder: &Dir| match folder.symlink_metadata(&below.rest)?.is_dir() {
            true => folder.remove_dir_all(&below.rest),
            false => folder.remove_file(&below.rest),
        };
        below.writable()?.blocking(work).await
    }

    async fn make_folder(&mut self, path: &GuestPath) -> Result<()> {
        match self.mounted(path) {
            None => self.tree.make_folder(path).await,
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

    use dormouse_files::{Quota, Tree};

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
        let (bytes, size) = files.read(&path("/skills/a/SKILL.md"), 4, 99).await.unwrap();
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
            files.remove(&main).await.unwrap_err(),
            files.make_folder(&made).await.unwrap_err(),
        ] {
            assert_eq!(refused.code(), ErrorCode::WriteDenied, "{refused}");
        }
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 4);
        files.write(&path("/skills/ab"), b"the tree's own").await.unwrap();
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
        assert_eq!(files.read(&path("/b/large"), MAX_READ, 9).await.unwrap().0, [0]);
        let error = files.edit(&path("/b/large"), "\0", "x", true).await.unwrap_err();
        assert_eq!((error.code(), large.metadata().unwrap().len()), (ErrorCode::TooLarge, MAX_READ + 1));
        let error = files.edit(&path("/b/c/d"), "none", "x", false).await.unwrap_err();
        assert!(error.message().contains("`/b/c/d`"), "{error}");
        files.remove(&path("/b/c")).await.unwrap();
        assert!(!folder.path().join("c").exists());
    }
}
