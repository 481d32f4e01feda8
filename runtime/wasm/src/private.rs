//! Files of the cache that nobody but this user can have written.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::Path;

use dormouse_core::{Error, ErrorCode, Result};

/// Writes a file whole or not at all, in a folder of mode 0700, which is made if need be. With a bound, the oldest files
/// of the folder go until that many bytes are left.
///
/// # Errors
/// Those of the file system; nothing is left behind.
pub(crate) fn write(path: &Path, bytes: &[u8], bound: Option<u64>) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let draft = folder.join(format!(".{name}.{}", std::process::id()));
    fs::write(&draft, bytes).and_then(|()| fs::rename(&draft, path)).inspect_err(|_| {
        let _ = fs::remove_file(&draft);
    })?;
    if let Some(bound) = bound {
        prune(folder, bound, path);
    }
    Ok(())
}

/// Removes the oldest files until `bound` bytes are left. `newest` stays.
fn prune(folder: &Path, bound: u64, newest: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut files: Vec<_> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let metadata = entry.metadata().ok()?;
            Some((metadata.modified().ok()?, metadata.len(), entry.path()))
        })
        .collect();
    files.sort();
    let mut total: u64 = files.iter().map(|(_, size, _)| size).sum();
    for (_, size, path) in files {
        if total <= bound {
            return;
        }
        if path != newest && fs::remove_file(&path).is_ok() {
            total -= size;
        }
    }
}

/// Refuses what another user owns or can write.
pub(crate) fn check(path: &Path) -> Result<()> {
    let refuse = |why: &str| {
        Error::new(ErrorCode::Internal, format!("`{}` is not used: {why}", path.display()))
            .with_hint("remove it; it holds what was made for you, and must be private to you")
    };
    let metadata =
        fs::symlink_metadata(path).map_err(|error| refuse("it cannot be examined").with_source(error))?;
    if metadata.file_type().is_symlink() {
        return Err(refuse("it is a symbolic link"));
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(refuse("another user owns it"));
    }
    if metadata.mode() & 0o022 != 0 {
        return Err(refuse("others can write it"));
    }
    Ok(())
}
