//! What a folder of a project holds, with the run's changes: the project's names first, then those that are the run's alone.

use dormouse_files::Listing as OwnListing;
use wasmtime::component::Resource;
use wasmtime_wasi::p2::bindings::filesystem::types::DirectoryEntry;
use wasmtime_wasi::p2::{FsResult, ReaddirIterator};

use super::find::Found;
use super::{At, at, join, lower};
use crate::disk::FilesView;
use crate::disk::listing::Listing;
use crate::disk::tree::{answer, kind};

/// A folder being listed. What is there all the time is shown once.
#[derive(Default)]
pub(in crate::disk) struct Merged {
    path: String,
    lower: Option<Listing>,
    own: Option<OwnListing>,
}

impl FilesView<'_> {
    /// Starts to list a folder.
    pub(in crate::disk) async fn list_layered(&mut self, from: At) -> FsResult<Resource<ReaddirIterator>> {
        let below = match from.lower {
            Some(number) => {
                if let Some(trace) = &mut self.files.trace {
                    trace.listed(number);
                }
                let folder = self.folder(&lower(number))?;
                Some(Listing::open(&folder.dir, self.files.in_place).await?)
            }
            None => None,
        };
        let own = self.upper()?.open_at(at(&from.path), false, Default::default(), Default::default());
        let own = own.and_then(|folder| folder.list()).ok();
        let merged = Merged { path: from.path, lower: below, own };
        Ok(Resource::new_own(self.wasi.table.push(merged)?.rep()))
    }

    /// The next entry of a listing.
    pub(in crate::disk) async fn next_layered(
        &mut self,
        stream: &Resource<Merged>,
    ) -> FsResult<Option<DirectoryEntry>> {
        let mut merged = std::mem::take(self.wasi.table.get_mut(stream)?);
        let next = self.next_of(&mut merged).await;
        *self.wasi.table.get_mut(stream)? = merged;
        next
    }

    async fn next_of(&mut self, merged: &mut Merged) -> FsResult<Option<DirectoryEntry>> {
        while let Some(below) = &mut merged.lower {
            let Some(mut entry) = below.next().await? else {
                merged.lower = None;
                break;
            };
            let path = join(&merged.path, &entry.name);
            if self.is_hidden(&path) {
                continue;
            }
            if let Ok(own) = self.upper()?.stat_at(&path, false) {
                entry.type_ = kind(own.kind);
            }
            return Ok(Some(entry));
        }
        while let Some(entry) = merged.own.as_mut().and_then(Iterator::next) {
            let entry = answer(entry)?;
            if self.below(&join(&merged.path, &entry.name)).await?.is_none() {
                return Ok(Some(DirectoryEntry {
                    type_: kind(entry.kind),
                    name: entry.name.as_ref().to_owned(),
                }));
            }
        }
        Ok(None)
    }

    /// Whether a folder has nothing in it.
    pub(super) async fn is_empty(&mut self, path: &str) -> FsResult<bool> {
        let own = self.upper()?.open_at(at(path), false, Default::default(), Default::default());
        if own.and_then(|folder| folder.list()).is_ok_and(|mut names| names.next().is_some()) {
            return Ok(false);
        }
        let Some(mut below) = self.list_below(path).await? else { return Ok(true) };
        while let Some(entry) = below.next().await? {
            if let Some(Found::Below(_)) = self.find(&join(path, &entry.name)).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
