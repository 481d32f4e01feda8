//! The run's `/tmp`: a private host folder that vanishes with the run.
//!
//! Owns: a run folder of this process, a pool of empty scratch folders in it, their removal, and the sweep of what dead
//! processes left. Does not own: what a guest may write there (see [`crate::disk`]).
//!
//! A run folder is locked (`flock`) for as long as its process lives, so a dead owner is known without process numbers,
//! which mean nothing across containers. A folder goes back to the pool only if nobody touched it: it is empty *and* its
//! times are the ones it was made with, so that not even those pass from one run to the next. File operations run in
//! place (`allow_blocking_current_thread`), hence none can outlive the store and write to a folder that was given back.

mod lazy;
mod remove;
#[cfg(test)]
mod tests;

pub(crate) use lazy::LazyScratch;

use std::fs::DirBuilder;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};

use dormouse_core::{Error, Result};
use rustix::fs::{AtFlags, CWD, Dir, FlockOperation, Mode, OFlags};
use wasmtime_wasi::{FsPerms, WasiCtxBuilder};

/// Where a guest finds its scratch folder.
const GUEST_PATH: &str = "/tmp";
/// The folder that every guest sees as `/`: read-only, with an empty `tmp` in it, so that listing it shows what there is.
const ROOT: &str = "root";
/// Unused folders kept at most; each holds one file descriptor.
const KEEP: usize = 64;
/// Used folders that may wait for their removal; the next one is removed by who gives it back.
const QUEUE: usize = 64;
/// Run folders are called this and something unique.
const PREFIX: &str = "dormouse-run-";
/// Names tried for a run folder before giving up.
const ATTEMPTS: u32 = 64;

/// Scratch folders, made when first needed. The thread that removes starts when a first folder was used.
pub(crate) struct ScratchPool {
    base: PathBuf,
    shared: OnceLock<Arc<Shared>>,
    opening: Mutex<()>,
}

impl ScratchPool {
    /// A pool in the system's folder for temporary files.
    ///
    /// # Errors
    /// None yet: the place is looked at by the first [`ScratchPool::take`].
    pub(crate) fn new() -> Result<Self> {
        Ok(Self::under(std::env::temp_dir()))
    }

    fn under(base: PathBuf) -> Self {
        Self { base, shared: OnceLock::new(), opening: Mutex::new(()) }
    }

    /// An empty folder that nobody else has.
    ///
    /// # Errors
    /// `internal` when no folder can be made.
    pub(crate) fn take(&self) -> Result<Scratch> {
        let failed = |error: io::Error| Error::internal("no scratch folder could be made", error);
        let shared = self.shared().map_err(failed)?;
        let waiting = shared.free().pop();
        let slot = match waiting {
            Some(slot) => slot,
            None => shared.run.slot().map_err(failed)?,
        };
        Ok(Scratch { slot: Some(slot), shared: Arc::clone(shared) })
    }

    fn shared(&self) -> io::Result<&Arc<Shared>> {
        if let Some(shared) = self.shared.get() {
            return Ok(shared);
        }
        let _only = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shared) = self.shared.get() {
            return Ok(shared);
        }
        let run = Arc::new(RunFolder::create(&self.base)?);
        let shared = Shared { run, free: Arc::default(), worker: Mutex::default() };
        Ok(self.shared.get_or_init(|| Arc::new(shared)))
    }
}

/// A run's own folder. Dropped after the store that uses it.
pub(crate) struct Scratch {
    slot: Option<Slot>,
    shared: Arc<Shared>,
}

impl Scratch {
    /// Shows the folder to a guest, writable, as `/tmp`, below a read-only `/` that holds nothing else.
    ///
    /// # Errors
    /// `internal` when the folder has gone.
    pub(crate) fn preopen(&self, wasi: &mut WasiCtxBuilder) -> Result<()> {
        let gone = |error| Error::internal("the scratch folder cannot be opened", error);
        wasi.preopened_dir(self.path(), GUEST_PATH, FsPerms::ReadWrite).map_err(gone)?;
        wasi.preopened_dir(self.shared.run.path.join(ROOT), "/", FsPerms::ReadOnly).map_err(gone)?;
        Ok(())
    }

    /// Where the folder is on the host.
    pub(crate) fn path(&self) -> PathBuf {
        let name = self.slot.as_ref().map(Slot::name).unwrap_or_default();
        self.shared.run.path.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            self.shared.give_back(slot);
        }
    }
}

/// One folder of the pool.
struct Slot {
    number: u64,
    handle: OwnedFd,
    fresh: Stamp,
}

impl Slot {
    fn name(&self) -> String {
        format!("s{}", self.number)
    }

    fn untouched(&self) -> rustix::io::Result<bool> {
        if Stamp::of(&self.handle)? != self.fresh {
            return Ok(false);
        }
        // Times are coarse: a file made in the tick the folder was made in leaves them as they are.
        let mut entries = Dir::read_from(&self.handle)?;
        while let Some(entry) = entries.read() {
            if !matches!(entry?.file_name().to_bytes(), b"." | b"..") {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// All that a guest can change about an empty folder.
#[derive(PartialEq, Eq)]
struct Stamp([i128; 6]);

impl Stamp {
    fn of(handle: &OwnedFd) -> rustix::io::Result<Self> {
        let stat = rustix::fs::fstat(handle)?;
        Ok(Self([
            stat.st_atime.into(),
            stat.st_atime_nsec.into(),
            stat.st_mtime.into(),
            stat.st_mtime_nsec.into(),
            stat.st_ctime.into(),
            stat.st_ctime_nsec.into(),
        ]))
    }
}

/// The folder of this process. Its lock falls when the last handle closes.
struct RunFolder {
    base: OwnedFd,
    handle: OwnedFd,
    name: String,
    path: PathBuf,
    next: AtomicU64,
    closing: AtomicBool,
}

fn folder_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

impl RunFolder {
    fn create(base: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(base)?;
        let opened = rustix::fs::openat(
            CWD,
            base,
            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        for attempt in 0..ATTEMPTS {
            // Unique is enough, secret is not needed: `mkdir` fails on any name that exists, links included.
            let name = format!("{PREFIX}{}-{now:x}-{attempt}", std::process::id());
            match rustix::fs::mkdirat(&opened, &name, Mode::RWXU) {
                Err(rustix::io::Errno::EXIST) => continue,
                made => made?,
            }
            let handle = rustix::fs::openat(&opened, &name, folder_flags(), Mode::empty())?;
            // A sweep may have taken it for a dead process's, in the moment before the lock.
            if rustix::fs::flock(&handle, FlockOperation::NonBlockingLockExclusive).is_ok()
                && remove::is_at(&opened, &name, &handle)
            {
                rustix::fs::mkdirat(&handle, ROOT, Mode::RWXU)?;
                rustix::fs::mkdirat(&handle, format!("{ROOT}{GUEST_PATH}"), Mode::RWXU)?;
                let (next, closing) = (AtomicU64::new(0), AtomicBool::new(false));
                return Ok(Self { base: opened, handle, path: base.join(&name), name, next, closing });
            }
        }
        Err(io::Error::other("every name for a run folder is taken"))
    }

    fn slot(&self) -> io::Result<Slot> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let name = format!("s{number}");
        rustix::fs::mkdirat(&self.handle, &name, Mode::RWXU)?;
        let handle = open_quietly(&self.handle, &name)?;
        let fresh = Stamp::of(&handle)?;
        Ok(Slot { number, handle, fresh })
    }

    fn remove(&self, slot: Slot) {
        let name = slot.name();
        drop(slot);
        if let Err(error) = remove::tree(&self.handle, &name) {
            tracing::warn!(%error, "a scratch folder could not be removed; the next start will try again");
        }
    }
}

/// Opens a folder so that listing it does not change its access time.
fn open_quietly(parent: &OwnedFd, name: &str) -> rustix::io::Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    if let Ok(handle) = rustix::fs::openat(parent, name, folder_flags() | OFlags::NOATIME, Mode::empty()) {
        return Ok(handle);
    }
    rustix::fs::openat(parent, name, folder_flags(), Mode::empty())
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        let removed = remove::contents(&self.handle)
            .and_then(|()| Ok(rustix::fs::unlinkat(&self.base, &self.name, AtFlags::REMOVEDIR)?));
        if let Err(error) = removed {
            tracing::warn!(%error, "the run folder could not be removed; the next start will try again");
        }
    }
}

type Free = Arc<Mutex<Vec<Slot>>>;

/// What the pool and its folders in use share.
struct Shared {
    run: Arc<RunFolder>,
    free: Free,
    worker: Mutex<Option<Worker>>,
}

struct Worker {
    used: SyncSender<Slot>,
    thread: JoinHandle<()>,
}

impl Shared {
    fn free(&self) -> MutexGuard<'_, Vec<Slot>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn give_back(&self, slot: Slot) {
        if slot.untouched().unwrap_or(false) {
            let mut free = self.free();
            if free.len() < KEEP {
                free.push(slot);
                return;
            }
        }
        let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        if worker.is_none() {
            *worker = self.start();
        }
        let unsent = match &*worker {
            Some(worker) => worker.used.try_send(slot).err().map(|error| match error {
                std::sync::mpsc::TrySendError::Full(slot)
                | std::sync::mpsc::TrySendError::Disconnected(slot) => slot,
            }),
            None => Some(slot),
        };
        drop(worker);
        if let Some(slot) = unsent {
            self.run.remove(slot);
        }
    }

    fn start(&self) -> Option<Worker> {
        let (used, jobs) = sync_channel(QUEUE);
        let (run, free) = (Arc::clone(&self.run), Arc::clone(&self.free));
        let thread = std::thread::Builder::new().name("dormouse-scratch".into());
        let thread = thread.spawn(move || work(&run, &free, &jobs)).ok()?;
        Some(Worker { used, thread })
    }
}

/// Sweeps once, then replaces and removes used folders until the pool is gone.
fn work(run: &RunFolder, free: &Free, used: &Receiver<Slot>) {
    remove::sweep(&run.base, PREFIX, &run.name);
    for slot in used {
        // What is left goes with the run folder.
        if run.closing.load(Ordering::Relaxed) {
            return;
        }
        if let Ok(slot) = run.slot() {
            let mut free = free.lock().unwrap_or_else(PoisonError::into_inner);
            let full = free.len() >= KEEP;
            if !full {
                free.push(slot);
            }
        }
        run.remove(slot);
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.run.closing.store(true, Ordering::Relaxed);
        let worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Worker { used, thread }) = worker {
            drop(used);
            let _ = thread.join();
        }
    }
}
