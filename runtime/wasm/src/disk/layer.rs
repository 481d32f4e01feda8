//! A project that is only read, with the run's own changes over it.
//!
//! A run may change what lies below its working directory, and nothing of it reaches the host: changes lie in a folder of
//! the run's own tree, within its quota, and are gone with it. Where the run has changed nothing a call goes to the project's
//! folder as it would without this. Owns: which of the two a name stands for, what of the project is brought into the tree
//! before it is changed, what the run has removed. Does not own: the tree, and what is done with the project's folder (`mount`).
//!
//! A file that is open for reading goes on showing the project's bytes when the same file is changed afterwards. A database of
//! SQLite's is not brought over: what were written into the copy would look kept, and is not (S1-22).

mod calls;
mod find;
mod list;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::ops::Bound;

use dormouse_files::{Errno, Handle};
use wasmtime::component::Resource;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::{ErrorCode, OpenFlags};

use super::FilesView;
use super::host::Fd;
use super::tree::answer;

pub(super) use self::list::Merged;

/// Names of the project that one run may remove.
const MOST_HIDDEN: usize = 10_000;
/// What the driver of a guest asks about a file with, in an open that no program can make: whether the run has made it.
const MADE: &str = "made ";

/// The changes of a run over a project.
#[derive(Debug)]
pub(crate) struct Layer {
    /// Where the guest sees the project; the run's tree has its changes in the folder of the same path.
    target: &'static str,
    hidden: Hidden,
    /// None until the guest asks which folders there are.
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    /// The folder of the run's tree.
    upper: Handle,
    /// The project's own folder, as its descriptor in the table of resources.
    lower: u32,
    /// Whether the run has changed anything.
    touched: bool,
}

/// What of the project the run has removed: each path with all that lies below it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hidden(BTreeSet<String>);

impl Hidden {
    /// Whether nothing was removed.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn covers(&self, path: &str) -> bool {
        !self.0.is_empty()
            && path
                .match_indices('/')
                .map(|(end, _)| end)
                .chain([path.len()])
                .any(|end| path.get(..end).is_some_and(|above| self.0.contains(above)))
    }

    fn add(&mut self, path: &str) -> Result<(), ErrorCode> {
        if self.covers(path) {
            return Ok(());
        }
        let (first, last) = (format!("{path}/"), format!("{path}0"));
        let inside = (Bound::Included(first.as_str()), Bound::Excluded(last.as_str()));
        let below: Vec<String> = self.0.range::<str, _>(inside).cloned().collect();
        for path in below {
            self.0.remove(&path);
        }
        if self.0.len() >= MOST_HIDDEN {
            return Err(ErrorCode::InsufficientSpace);
        }
        self.0.insert(path.to_owned());
        Ok(())
    }
}

impl Layer {
    /// Changes over the folder that is shown as `target`, beginning with what an earlier run has removed.
    pub(crate) fn new(target: &'static str, hidden: Hidden) -> Self {
        Self { target, hidden, open: None }
    }

    /// What was removed.
    pub(crate) fn hidden(&self) -> &Hidden {
        &self.hidden
    }
}

/// An open folder of the project, as it is in the table of resources.
#[derive(Debug)]
pub(super) struct Folder {
    at: At,
    /// The folder that all changes lie in: what is no folder's to do is refused by it.
    pub(super) upper: Handle,
}

/// Which folder it is.
#[derive(Clone, Debug)]
pub(super) struct At {
    /// Its path below the project's folder, without links; empty for that itself.
    path: String,
    /// The same folder of the host, if there is one.
    lower: Option<u32>,
}

/// The host's side of a folder.
fn lower(number: u32) -> Fd {
    Resource::new_borrow(number)
}

/// A path as one that is looked up.
fn at(path: &str) -> &str {
    if path.is_empty() { "." } else { path }
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// The path that a driver asks about.
fn asked(how: OpenFlags, path: &str) -> Option<&str> {
    let word = OpenFlags::DIRECTORY | OpenFlags::EXCLUSIVE | OpenFlags::TRUNCATE;
    if how == word { path.strip_prefix(MADE) } else { None }
}

impl FilesView<'_> {
    /// Shows the project among `mounts` with the run's changes over it, if the run has such a project.
    pub(super) fn put_layer(&mut self, mounts: &mut [(Fd, String)]) -> wasmtime::Result<()> {
        let (Some(layer), Some(tree)) = (&mut self.files.layer, &mut self.files.tree) else { return Ok(()) };
        let Some((shown, path)) = mounts.iter_mut().find(|(_, path)| path == layer.target) else {
            return Ok(());
        };
        let Some(upper) = tree.place().map_err(wasmtime::Error::new)? else { return Ok(()) };
        let touched = upper.list()?.next().is_some() || !layer.hidden.is_empty();
        let lower = shown.rep();
        if let Some(trace) = &mut self.files.trace {
            trace.handed_out(lower, path);
        }
        let folder = Folder { at: At { path: String::new(), lower: Some(lower) }, upper: upper.clone() };
        *shown = Resource::new_own(self.wasi.table.push(folder)?.rep());
        layer.open = Some(Open { upper, lower, touched });
        Ok(())
    }

    /// The folder behind a descriptor; none when it belongs to the tree or to a mount.
    pub(super) fn layered(&self, fd: &Fd) -> Option<&Folder> {
        self.wasi.table.get(&Resource::<Folder>::new_borrow(fd.rep())).ok()
    }

    /// Which folder of the project a descriptor is of.
    pub(super) fn layered_at(&self, fd: &Fd) -> Option<At> {
        self.layered(fd).map(|folder| folder.at.clone())
    }

    /// Closes a folder of the project. False when it is none.
    pub(super) fn close_layered(&mut self, fd: &Fd) -> wasmtime::Result<bool> {
        if self.layered(fd).is_none() {
            return Ok(false);
        }
        let folder = self.wasi.table.delete(Resource::<Folder>::new_own(fd.rep()))?;
        // The project's own folder stays: everything else is looked up below it.
        if let Some(number) = folder.at.lower.filter(|_| !folder.at.path.is_empty()) {
            self.close_mounted(Resource::new_own(number))?;
        }
        Ok(true)
    }

    fn open_layer(&self) -> FsResult<&Open> {
        let open = self.files.layer.as_ref().and_then(|layer| layer.open.as_ref());
        Ok(open.ok_or(ErrorCode::BadDescriptor)?)
    }

    fn upper(&self) -> FsResult<&Handle> {
        Ok(&self.open_layer()?.upper)
    }

    /// The project's own folder.
    fn project(&self) -> FsResult<Fd> {
        Ok(lower(self.open_layer()?.lower))
    }

    /// The host's side of a folder, for as long as it is all that there is.
    fn untouched(&self, at: &At) -> Option<Fd> {
        let open = self.files.layer.as_ref()?.open.as_ref()?;
        if open.touched { None } else { at.lower.map(lower) }
    }

    fn is_hidden(&self, path: &str) -> bool {
        self.files.layer.as_ref().is_some_and(|layer| layer.hidden.covers(path))
    }

    /// Takes a path of the project away from the run.
    fn hide(&mut self, path: &str) -> FsResult<()> {
        if let Some(layer) = &mut self.files.layer {
            layer.hidden.add(path)?;
        }
        Ok(())
    }

    /// Makes the folder of the tree that changes below `path` lie in, and those above it.
    fn ensure(&mut self, path: &str) -> FsResult<()> {
        if let Some(open) = self.files.layer.as_mut().and_then(|layer| layer.open.as_mut()) {
            open.touched = true;
        }
        let upper = self.upper()?;
        if path.is_empty() || upper.stat_at(path, false).is_ok() {
            return Ok(());
        }
        for end in path.match_indices('/').map(|(end, _)| end).chain([path.len()]) {
            match upper.create_directory_at(path.get(..end).unwrap_or(path)) {
                Ok(()) | Err(Errno::Exists) => {}
                Err(errno) => return answer(Err(errno)),
            }
        }
        Ok(())
    }
}
