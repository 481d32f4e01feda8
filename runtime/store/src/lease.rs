//! The right to change one sandbox: a locked file, which the kernel unlocks when its process ends.
//!
//! The file is there while somebody holds the lease. Who gives it back removes the file first, while it is still
//! locked. Another may have opened that file just before; it locks a file without a name then, sees that the name now
//! belongs to another file or to none, and begins anew.
//!
//! Who waits for a lease says so by the length of its file: it is 0 when it is taken, and 1 once somebody wants it. A length
//! takes no room on the disk, so that can be said where the disk is full.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use dormouse_core::Result;
use dormouse_core::sandbox::{Lease, Leased};

use crate::folder::{lock_file, unavailable};

/// Times that another may give a lease back between our opening the file and our locking it.
const TRIES: usize = 64;

/// A lease that is held.
pub(crate) struct Held {
    path: PathBuf,
    /// Unlocked when it is closed, after the name is gone.
    file: File,
}

impl Held {
    /// Takes the lease whose file this is. None: another holds it, in this process or in another.
    ///
    /// # Errors
    /// `state_unavailable`.
    pub(crate) fn take(path: &Path) -> Result<Option<Self>> {
        let fails = |error| unavailable(path, "it cannot be locked", error);
        for _ in 0..TRIES {
            let file = lock_file(path).map_err(fails)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(fails(error)),
            }
            if let Some(wishes) = named(path, &file).map_err(fails)? {
                // What somebody wanted of a process that has died is no wish of this one.
                if wishes > 0 {
                    file.set_len(0).map_err(fails)?;
                }
                return Ok(Some(Self { path: path.to_path_buf(), file }));
            }
        }
        Ok(None)
    }

    /// As the port has it.
    pub(crate) fn boxed(self) -> Lease {
        Box::new(self)
    }
}

impl Leased for Held {
    fn is_wanted(&self) -> bool {
        self.file.metadata().is_ok_and(|there| there.len() > 0)
    }
}

/// Whether somebody holds the lease whose file this is. Who takes it in the same moment may have to try again.
pub(crate) fn is_held(path: &Path) -> bool {
    let held = |file: File| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
    File::open(path).is_ok_and(held)
}

/// Tells whoever holds the lease that it is wanted. Where that cannot be said it is waited for all the same.
pub(crate) fn want(path: &Path) {
    // Not made: where there is no file nobody holds it.
    let _ = OpenOptions::new().write(true).open(path).and_then(|file| file.set_len(1));
}

impl Drop for Held {
    fn drop(&mut self) {
        // A name that stays is taken away by the next lease or by a sweep.
        let _ = fs::remove_file(&self.path);
    }
}

/// The length of the file, if the name still belongs to it.
fn named(path: &Path, file: &File) -> io::Result<Option<u64>> {
    let ours = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(there) => Ok((there.ino() == ours.ino() && there.dev() == ours.dev()).then_some(ours.len())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn one_holds_it_at_a_time_and_nothing_is_left() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a");
        let held = Held::take(&path).unwrap().unwrap();
        assert!(Held::take(&path).unwrap().is_none());
        drop(held);
        assert!(!path.exists());
        drop(Held::take(&path).unwrap().unwrap());
    }

    #[test]
    fn a_lease_tells_whether_it_is_held_and_wanted() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a");
        want(&path);
        assert!(!path.exists() && !is_held(&path), "nothing is made for a wish");
        let held = Held::take(&path).unwrap().unwrap();
        assert!(is_held(&path) && !held.is_wanted());
        want(&path);
        assert!(held.is_wanted());
        drop(held);
        assert!(!is_held(&path));
        // A process that died when its lease was wanted.
        fs::write(&path, "1").unwrap();
        assert!(!is_held(&path));
        assert!(!Held::take(&path).unwrap().unwrap().is_wanted());
    }

    #[test]
    fn a_file_that_a_dead_process_left_is_no_obstacle() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a");
        fs::write(&path, "").unwrap();
        assert!(Held::take(&path).unwrap().is_some());
    }

    #[test]
    fn taking_and_giving_back_at_once_never_lets_two_in() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a");
        let (inside, taken) = (AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..2000 {
                        if let Some(held) = Held::take(&path).unwrap() {
                            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                            taken.fetch_add(1, Ordering::SeqCst);
                            inside.fetch_sub(1, Ordering::SeqCst);
                            drop(held);
                        }
                    }
                });
            }
        });
        assert!(taken.load(Ordering::SeqCst) > 0);
    }
}
