//! What is ours on an engine that others use as well, and what a process of ours left behind.
//!
//! Everything that is made carries two labels: the installation (a random number in the state folder) and the process
//! (a random number of its own). The installation's number holds in the folder that it was made for, and is kept with what
//! tells this folder from every copy: its device, its inode and the time of its birth. A copy, which would find none of the
//! locks, gets a number of its own, and so nobody's containers but its own. A process holds a lock on a file of its number for as long as it lives; the kernel lets
//! go of it however the process ends. What carries our installation and a number whose lock can be taken is nobody's, and
//! is removed. Process ids are not used for this: they come again, and mean nothing to another host or after a restart.
//! Another installation has another number, so two servers on one engine never remove what is the other's, and two
//! processes on one state folder see each other's locks.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use dormouse_core::{Error, ErrorCode, Result};

use crate::number::random;

/// The label of the installation.
pub const OWNER: &str = "dormouse.owner";
/// The label of the process.
pub const PROCESS: &str = "dormouse.process";

/// Who we are on the engine.
pub struct Identity {
    owner: String,
    process: String,
    folder: Option<PathBuf>,
    /// Locked as long as this lives.
    _lock: Option<File>,
}

impl Identity {
    /// Says who we are, for as long as this lives. `part` is the folder of the state folder in which it is noted.
    ///
    /// # Errors
    /// `state_unavailable` when the state folder cannot be used.
    pub fn claim(state: Option<&Path>, part: &str) -> Result<Self> {
        let process = random()?;
        let Some(state) = state else {
            return Ok(Self { owner: random()?, process, folder: None, _lock: None });
        };
        let folder = state.join(part);
        let unusable = |error: std::io::Error| {
            Error::new(ErrorCode::StateUnavailable, "the state folder's part for containers cannot be used")
                .with_hint("make the state folder writable")
                .with_source(error)
        };
        fs::create_dir_all(&folder).map_err(unusable)?;
        // One process at a time: nobody sees a lock file that is not locked yet, nor makes another number.
        let gate = File::create(folder.join("gate")).map_err(unusable)?;
        gate.lock().map_err(unusable)?;
        let owner = owner(&folder).map_err(unusable)?;
        forget_dead(&folder);
        let lock = File::create(lock_path(&folder, &process)).map_err(unusable)?;
        lock.try_lock().map_err(|error| unusable(error.into()))?;
        Ok(Self { owner, process, folder: Some(folder), _lock: Some(lock) })
    }

    /// The labels of everything that this process makes.
    pub fn labels(&self) -> HashMap<String, String> {
        HashMap::from([(OWNER.into(), self.owner.clone()), (PROCESS.into(), self.process.clone())])
    }

    /// The number of the installation.
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// The number of this process.
    pub fn process(&self) -> &str {
        &self.process
    }

    /// Whether there is a folder by which what dead processes left is told from what living ones have.
    pub fn lasts(&self) -> bool {
        self.folder.is_some()
    }

    /// Whether a process of this installation is no more: it is not this one, and nobody holds its lock.
    pub fn is_over(&self, process: &str) -> bool {
        process != self.process && self.folder.as_deref().is_some_and(|folder| is_over(folder, process))
    }
}

impl Drop for Identity {
    fn drop(&mut self) {
        if let Some(folder) = &self.folder {
            // What was left behind is found without the file as well: a missing one is a lock that nobody holds.
            let _gone = fs::remove_file(lock_path(folder, &self.process));
        }
    }
}

fn lock_path(folder: &Path, process: &str) -> PathBuf {
    folder.join(format!("{process}.lock"))
}

/// Whether nobody holds the lock of a process. A label that is no number of ours is not looked up as a file.
fn is_over(folder: &Path, process: &str) -> bool {
    if process.is_empty() || !process.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return false;
    }
    let path = lock_path(folder, process);
    match File::open(&path) {
        Ok(file) => {
            let over = file.try_lock().is_ok();
            if over {
                let _gone = fs::remove_file(&path);
            }
            over
        }
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

/// Removes the lock files of processes that are no more.
fn forget_dead(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if let Some(process) = entry.file_name().to_str().and_then(|name| name.strip_suffix(".lock")) {
            let _over = is_over(folder, process);
        }
    }
}

/// The installation's number. It is made anew where there is none, or one that was made for another folder.
fn owner(folder: &Path) -> std::io::Result<String> {
    let path = folder.join("owner");
    let place = place(folder)?;
    match fs::read_to_string(&path) {
        Ok(text) => {
            if let Some((number, of)) = text.trim_end().split_once('\n')
                && of == place
                && is_number(number)
            {
                return Ok(number.to_owned());
            }
            tracing::warn!(
                "the state folder is a copy, or was moved: its containers are not those of the other"
            );
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let fresh = random().map_err(std::io::Error::other)?;
    let temporary = folder.join(format!("{fresh}.new"));
    File::create(&temporary)?.write_all(format!("{fresh}\n{place}\n").as_bytes())?;
    fs::rename(&temporary, &path)?;
    Ok(fresh)
}

/// What tells a folder from every other, also from one with the same content.
fn place(folder: &Path) -> std::io::Result<String> {
    let found = fs::metadata(folder)?;
    // Not every file system knows it.
    let born = found.created().ok().and_then(|born| born.duration_since(std::time::UNIX_EPOCH).ok());
    Ok(format!("{}:{}:{}", found.dev(), found.ino(), born.unwrap_or_default().as_nanos()))
}

fn is_number(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_over_when_its_lock_is_free_and_not_before() {
        let folder = tempfile::tempdir().unwrap();
        let one = Identity::claim(Some(folder.path()), "docker").unwrap();
        let two = Identity::claim(Some(folder.path()), "docker").unwrap();
        assert_eq!(one.owner, two.owner);
        let locks = folder.path().join("docker");
        assert!(!is_over(&locks, &two.process));
        let gone = two.process.clone();
        drop(two);
        assert!(is_over(&locks, &gone));
        assert!(!is_over(&locks, "../owner"));
        assert!(!is_over(&locks, ""));
    }

    #[test]
    fn another_state_folder_is_another_installation() {
        let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let one = Identity::claim(Some(a.path()), "docker").unwrap();
        assert_ne!(one.owner, Identity::claim(Some(b.path()), "docker").unwrap().owner);
        assert_ne!(one.owner, Identity::claim(None, "docker").unwrap().owner);
    }

    #[test]
    fn con_22_a_copy_of_a_state_folder_is_another_installation_and_the_first_stays_what_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let first = Identity::claim(Some(folder.path()), "docker").unwrap().owner.clone();
        let copy = tempfile::tempdir().unwrap();
        fs::create_dir(copy.path().join("docker")).unwrap();
        fs::copy(folder.path().join("docker/owner"), copy.path().join("docker/owner")).unwrap();
        let other = Identity::claim(Some(copy.path()), "docker").unwrap().owner.clone();
        assert_ne!(first, other);
        assert_eq!(Identity::claim(Some(copy.path()), "docker").unwrap().owner, other);
        assert_eq!(Identity::claim(Some(folder.path()), "docker").unwrap().owner, first);
    }

    #[test]
    fn the_lock_files_of_the_dead_are_removed_and_those_of_the_living_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let alive = Identity::claim(Some(folder.path()), "docker").unwrap();
        let locks = folder.path().join("docker");
        let dead = lock_path(&locks, &"0".repeat(32));
        fs::write(&dead, "").unwrap();
        let _second = Identity::claim(Some(folder.path()), "docker").unwrap();
        assert!(!dead.exists() && lock_path(&locks, &alive.process).exists());
    }
}
