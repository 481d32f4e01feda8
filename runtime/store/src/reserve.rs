//! Room on the disk that is kept for removing: on a disk that is full, removing takes some before it gives any. And files, on one
//! that takes no more of them: who removes needs one for a lease, and two for the log where nobody else has the database open.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{FallocateFlags, fallocate, fstatvfs, statvfs};
use rustix::io::Errno;

/// Bytes of the reserve: the log of one sandbox's removal and of one step of a sweep, several times.
const MOST: u64 = 4 << 20;
/// Where less is free, the log is kept short (64 MiB).
const LOW: u64 = 64 << 20;
/// Less is no help.
const LEAST: u64 = 128 << 10;
/// The reserve takes at most this part of what is free, unless it is what was given up before.
const PART: u64 = 8;
/// Bytes that are written at once where the system cannot set room aside.
const PIECE: usize = 64 << 10;

/// What the names of empty files beside the reserve end with, which are there to be removed with it.
const BESIDE: [&str; 2] = ["1", "2"];

/// A file that is there to be removed.
#[derive(Clone, Debug)]
pub(crate) struct Reserve(pub(crate) PathBuf);

impl Reserve {
    /// Sets room aside, if there is none yet and enough is free. What keeps it from that is in the log: the folder can be used
    /// all the same.
    pub(crate) fn fill(&self) {
        self.fill_with(PART);
    }

    /// Sets aside again what is left of what was given up.
    pub(crate) fn refill(&self) {
        self.fill_with(1);
    }

    fn fill_with(&self, part: u64) {
        let done = self.try_fill(part).and_then(|()| {
            self.beside().try_for_each(|path| {
                OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path).map(drop)
            })
        });
        if let Err(error) = done {
            tracing::debug!(%error, "no room is set aside for removing from a full disk");
        }
    }

    fn try_fill(&self, part: u64) -> io::Result<()> {
        if fs::metadata(&self.0).is_ok_and(|found| found.len() > 0) {
            return Ok(());
        }
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&self.0)?;
        let disk = fstatvfs(&file)?;
        let bytes = MOST.min(disk.f_bavail.saturating_mul(disk.f_frsize) / part);
        let done =
            if bytes < LEAST { Err(io::ErrorKind::StorageFull.into()) } else { take(&mut file, bytes) };
        // An empty one would look as if it were there.
        done.inspect_err(|_| drop(fs::remove_file(&self.0)))
    }

    /// Looks whether so many bytes may be added to the folder: they are free, and what is set aside is left, or twice as much is
    /// free. Once it was given up, it is for those who remove. What keeps them from it: the bytes needed and those free.
    pub(crate) fn check_room(&self, bytes: u64) -> Result<(), (u64, u64)> {
        let needed = bytes.max(self.needs());
        // A disk that does not say what is free says so when it is written to.
        match self.free() {
            Some(free) if free < needed => Err((needed, free)),
            _ => Ok(()),
        }
    }

    /// Bytes that are to stay free where nothing is set aside.
    pub(crate) fn needs(&self) -> u64 {
        let set_aside = fs::metadata(&self.0).is_ok_and(|found| found.len() > 0);
        if set_aside { 0 } else { 2 * MOST }
    }

    /// Whether so little is free that the log is to be kept short.
    pub(crate) fn is_low(&self) -> bool {
        self.free().is_some_and(|free| free < LOW)
    }

    fn free(&self) -> Option<u64> {
        let disk = self.0.parent().and_then(|folder| statvfs(folder).ok())?;
        Some(disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    /// Gives the room and the files up. False: there was nothing.
    pub(crate) fn give_up(&self) -> bool {
        let given = self.beside().filter(|path| fs::remove_file(path).is_ok()).count();
        fs::remove_file(&self.0).is_ok() || given > 0
    }

    fn beside(&self) -> impl Iterator<Item = PathBuf> {
        BESIDE.into_iter().map(|end| self.0.with_extension(end))
    }
}

/// What a process has given up of the reserve. It is set aside again when this is dropped.
pub(crate) struct GivenUp {
    reserve: Reserve,
    is_given: AtomicBool,
}

impl GivenUp {
    pub(crate) fn new(reserve: Reserve) -> Self {
        Self { reserve, is_given: AtomicBool::new(false) }
    }

    /// Gives up what is there. False: there was nothing.
    pub(crate) fn give_up(&self) -> bool {
        let given = self.reserve.give_up();
        self.is_given.fetch_or(given, Ordering::Relaxed);
        given
    }

    /// Whether something was given up.
    pub(crate) fn is_given(&self) -> bool {
        self.is_given.load(Ordering::Relaxed)
    }
}

impl Drop for GivenUp {
    fn drop(&mut self) {
        if self.is_given() {
            self.reserve.refill();
        }
    }
}

fn take(file: &mut File, bytes: u64) -> io::Result<()> {
    match fallocate(&*file, FallocateFlags::empty(), 0, bytes) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => write_out(file, bytes),
        done => Ok(done?),
    }
}

/// Writes bytes that do not shrink, for disks that pack what is written.
fn write_out(file: &mut File, bytes: u64) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    let mut pieces = blake3::Hasher::new().finalize_xof();
    for _ in 0..bytes / PIECE as u64 {
        pieces.fill(&mut piece);
        file.write_all(&piece)?;
    }
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_set_aside_once_and_given_up_once() {
        let place = tempfile::tempdir().unwrap();
        let reserve = Reserve(place.path().join("reserve"));
        assert!(!reserve.give_up());
        assert!(
            reserve.check_room(0).is_ok() && reserve.check_room(u64::MAX).is_err(),
            "there is much room here"
        );
        reserve.fill();
        let found = fs::metadata(&reserve.0).unwrap();
        assert!(found.len() >= LEAST && found.len() <= MOST);
        assert!(std::os::unix::fs::MetadataExt::blocks(&found) * 512 >= found.len(), "it takes no room");
        reserve.fill();
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 3);
        assert!(reserve.give_up() && !reserve.give_up());
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_was_given_up_is_set_aside_again_at_the_end() {
        let place = tempfile::tempdir().unwrap();
        let reserve = Reserve(place.path().join("reserve"));
        let files = || fs::read_dir(place.path()).unwrap().count();
        drop(GivenUp::new(reserve.clone()));
        let given = GivenUp::new(reserve.clone());
        assert!(!given.give_up() && !given.is_given());
        drop(given);
        assert_eq!(files(), 0, "nothing was given up");
        reserve.fill();
        let given = GivenUp::new(reserve);
        assert!(given.give_up() && given.is_given());
        assert_eq!(files(), 0);
        drop(given);
        assert_eq!(files(), 3);
    }

    #[test]
    fn where_room_cannot_be_set_aside_it_is_written() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("reserve");
        write_out(&mut File::create(&path).unwrap(), 2 * PIECE as u64).unwrap();
        let written = fs::read(&path).unwrap();
        assert_eq!(written.len(), 2 * PIECE);
        assert!(zstd::bulk::compress(&written, 19).unwrap().len() >= written.len());
    }
}
