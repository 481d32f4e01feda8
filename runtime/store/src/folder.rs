//! The folder itself: made for one user, refused when others can write it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use dormouse_core::{Error, ErrorCode, Result};

use crate::disk;
use crate::fault::{self, broken};
use crate::notes::Notes;
use crate::reserve::Reserve;

/// Held while a process sweeps; its content is the bytes that were used on the disk after the last sweep.
const SWEEP_LOCK: &str = "sweep.lock";

/// The places of a state folder.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    root: PathBuf,
}

impl Folder {
    /// Makes it with mode 0700, or takes the one that is there if only this user can write it.
    ///
    /// # Errors
    /// `state_unavailable`.
    pub(crate) fn open(root: &Path) -> Result<Self> {
        let folder = Self { root: root.to_path_buf() };
        private(root)?;
        private(&folder.locks())?;
        Ok(folder)
    }

    /// The folder.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The database.
    pub(crate) fn database(&self) -> PathBuf {
        self.root.join("state.db")
    }

    /// Where the leases are.
    pub(crate) fn locks(&self) -> PathBuf {
        self.root.join("locks")
    }

    /// What callers have written about checkpoints.
    pub(crate) fn notes(&self) -> Notes {
        Notes(self.root.join("notes"))
    }

    /// Room that is kept for removing.
    pub(crate) fn reserve(&self) -> Reserve {
        Reserve(self.root.join("reserve"))
    }

    /// Sets aside what removing needs on a full disk. The lock of sweeps is made too, so that a sweep finds it on one that takes no
    /// more files.
    pub(crate) fn set_aside(&self) {
        self.reserve().fill();
        if let Err(error) = lock_file(&self.root.join(SWEEP_LOCK)) {
            tracing::debug!(%error, "the lock of sweeps is not made");
        }
    }

    /// Takes the lock of sweeps. None: another has it.
    pub(crate) fn sweeping(&self) -> Result<Option<File>> {
        self.try_locked(SWEEP_LOCK)
    }

    /// Notes in the lock of sweeps what is used on the disk after one. A note that cannot be made is no harm: the next sweep comes
    /// a little sooner.
    pub(crate) fn note_swept(&self, lock: &File, used: u64) {
        let note = format!("{used}\n");
        let written = lock.set_len(0).and_then(|()| lock.write_all_at(note.as_bytes(), 0));
        if let Err(error) = written {
            tracing::debug!(%error, "how much a sweep has left is not noted");
        }
    }

    /// What was used on the disk after the last sweep, if there was one.
    pub(crate) fn swept(&self) -> Option<u64> {
        fs::read_to_string(self.root.join(SWEEP_LOCK)).ok()?.trim().parse().ok()
    }

    /// A lock of the folder as a whole, which is waited for. Dropping it gives it back.
    pub(crate) fn locked(&self, name: &str) -> Result<File> {
        let path = self.root.join(name);
        let file = lock_file(&path).map_err(|error| unavailable(&path, "it cannot be opened", error))?;
        file.lock().map_err(|error| unavailable(&path, "it cannot be locked", error))?;
        Ok(file)
    }

    /// A lock of the folder as a whole. None: another has it.
    fn try_locked(&self, name: &str) -> Result<Option<File>> {
        let path = self.root.join(name);
        let file = lock_file(&path).map_err(|error| unavailable(&path, "it cannot be opened", error))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(error)) => Err(unavailable(&path, "it cannot be locked", error)),
        }
    }

    /// Makes the database if there is none: `fill` fills a draft, which takes its name when it is whole and on the disk.
    /// So a database that is short or empty is known to be damaged. The caller holds a lock.
    ///
    /// # Errors
    /// What `fill` says. `state_damaged` when only the log of a database is there.
    pub(crate) fn make_database(&self, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        let path = self.database();
        if path.exists() {
            return Ok(());
        }
        if self.root.join("state.db-wal").exists() {
            return Err(broken("its log is there, the database itself is not"));
        }
        let draft = self.root.join("state.new");
        let fails = |error| unavailable(&path, "it cannot be made", error);
        for left in [&draft, &self.root.join("state.new-journal")] {
            match fs::remove_file(left) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(fails(error)),
                _ => {}
            }
        }
        // Nobody else reads it, nor what SQLite makes beside it, which takes over its mode.
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft).map_err(fails)?;
        fill(&draft)?;
        fs::rename(&draft, &path)
            .and_then(|()| File::open(&self.root)?.sync_all())
            .and_then(|()| match File::open(self.root.join("..")) {
                // Who may not look into it has not made the folder either.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
                parent => parent?.sync_all(),
            })
            .map_err(fails)
    }
}

/// Opens a file that is only ever locked.
pub(crate) fn lock_file(path: &Path) -> io::Result<File> {
    let open =
        || OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path);
    match (open(), path.parent()) {
        // Somebody has tidied up.
        (Err(error), Some(folder)) if error.kind() == io::ErrorKind::NotFound => {
            DirBuilder::new().mode(0o700).create(folder)?;
            open()
        }
        (opened, _) => opened,
    }
}

/// The error for a place in the state folder that cannot be used. Where the folder lies is the operator's, and not told to callers.
pub(crate) fn unavailable(path: &Path, why: &str, error: io::Error) -> Error {
    tracing::debug!(path = %path.display(), %error, "{why}");
    let name = path.file_name().unwrap_or(path.as_os_str()).display();
    cannot_be_used(&format!("`{name}` of the state folder"), path, why, error)
}

fn cannot_be_used(shown: &str, path: &Path, why: &str, error: io::Error) -> Error {
    let folder = path.parent().unwrap_or(path);
    let hint = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            let told = if disk::has_inodes(folder, 1) { fault::full_disk() } else { fault::no_inodes() };
            return told.with_source(error);
        }
        io::ErrorKind::ReadOnlyFilesystem => return fault::read_only().with_source(error),
        // It is there, and this user may only read it.
        io::ErrorKind::PermissionDenied if folder.is_dir() => return fault::read_only().with_source(error),
        io::ErrorKind::PermissionDenied => "choose a state folder that you can write",
        _ => "look at the folder, or choose another state folder",
    };
    Error::new(ErrorCode::StateUnavailable, format!("{shown} is not used: {why}"))
        .with_hint(hint)
        .with_source(error)
}

fn private(path: &Path) -> Result<()> {
    let refuse = |why: &str| {
        Error::new(ErrorCode::StateUnavailable, format!("`{}` is not used: {why}", path.display()))
            .with_hint("a state folder is private: its owner runs Dormouse, and its mode is 0700")
    };
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(|error| {
        cannot_be_used(&format!("`{}`", path.display()), path, "it cannot be made", error)
    })?;
    let metadata =
        fs::symlink_metadata(path).map_err(|error| refuse("it cannot be examined").with_source(error))?;
    if !metadata.is_dir() {
        return Err(refuse("it is not a folder, or it is a link"));
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(refuse("another user owns it"));
    }
    if metadata.mode() & 0o022 != 0 {
        return Err(refuse("others can write it"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn a_new_folder_is_for_its_owner_only() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::open(&place.path().join("a/b")).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!(mode(&folder.root), 0o700);
        assert_eq!(mode(&folder.locks()), 0o700);
        folder
            .make_database(|draft| fs::write(draft, "whole").map_err(|error| Error::internal("test", error)))
            .unwrap();
        assert_eq!(mode(&folder.database()), 0o600);
    }

    #[test]
    fn a_database_that_was_not_finished_is_begun_anew_and_a_lost_one_is_not_replaced() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::open(place.path()).unwrap();
        let fails = |_: &Path| Err(Error::new(ErrorCode::StateUnavailable, "test"));
        folder.make_database(fails).unwrap_err();
        assert!(!folder.database().exists());
        let empty = |draft: &Path| {
            assert_eq!(fs::read(draft).unwrap(), b"");
            Ok(())
        };
        folder.make_database(empty).unwrap();
        fs::rename(folder.database(), place.path().join("state.db-wal")).unwrap();
        let error = folder.make_database(|_| panic!("it would replace what is lost")).unwrap_err();
        assert_eq!(error.code(), ErrorCode::StateDamaged);
    }

    #[test]
    fn a_folder_that_others_can_write_and_a_link_are_refused() {
        let place = tempfile::tempdir().unwrap();
        let open = place.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o770)).unwrap();
        let link = place.path().join("link");
        symlink(place.path(), &link).unwrap();
        let file = place.path().join("file");
        fs::write(&file, "").unwrap();
        for bad in [open, link, file] {
            let error = Folder::open(&bad).unwrap_err();
            assert_eq!(error.code(), ErrorCode::StateUnavailable, "{error}");
            assert!(error.hint().is_some());
        }
    }
}
