//! What the disk of a state folder has, before the folder is opened or made.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use dormouse_core::Result;
use rustix::fs::{Mode, OFlags, StatVfsMountFlags, statvfs};
use rustix::io::Errno;

use crate::fault;

/// Less room is none: what the smallest save takes of the log.
const LEAST: u64 = 64 << 10;

/// The disk of a state folder, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// What the folder's database takes, with what will be in it.
    pub taken: u64,
    /// What is free for this user.
    pub free: u64,
    /// What the disk has in all.
    pub size: u64,
}

/// What the disk of a state folder has, before the folder is opened or made.
///
/// # Errors
/// What keeps the disk from answering.
pub fn room(folder: &Path) -> io::Result<Room> {
    let length = |file: &str| match fs::metadata(folder.join(file)) {
        Ok(found) => Ok(found.len()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error),
    };
    // What is in the log will be in the database.
    let taken = length("state.db")?.saturating_add(length("state.db-wal")?);
    let disk = statvfs(nearest(folder))?;
    let bytes = |blocks: u64| blocks.saturating_mul(disk.f_frsize);
    Ok(Room { taken, free: bytes(disk.f_bavail), size: bytes(disk.f_blocks) })
}

/// Bytes that can be added to a state folder, of which `needs` must stay free; none where the disk does not say.
///
/// # Errors
/// `state_unavailable` when nothing can be added.
pub(crate) fn free(folder: &Path, needs: u64) -> Result<Option<u64>> {
    let Ok(disk) = statvfs(folder) else { return Ok(None) };
    if disk.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return Err(fault::read_only());
    }
    // A disk that has inodes without a number says that it has none at all.
    if disk.f_files > 0 && disk.f_favail == 0 {
        return Err(fault::no_inodes());
    }
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    match free.checked_sub(needs) {
        Some(left) if left >= LEAST => Ok(Some(left)),
        _ => Err(fault::full_disk()),
    }
}

/// Whether nothing can be written because the disk is read-only, found by trying: one that has become so by a fault need not say it.
pub(crate) fn takes_nothing(folder: &Path) -> bool {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    rustix::fs::open(folder, flags, Mode::RUSR | Mode::WUSR).err() == Some(Errno::ROFS)
}

/// Whether a disk takes so many more files, as far as it says.
pub(crate) fn has_inodes(folder: &Path, files: u64) -> bool {
    statvfs(folder).map_or(true, |disk| disk.f_files == 0 || disk.f_favail >= files)
}

/// The folder, or the first above it that is there.
fn nearest(folder: &Path) -> PathBuf {
    let there = folder.ancestors().find(|folder| folder.is_dir());
    there.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new(".")).to_path_buf()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_not_made_yet_has_the_room_of_the_one_above() {
        let place = tempfile::tempdir().unwrap();
        let found = room(&place.path().join("a/b")).unwrap();
        assert_eq!(found.taken, 0);
        assert!(found.free > 0 && found.size >= found.free);
        fs::write(place.path().join("state.db"), [0; 100]).unwrap();
        fs::write(place.path().join("state.db-wal"), [0; 10]).unwrap();
        assert_eq!(room(place.path()).unwrap().taken, 110);
        assert_eq!(nearest(Path::new("nothing")), Path::new("."));
    }
}
