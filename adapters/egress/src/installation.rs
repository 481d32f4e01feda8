//! The key of an installation, from which placeholders of secrets are made: a file of 32 bytes beside its state.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use dormouse_core::{Error, ErrorCode, Result};

/// The key in this file, which is made for its owner alone when there is none. Of processes that make it at the same time, one does.
///
/// # Errors
/// `state_unavailable` for a file that cannot be read or made, and for one that has not 32 bytes; `internal` without randomness.
pub fn kept_key(path: &Path) -> Result<[u8; 32]> {
    let told = |error: io::Error| {
        Error::new(
            ErrorCode::StateUnavailable,
            format!("the key `{}` cannot be read or made: {error}", path.display()),
        )
        .with_hint("secrets of the network need a state folder that can be written")
    };
    match read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        read => return read.map_err(told),
    }
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(|error| Error::internal("the system has no randomness", error))?;
    let draft = path.with_extension(format!("{}.draft", std::process::id()));
    let written =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft).and_then(|mut file| {
            file.write_all(&key)?;
            file.sync_all()?;
            // Where another process was first, its key counts.
            match fs::hard_link(&draft, path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                linked => linked,
            }
        });
    let _ = fs::remove_file(&draft);
    written.and_then(|()| read(path)).map_err(told)
}

fn read(path: &Path) -> io::Result<[u8; 32]> {
    let mut key = Vec::new();
    File::open(path)?.take(33).read_to_end(&mut key)?;
    key.try_into().map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it has not 32 bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_once_and_kept() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("key");
        let made = kept_key(&path).unwrap();
        assert_eq!(kept_key(&path).unwrap(), made);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
        fs::write(&path, "short").unwrap();
        assert_eq!(kept_key(&path).unwrap_err().code(), ErrorCode::StateUnavailable);
    }
}
