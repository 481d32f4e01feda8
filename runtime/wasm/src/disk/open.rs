//! Opening and touching files so that nothing under a mount can block the host.
//!
//! `wasmtime-wasi` opens without `O_NONBLOCK`, so a FIFO blocks a host thread until somebody opens its other end; looking
//! first and opening then is a race with whoever else writes to the mount. On Linux the open itself is ours: the same
//! `openat2` under the same folder with two flags more, and what is neither file nor folder is closed and refused.

use std::fs::File;
use std::io;
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT};
use rustix::io::Errno;
use wasmtime_wasi::OpenMode;
use wasmtime_wasi::filesystem::{Descriptor, Dir, File as WasiFile};
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags, ErrorCode, NewTimestamp, OpenFlags, PathFlags,
};
use wasmtime_wasi::p2::{FsError, FsResult};

use super::{DiskBudget, Full, blocking};

/// Renames anywhere on the host make `openat2` ask to be called again; more than this in a row is a busy host.
#[cfg(target_os = "linux")]
const ATTEMPTS: usize = 64;

/// How an open ended without a descriptor.
#[derive(Debug)]
enum Failure {
    /// The kernel has no `openat2`, or a filter forbids it: the caller must look first and let `wasmtime-wasi` open.
    NoBeneath,
    Code(ErrorCode),
    Full,
}

impl From<Errno> for Failure {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::NOSYS | Errno::PERM => Self::NoBeneath,
            // A path out of the folder; a socket, a FIFO without reader, a device without driver.
            Errno::XDEV | Errno::NXIO | Errno::NODEV => Self::Code(ErrorCode::NotPermitted),
            Errno::AGAIN => Self::Code(ErrorCode::Busy),
            errno => Self::Code(io::Error::from(errno).into()),
        }
    }
}

impl From<Full> for Failure {
    fn from(_: Full) -> Self {
        Self::Full
    }
}

/// What an open asks for, in the terms of the kernel.
#[derive(Clone, Copy)]
struct Plan {
    flags: OFlags,
    mode: OpenMode,
    create: bool,
    exclusive: bool,
    directory: bool,
}

impl Plan {
    /// The same reading of the flags as in `wasmtime_wasi::filesystem::Dir::open_at`.
    fn new(path_flags: PathFlags, oflags: OpenFlags, flags: DescriptorFlags) -> Result<Self, ErrorCode> {
        let synced = DescriptorFlags::FILE_INTEGRITY_SYNC
            | DescriptorFlags::DATA_INTEGRITY_SYNC
            | DescriptorFlags::REQUESTED_WRITE_SYNC;
        if flags.intersects(synced) {
            return Err(ErrorCode::Unsupported);
        }
        let changes = OpenFlags::CREATE | OpenFlags::EXCLUSIVE | OpenFlags::TRUNCATE;
        let directory = oflags.contains(OpenFlags::DIRECTORY);
        if directory && oflags.intersects(changes) {
            return Err(ErrorCode::Invalid);
        }
        let create = oflags.contains(OpenFlags::CREATE);
        let exclusive = create && oflags.contains(OpenFlags::EXCLUSIVE);
        let truncate = oflags.contains(OpenFlags::TRUNCATE) && !exclusive;

        let wants_write = flags.contains(DescriptorFlags::WRITE);
        let mut mode = OpenMode::empty();
        mode.set(OpenMode::READ, flags.contains(DescriptorFlags::READ) || !wants_write);
        mode.set(OpenMode::WRITE, wants_write || create || oflags.contains(OpenFlags::TRUNCATE));

        let follow = path_flags.contains(PathFlags::SYMLINK_FOLLOW);
        let mut flags = OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        flags |= match (mode.contains(OpenMode::READ), mode.contains(OpenMode::WRITE)) {
            (true, true) => OFlags::RDWR,
            (_, true) => OFlags::WRONLY,
            _ => OFlags::RDONLY,
        };
        flags.set(OFlags::TRUNC, truncate);
        flags.set(OFlags::NOFOLLOW, !follow);
        // With `NOFOLLOW` a link would be "not a directory" instead of "a loop".
        flags.set(OFlags::DIRECTORY, directory && follow);
        Ok(Self { flags, mode, create, exclusive, directory })
    }

    /// Opens, and pays when a file is made. The second open of a new file is what tells it from one that exists.
    fn open(self, folder: &File, path: &str, budget: &DiskBudget) -> Result<(File, FileType), Failure> {
        let file = if !self.create {
            beneath(folder, path, self.flags)?
        } else if self.exclusive {
            charged(budget, || beneath(folder, path, self.flags | OFlags::CREATE | OFlags::EXCL))?
        } else {
            match beneath(folder, path, self.flags) {
                Err(Errno::NOENT) => charged(budget, || beneath(folder, path, self.flags | OFlags::CREATE))?,
                opened => opened?,
            }
        };
        let kind = FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode);
        match kind {
            FileType::RegularFile if self.directory => Err(Failure::Code(ErrorCode::NotDirectory)),
            FileType::RegularFile | FileType::Directory => Ok((file, kind)),
            _ => Err(Failure::Code(ErrorCode::NotPermitted)),
        }
    }
}

fn charged(budget: &DiskBudget, create: impl FnOnce() -> Result<File, Errno>) -> Result<File, Failure> {
    budget.charge_file()?;
    create().map_err(|errno| {
        budget.refund_file();
        errno.into()
    })
}

#[cfg(target_os = "linux")]
fn beneath(folder: &File, path: &str, flags: OFlags) -> Result<File, Errno> {
    use rustix::fs::ResolveFlags;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let mode = if flags.contains(OFlags::CREATE) { Mode::from_raw_mode(0o666) } else { Mode::empty() };
    let mut last = Errno::AGAIN;
    for _ in 0..ATTEMPTS {
        match rustix::fs::openat2(folder, path, flags, mode, resolve) {
            Err(errno @ (Errno::AGAIN | Errno::INTR)) => last = errno,
            opened => return opened.map(File::from),
        }
    }
    Err(last)
}

#[cfg(not(target_os = "linux"))]
fn beneath(_folder: &File, _path: &str, _flags: OFlags) -> Result<File, Errno> {
    let _ = Mode::empty();
    Err(Errno::NOSYS)
}

/// Opens `path` under `folder`; `None` when this kernel cannot do it safely in one step.
///
/// # Errors
/// As `wasmtime-wasi`; `not-permitted` for what is neither a file nor a folder; `insufficient-space` when a file would
/// have to be made and the budget has none left.
pub(super) async fn open_at(
    folder: &Dir,
    path: &str,
    (path_flags, oflags, flags): (PathFlags, OpenFlags, DescriptorFlags),
    budget: &DiskBudget,
    in_place: bool,
) -> FsResult<Option<Descriptor>> {
    let plan = Plan::new(path_flags, oflags, flags)?;
    if folder.perms.write_not_permitted() && plan.mode.contains(OpenMode::WRITE) {
        return Err(ErrorCode::NotPermitted.into());
    }
    let (path, budget) = (path.to_owned(), budget.clone());
    let opened = blocking(in_place, &folder.dir, move |folder| plan.open(folder, &path, &budget)).await;
    match opened {
        Ok((file, FileType::Directory)) => {
            Ok(Some(Descriptor::Dir(Dir::new(file, folder.perms, plan.mode, in_place))))
        }
        Ok((file, _)) => Ok(Some(Descriptor::File(WasiFile::new(file, folder.perms, plan.mode, in_place)))),
        Err(Failure::NoBeneath) => Ok(None),
        Err(Failure::Code(code)) => Err(code.into()),
        Err(Failure::Full) => Err(Full.into()),
    }
}

/// Sets the times of what `path` leads to, links followed; `None` when this kernel cannot do it without a real open.
///
/// `wasmtime-wasi` opens the file for writing first, which blocks on a FIFO as well.
pub(super) async fn set_times_at(
    folder: &Dir,
    path: &str,
    (accessed, modified): (NewTimestamp, NewTimestamp),
    in_place: bool,
) -> FsResult<Option<()>> {
    if folder.perms.write_not_permitted() {
        return Err(ErrorCode::NotPermitted.into());
    }
    let times = Timestamps { last_access: timespec(accessed)?, last_modification: timespec(modified)? };
    let path = path.to_owned();
    let done = blocking(in_place, &folder.dir, move |folder| set_times(folder, &path, &times)).await;
    match done {
        Ok(()) => Ok(Some(())),
        Err(Failure::NoBeneath) => Ok(None),
        Err(Failure::Code(code)) => Err(code.into()),
        Err(Failure::Full) => Err(Full.into()),
    }
}

#[cfg(target_os = "linux")]
fn set_times(folder: &File, path: &str, times: &Timestamps) -> Result<(), Failure> {
    let file = beneath(folder, path, OFlags::PATH | OFlags::CLOEXEC)?;
    match rustix::fs::utimensat(&file, "", times, AtFlags::EMPTY_PATH) {
        // Linux before 5.8.
        Err(Errno::INVAL) => Err(Failure::NoBeneath),
        done => Ok(done?),
    }
}

#[cfg(not(target_os = "linux"))]
fn set_times(_folder: &File, _path: &str, _times: &Timestamps) -> Result<(), Failure> {
    let _ = AtFlags::empty();
    Err(Failure::NoBeneath)
}

fn timespec(time: NewTimestamp) -> Result<Timespec, FsError> {
    match time {
        NewTimestamp::NoChange => Ok(Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT }),
        NewTimestamp::Now => Ok(Timespec { tv_sec: 0, tv_nsec: UTIME_NOW }),
        NewTimestamp::Timestamp(time) => {
            const BILLION: u32 = 1_000_000_000;
            let seconds = time.seconds.checked_add(u64::from(time.nanoseconds / BILLION));
            let tv_sec =
                seconds.and_then(|seconds| i64::try_from(seconds).ok()).ok_or(ErrorCode::Overflow)?;
            Ok(Timespec { tv_sec, tv_nsec: (time.nanoseconds % BILLION).into() })
        }
    }
}

/// A handle on the same file, for what must outlive the borrow of the table.
pub(super) fn handle(descriptor: &Descriptor) -> Result<&Arc<File>, ErrorCode> {
    match descriptor {
        Descriptor::File(file) => Ok(&file.file),
        Descriptor::Dir(_) => Err(ErrorCode::BadDescriptor),
    }
}
