//! The folder itself: made for one user, refused when others can write it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use dormouse_core::{Error, ErrorCode, Result};

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
        folder.empty_database()?;
        Ok(folder)
    }

    /// The database.
    pub(crate) fn database(&self) -> PathBuf {
        self.root.join("state.db")
    }

    /// Where the leases are.
    pub(crate) fn locks(&self) -> PathBuf {
        self.root.join("locks")
    }

    /// A lock of the folder as a whole, which is waited for. Dropping it gives it back.
    pub(crate) fn locked(&self, name: &str) -> Result<File> {
        let path = self.root.join(name);
        let file = lock_file(&path).map_err(|error| unavailable(&path, "it cannot be opened", error))?;
        file.lock().map_err(|error| unavailable(&path, "it cannot be locked", error))?;
        Ok(file)
    }

    /// A lock of the folder as a whole. None: another has it.
    pub(crate) fn try_locked(&self, name: &str) -> Result<Option<File>> {
        let path = self.root.join(name);
        let file = lock_file(&path).map_err(|error| unavailable(&path, "it cannot be opened", error))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(error)) => Err(unavailable(&path, "it cannot be locked", error)),
        }
    }

    /// Makes the file of the database, so that nobody else can read it and its name is on the disk. It is opened here
    /// only when it is new: closing a file that SQLite has open would take this process's locks away.
    fn empty_database(&self) -> Result<()> {
        let path = self.database();
        if path.exists() {
            return Ok(());
        }
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        let above = self.root.join("..");
        let kept = made
            .and_then(|file| file.sync_all())
            .and_then(|()| File::open(&self.root)?.sync_all())
            .and_then(|()| File::open(above)?.sync_all());
        match kept {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(unavailable(&path, "it cannot be made", error))
            }
            _ => Ok(()),
        }
    }
}

/// Opens a file that is only ever locked.
pub(crate) fn lock_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// The error for a place that cannot be used.
pub(crate) fn unavailable(path: &Path, why: &str, error: io::Error) -> Error {
    let hint = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "make room on its disk",
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            "choose a state folder that you can write"
        }
        _ => "look at the folder, or choose another state folder",
    };
    Error::new(ErrorCode::StateUnavailable, format!("`{}` is not used: {why}", path.display()))
        .with_hint(hint)
        .with_source(error)
}

fn private(path: &Path) -> Result<()> {
    let refuse = |why: &str| {
        Error::new(ErrorCode::StateUnavailable, format!("`{}` is not used: {why}", path.display()))
            .with_hint("a state folder is private: its owner runs Dormouse, and its mode is 0700")
    };
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(|error| unavailable(path, "it cannot be made", error))?;
    let metadata =
        fs::symlink_metadata(path).map_err(|error| refuse("it cannot be examined").with_source(error))?;
    if !metadata.is_dir() {
        return Err(refuse("it is no folder of its own"));
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
        assert_eq!(mode(&folder.database()), 0o600);
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
