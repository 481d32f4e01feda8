//! What the disk of a state folder has, before the folder is opened or made.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::statvfs;

/// Bytes that a folder's database may take without filling its disk up: what it takes, and what is free for this user.
///
/// # Errors
/// What keeps the disk from answering.
pub fn room(folder: &Path) -> io::Result<(u64, u64)> {
    let length = |file: &str| match fs::metadata(folder.join(file)) {
        Ok(found) => Ok(found.len()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error),
    };
    // What is in the log will be in the database.
    let taken = length("state.db")?.saturating_add(length("state.db-wal")?);
    let disk = statvfs(nearest(folder))?;
    Ok((taken, disk.f_bavail.saturating_mul(disk.f_frsize)))
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
        let (taken, free) = room(&place.path().join("a/b")).unwrap();
        assert_eq!(taken, 0);
        assert!(free > 0);
        fs::write(place.path().join("state.db"), [0; 100]).unwrap();
        fs::write(place.path().join("state.db-wal"), [0; 10]).unwrap();
        assert_eq!(room(place.path()).unwrap().0, 110);
        assert_eq!(nearest(Path::new("nothing")), Path::new("."));
    }
}
