//! The tools' way to a sandbox's files: the tree's host face, as core's port.

use async_trait::async_trait;
use dormouse_core::sandbox::{Entry, EntryKind, Files as Port, Piece};
use dormouse_core::{Error, GuestPath, Result};
use dormouse_files::{Files, Kind, Listed, Stat};

/// Entries that are counted at most; a tree holds fewer by its quota.
const COUNTED: usize = 1_000_000;
/// Levels of a listing of everything.
const DEEP: u32 = 4_096;

/// The tree of a sandbox.
#[derive(Clone)]
pub(crate) struct TreeFiles(pub(crate) Files);

fn entry(path: String, stat: &Stat) -> Entry {
    let kind = match stat.kind {
        Kind::File => EntryKind::File,
        Kind::Folder => EntryKind::Folder,
        Kind::Link => EntryKind::Link,
    };
    let bytes = if kind == EntryKind::File { stat.size } else { 0 };
    Entry { path, kind, bytes, modified_ms: stat.times.modified / 1_000_000, target: None }
}

#[async_trait]
impl Port for TreeFiles {
    async fn read(&mut self, path: &GuestPath, offset: u64, most: u64) -> Result<Piece> {
        let Stat { size, times, .. } = self.0.stat(path)?;
        let most = usize::try_from(most.min(size.saturating_sub(offset)))
            .map_err(|error| Error::internal("more bytes than fit", error))?;
        Ok(Piece { bytes: self.0.read(path, offset, most)?, size, modified_ms: times.modified / 1_000_000 })
    }

    async fn write(&mut self, path: &GuestPath, bytes: &[u8]) -> Result<()> {
        self.0.write(path, bytes)
    }

    async fn append(&mut self, path: &GuestPath, bytes: &[u8]) -> Result<u64> {
        self.0.append(path, bytes)
    }

    async fn edit(&mut self, path: &GuestPath, old: &str, new: &str, all: bool) -> Result<usize> {
        self.0.edit(path, old, new, all)
    }

    async fn list(&mut self, path: &GuestPath, recursive: bool, most: usize) -> Result<(Vec<Entry>, u64)> {
        let listed = self.0.list(path, if recursive { DEEP } else { 1 }, COUNTED)?.entries;
        let total = listed.len() as u64;
        let shown = listed.into_iter().take(most);
        let shown = shown.map(|Listed { path, stat, target }| Entry {
            target: target.as_deref().map(str::to_owned),
            ..entry(path, &stat)
        });
        Ok((shown.collect(), total))
    }

    async fn remove(&mut self, path: &GuestPath, all: bool) -> Result<()> {
        self.0.remove(path, all)
    }

    async fn rename(&mut self, path: &GuestPath, to: &GuestPath, replace: bool) -> Result<()> {
        self.0.rename(path, to, replace)
    }

    async fn make_folder(&mut self, path: &GuestPath) -> Result<()> {
        self.0.make_folder(path)
    }

    async fn stat(&mut self, path: &GuestPath) -> Result<Entry> {
        Ok(entry(path.to_string(), &self.0.stat(path)?))
    }
}
