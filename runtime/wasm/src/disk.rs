//! `wasi:filesystem`: an instance's own files, and mounts charged against the disk budget of a run.
//!
//! Owns: the tree behind the interface, how many bytes a guest may write below mounts and how many files, folders and links
//! it may create there, and the three things that `wasmtime-wasi` leaves open: opening a FIFO or a device under a mount (it
//! would block a host thread for ever), listing a folder of any size into host memory, and sparse files. Everything else
//! below a mount is `wasmtime-wasi`'s own implementation; over a project that is only read lie the run's own changes. Does not
//! own: which folders are mounted, the tree itself.

mod held;
mod host;
mod layer;
mod listing;
mod mount;
mod open;
mod stream;
#[cfg(test)]
mod tests;
mod trace;
mod tree;

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use dormouse_core::{Access, Grants, GuestPath, Project, Result};
use dormouse_files::{Handle, Tree};
use wasmtime::component::{HasData, Linker, Resource};
use wasmtime_wasi::filesystem::{Dir, WasiFilesystemCtxView};
use wasmtime_wasi::p2::FsError;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;
use wasmtime_wasi::p2::bindings::filesystem::{preopens, types};

pub(crate) use self::held::Held;
use self::layer::{Hidden, Layer};
pub(crate) use self::trace::Trace;
pub(crate) use self::tree::{OwnFiles, OwnTree};

/// What one run may do to its own files, which is what they may hold; and again to mounts, where deleting gives nothing back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DiskLimits {
    /// Bytes that own files may hold, and that may be written to mounts in all, overwritten or not; holes included. Default 64 MiB.
    pub(crate) bytes: u64,
    /// Files, folders and links that there may be of its own, and that may be created below mounts in all. Default 10 000.
    pub(crate) files: u64,
}

impl Default for DiskLimits {
    fn default() -> Self {
        Self { bytes: 64 << 20, files: 10_000 }
    }
}

/// What is left of a run's [`DiskLimits`]; clones share one account.
///
/// The account is shared rather than borrowed because output streams live in the resource table, apart from
/// the store's data. A hole counts as written bytes, so a file can never reach further than what was paid for, and the
/// blocks that a guest makes the host allocate are bounded by the bytes and one block a file.
#[derive(Clone, Debug)]
pub(crate) struct DiskBudget(Arc<Account>);

#[derive(Debug)]
struct Account {
    bytes_left: AtomicU64,
    files_left: AtomicU64,
    written: AtomicU64,
    refused: AtomicBool,
}

/// The budget does not cover what was asked for; the guest sees `ENOSPC`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Full;

impl From<Full> for FsError {
    fn from(_: Full) -> Self {
        ErrorCode::InsufficientSpace.into()
    }
}

impl From<Full> for io::Error {
    /// The OS error and not a kind: `filesystem-error-code` reads the number to tell the guest why a stream failed.
    fn from(_: Full) -> Self {
        rustix::io::Errno::NOSPC.into()
    }
}

impl DiskBudget {
    /// A full budget.
    pub(crate) fn new(limits: DiskLimits) -> Self {
        Self(Arc::new(Account {
            bytes_left: AtomicU64::new(limits.bytes),
            files_left: AtomicU64::new(limits.files),
            written: AtomicU64::new(0),
            refused: AtomicBool::new(false),
        }))
    }

    /// Begins a run: a full budget, nothing written. Streams that an earlier run left open are charged to it as well,
    /// which a new budget in the place of this one would miss.
    pub(crate) fn arm(&self, limits: DiskLimits) {
        self.0.bytes_left.store(limits.bytes, Ordering::Relaxed);
        self.0.files_left.store(limits.files, Ordering::Relaxed);
        self.0.written.store(0, Ordering::Relaxed);
        self.0.refused.store(false, Ordering::Relaxed);
    }

    /// Bytes that may still be written.
    fn bytes_left(&self) -> u64 {
        self.0.bytes_left.load(Ordering::Relaxed)
    }

    /// Bytes of data the guest wrote, holes not counted.
    pub(crate) fn written(&self) -> u64 {
        self.0.written.load(Ordering::Relaxed)
    }

    /// Whether anything was refused because the budget was spent: tells an `ENOSPC` of ours from a full disk.
    #[cfg(test)]
    pub(crate) fn refused(&self) -> bool {
        self.0.refused.load(Ordering::Relaxed)
    }

    /// Counts bytes written to the tree, whose quota is its own.
    fn note(&self, bytes: u64) {
        self.0.written.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Pays for `data` bytes written after a hole of `hole` bytes; takes all or nothing.
    fn charge_bytes(&self, data: u64, hole: u64) -> Result<(), Full> {
        self.take(&self.0.bytes_left, data.saturating_add(hole))?;
        self.0.written.fetch_add(data, Ordering::Relaxed);
        Ok(())
    }

    /// Gives back what a failed or short write did not use.
    fn refund_bytes(&self, data: u64, hole: u64) {
        self.0.bytes_left.fetch_add(data + hole, Ordering::Relaxed);
        let less = |written: u64| Some(written.saturating_sub(data));
        let _ = self.0.written.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// Pays for one file, folder or link.
    fn charge_file(&self) -> Result<(), Full> {
        self.take(&self.0.files_left, 1)
    }

    /// Gives back what a failed creation did not use.
    fn refund_file(&self) {
        self.0.files_left.fetch_add(1, Ordering::Relaxed);
    }

    fn take(&self, left: &AtomicU64, amount: u64) -> Result<(), Full> {
        let taken = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(amount));
        if taken.is_err() {
            self.0.refused.store(true, Ordering::Relaxed);
        }
        taken.map(drop).map_err(|_| Full)
    }
}

/// The bytes between the end of `file` and `offset`: what a write at `offset` would leave unwritten.
fn hole_before(file: &File, offset: u64) -> io::Result<u64> {
    if offset == 0 {
        return Ok(0);
    }
    Ok(offset.saturating_sub(file.metadata()?.len()))
}

/// What runs in a project have left in their own files.
#[derive(Clone, Debug)]
pub(crate) struct LeftFiles {
    /// The files, the changes to the project among them.
    pub(crate) tree: Tree,
    /// What they have removed of the project, if it was only read.
    hidden: Option<Hidden>,
}

/// A run's files, part of the store's data.
pub(crate) struct Files {
    /// What the run may still write and create.
    pub(crate) budget: DiskBudget,
    /// Open folders and their guest paths, shown after those of the `WasiCtx`. They cost no system call.
    pub(crate) folders: Vec<(Dir, String)>,
    /// The instance's own files, shown before all others; its `/` is not, where a mount is at `/`.
    pub(crate) tree: Option<OwnTree>,
    /// Shows a project that is only read with the run's own changes over it.
    layer: Option<Layer>,
    /// What of it the guest has open, and may open again.
    pub(crate) held: Held,
    /// Records what is looked at, if anybody wants to know.
    pub(crate) trace: Option<Trace>,
    /// Whether a mount at `/` is shown before all others: programs of the user's own often take the first folder for their
    /// root. Interpreters choose by the longest path, and expect their own files first.
    pub(crate) root_first: bool,
    /// Whether file operations run on the calling thread (microseconds saved on each, but a hung network mount hangs the
    /// thread). Must be what `WasiCtxBuilder::allow_blocking_current_thread` was given.
    pub(crate) in_place: bool,
}

impl Files {
    /// Puts a file into the instance's own files.
    ///
    /// # Errors
    /// As [`dormouse_files::Files::write`]; `capability_unavailable` where there are none.
    pub(crate) fn put(&mut self, path: &GuestPath, bytes: &[u8]) -> Result<()> {
        let tree = self.tree.as_mut().ok_or_else(|| {
            dormouse_core::Error::new(
                dormouse_core::ErrorCode::CapabilityUnavailable,
                "there are no files here",
            )
        })?;
        tree.write(path, bytes)?;
        self.budget.note(bytes.len() as u64);
        Ok(())
    }

    /// Files of an instance that has none yet.
    pub(crate) fn new(limits: DiskLimits, in_place: bool) -> Self {
        let budget = DiskBudget::new(limits);
        Self {
            budget,
            folders: Vec::new(),
            tree: None,
            layer: None,
            held: Held::default(),
            trace: None,
            root_first: false,
            in_place,
        }
    }

    /// Begins a run.
    pub(crate) fn arm(&mut self, limits: DiskLimits) {
        self.budget.arm(limits);
        if let Some(tree) = &mut self.tree {
            tree.arm(limits);
        }
    }

    /// Gives an instance its own files, unless it has them, and lets a run change a project that is only read.
    pub(crate) fn give(&mut self, own: &OwnFiles, grants: &Grants) {
        let project = grants.project.as_ref();
        let place = project.map(|_| Project::TARGET);
        self.tree.get_or_insert_with(|| OwnTree::new(own, grants.clock, place));
        if !own.is_kept() && project.is_some_and(|project| project.access == Access::ReadOnly) {
            self.layer.get_or_insert_with(|| Layer::new(Project::TARGET, Hidden::default()));
        }
    }

    /// What runs in a project have left in fresh files, if anything.
    pub(crate) fn left(&self) -> Option<LeftFiles> {
        let hidden = self.layer.as_ref().map(|layer| layer.hidden().clone());
        let tree = self.tree.as_ref()?.left(hidden.as_ref().is_some_and(|hidden| !hidden.is_empty()))?;
        Some(LeftFiles { tree, hidden })
    }

    /// Lets fresh files of a run in a project begin with what others have left.
    pub(crate) fn begin_with(&mut self, left: &LeftFiles) {
        self.tree = Some(OwnTree::copy_of(left.tree.clone(), Some(Project::TARGET)));
        self.layer = left.hidden.clone().map(|hidden| Layer::new(Project::TARGET, hidden));
    }

    /// Whether the instance's own files outlive it.
    pub(crate) fn are_kept(&self) -> bool {
        self.tree.as_ref().is_some_and(OwnTree::is_kept)
    }
}

impl FilesView<'_> {
    /// A handle for each file and folder of the tree that the guest has open, beside the folders that it was given; or may
    /// still open again, where nothing has run since it was restored.
    pub(crate) fn held(&self) -> Vec<Handle> {
        let open = self.files.held.descriptors();
        let open =
            open.filter_map(|number| self.wasi.table.get(&Resource::<Handle>::new_borrow(number)).ok());
        open.chain(self.files.held.waiting()).cloned().collect()
    }
}

/// What the functions of `wasi:filesystem` work on.
pub(crate) struct FilesView<'a> {
    /// The view of `wasmtime-wasi`, which does the work.
    pub(crate) wasi: WasiFilesystemCtxView<'a>,
    /// What is charged and shown.
    pub(crate) files: &'a mut Files,
}

impl HasData for Files {
    type Data<'a> = FilesView<'a>;
}

/// Provides `wasi:filesystem/types` and `wasi:filesystem/preopens`, charged against the run's [`DiskBudget`].
///
/// # Errors
/// When `linker` has one of the two interfaces already.
pub(crate) fn add_filesystem_to_linker<T: Send + 'static>(
    linker: &mut Linker<T>,
    get: fn(&mut T) -> FilesView<'_>,
) -> wasmtime::Result<()> {
    types::add_to_linker::<T, Files>(linker, get)?;
    preopens::add_to_linker::<T, Files>(linker, get)
}

/// Runs `body` on `file`, here or on a thread that may block.
async fn blocking<R: Send + 'static>(
    in_place: bool,
    file: &Arc<File>,
    body: impl FnOnce(&File) -> R + Send + 'static,
) -> R {
    if in_place {
        return body(file);
    }
    let file = Arc::clone(file);
    wasmtime_wasi::runtime::spawn_blocking(move || body(&file)).await
}
