//! Removing trees that a guest made: as deep and as wide as its budget let it, links never followed.
//!
//! Folders inside folders are lifted up beside the one being removed, so depth costs neither stack nor open files nor
//! path length; `std::fs::remove_dir_all` holds one file descriptor for each level.

use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

/// Times a folder is listed again because entries were left or came while it was emptied.
const PASSES: usize = 16;

/// Removes the folder `name` of `parent` and all that is in it. `parent` must be ours alone: folders are moved into it.
pub(super) fn tree(parent: &OwnedFd, name: &str) -> io::Result<()> {
    let mut pending = vec![name.to_owned()];
    let mut lifted = 0_u64;
    while let Some(top) = pending.pop() {
        let mut passes = 0;
        loop {
            empty(parent, &top, &mut pending, &mut lifted)?;
            passes += 1;
            match rustix::fs::unlinkat(parent, &top, AtFlags::REMOVEDIR) {
                Err(Errno::NOTEMPTY | Errno::EXIST) if passes < PASSES => {}
                removed => break removed?,
            }
        }
    }
    Ok(())
}

/// Removes the files of `parent`/`top` and lifts its folders into `parent`, adding their names to `pending`.
fn empty(parent: &OwnedFd, top: &str, pending: &mut Vec<String>, lifted: &mut u64) -> io::Result<()> {
    let folder = open(parent, top)?;
    let mut entries = Dir::read_from(&folder)?;
    while let Some(entry) = entries.read() {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        if !is_folder(&folder, &entry)? {
            gone(rustix::fs::unlinkat(&folder, name, AtFlags::empty()))?;
            continue;
        }
        match rustix::fs::unlinkat(&folder, name, AtFlags::REMOVEDIR) {
            Err(Errno::NOTEMPTY | Errno::EXIST) => pending.push(lift(&folder, name, parent, lifted)?),
            removed => gone(removed)?,
        }
    }
    Ok(())
}

/// Moves a folder up to a free name. A crash in between leaves names behind, so one that is taken is passed over.
fn lift(folder: &OwnedFd, name: &std::ffi::CStr, parent: &OwnedFd, lifted: &mut u64) -> io::Result<String> {
    loop {
        let free = format!("x{lifted}");
        *lifted += 1;
        match rustix::fs::renameat(folder, name, parent, &free) {
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => {}
            moved => return Ok(moved.map(|()| free)?),
        }
    }
}

/// Removes all that is in `folder`, which must be ours alone.
pub(super) fn contents(folder: &OwnedFd) -> io::Result<()> {
    for _ in 0..PASSES {
        let mut left = false;
        let mut folders = Vec::new();
        let mut entries = Dir::read_from(folder)?;
        while let Some(entry) = entries.read() {
            let entry = entry?;
            match entry.file_name().to_str() {
                Ok("." | "..") => continue,
                Ok(name) if is_folder(folder, &entry)? => folders.push(name.to_owned()),
                _ => gone(rustix::fs::unlinkat(folder, entry.file_name(), AtFlags::empty()))?,
            }
            left = true;
        }
        for name in folders {
            match tree(folder, &name) {
                // Lifted and removed with another.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => removed?,
            }
        }
        if !left {
            return Ok(());
        }
    }
    Err(Errno::NOTEMPTY.into())
}

/// Removes the run folders in `base` whose process is gone, `own` excepted. Others' folders are left alone.
pub(super) fn sweep(base: &OwnedFd, prefix: &str, own: &str) {
    let Ok(mut entries) = Dir::read_from(base) else { return };
    while let Some(Ok(entry)) = entries.read() {
        let Ok(name) = entry.file_name().to_str() else { continue };
        if !name.starts_with(prefix) || name == own {
            continue;
        }
        let Ok(folder) = open(base, name) else { continue };
        let ours =
            rustix::fs::fstat(&folder).is_ok_and(|stat| stat.st_uid == rustix::process::geteuid().as_raw());
        // Locked means alive.
        if !ours || rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive).is_err() {
            continue;
        }
        let removed =
            contents(&folder).and_then(|()| Ok(rustix::fs::unlinkat(base, name, AtFlags::REMOVEDIR)?));
        if let Err(error) = removed {
            tracing::warn!(%error, "an abandoned run folder could not be removed");
        }
    }
}

/// Whether `name` in `parent` still is the folder behind `handle`.
pub(super) fn is_at(parent: &OwnedFd, name: &str, handle: &OwnedFd) -> bool {
    let named = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW);
    match (named, rustix::fs::fstat(handle)) {
        (Ok(named), Ok(held)) => (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino),
        _ => false,
    }
}

fn open(parent: &OwnedFd, name: &str) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(parent, name, flags, Mode::empty())
}

fn is_folder(folder: &OwnedFd, entry: &rustix::fs::DirEntry) -> rustix::io::Result<bool> {
    Ok(match entry.file_type() {
        FileType::Directory => true,
        FileType::Unknown => {
            let stat = rustix::fs::statat(folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)?;
            FileType::from_raw_mode(stat.st_mode) == FileType::Directory
        }
        _ => false,
    })
}

/// What somebody else removed is removed.
fn gone(removed: rustix::io::Result<()>) -> rustix::io::Result<()> {
    match removed {
        Err(Errno::NOENT) => Ok(()),
        removed => removed,
    }
}
