//! The shell's files are the instance's: its folders as WASI shows them, through the standard library.
//!
//! Owns: permission bits, which WASI does not have. They are the session's own: kept with its memory, unknown to interpreters.
//! Does not own: links that lead on (bashkit follows them), `/etc`, `/proc`, `/dev/zero` and `/usr/bin` (bashkit's own).

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use bashkit::{DirEntry, FileType, FsBackend, Metadata, Result, async_trait};
use dormouse_contract::system;

/// Folders whose files are programs without being made so: a path, or its end.
const PROGRAMS: [&str; 2] = ["/workspace/.local/bin", "node_modules/.bin"];
/// Where skills are mounted among the sandbox's own files.
const SKILLS: &str = "/workspace/skills";
/// The folders that are the sandbox's own; all others are mounts or the shell's.
const OWN: [&str; 2] = ["/workspace", "/tmp"];

/// Bytes that one read of `/dev/urandom` yields (1 MiB): files are read whole.
const RANDOM: usize = 1 << 20;

/// A device: what it reads as; none: it is none.
fn device(path: &Path) -> Option<fn() -> io::Result<Vec<u8>>> {
    match path.to_str()? {
        "/dev/null" => Some(|| Ok(Vec::new())),
        "/dev/urandom" | "/dev/random" => Some(|| {
            let mut bytes = vec![0; RANDOM];
            system::random(&mut bytes).map(|()| bytes)
        }),
        _ => None,
    }
}

/// What bash would connect to. Here `curl` and `wget` do, and programs of other languages.
fn is_connection(path: &Path) -> bool {
    path.starts_with("/dev/tcp") || path.starts_with("/dev/udp")
}

/// Says so, if a path would be a connection.
fn refuse_connection(path: &Path) -> io::Result<()> {
    match is_connection(path) {
        true => Err(io::Error::other("a redirection opens no connection in a sandbox; use curl or wget")),
        false => Ok(()),
    }
}

/// How a device is described.
fn of_device() -> Metadata {
    let (modified, created) = (SystemTime::UNIX_EPOCH, SystemTime::UNIX_EPOCH);
    Metadata { file_type: FileType::File, size: 0, mode: 0o666, modified, created }
}

/// The instance's files.
#[derive(Default)]
pub(crate) struct OwnFiles {
    modes: Mutex<HashMap<PathBuf, u32>>,
}

impl OwnFiles {
    fn modes(&self) -> MutexGuard<'_, HashMap<PathBuf, u32>> {
        self.modes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn describe(&self, path: &Path, found: &fs::Metadata) -> Metadata {
        let kind = found.file_type();
        let (file_type, usual) = if kind.is_dir() {
            (FileType::Directory, 0o755)
        } else if kind.is_symlink() {
            (FileType::Symlink, 0o777)
        } else if is_program(path) {
            (FileType::File, 0o755)
        } else {
            (FileType::File, 0o644)
        };
        let modified = found.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        let mode = self.modes().get(path).copied().unwrap_or(usual);
        let size = if kind.is_dir() { 4096 } else { found.len() };
        Metadata { file_type, size, mode, modified, created: modified }
    }

    /// A name is gone, with all below it.
    fn forget(&self, path: &Path) {
        self.modes().retain(|known, _| !known.starts_with(path));
    }

    fn moved(&self, from: &Path, to: &Path) {
        let mut modes = self.modes();
        modes.retain(|known, _| !known.starts_with(to));
        let moved: Vec<(PathBuf, u32)> = modes
            .iter()
            .filter_map(|(known, mode)| Some((to.join(known.strip_prefix(from).ok()?), *mode)))
            .collect();
        modes.retain(|known, _| !known.starts_with(from));
        // Joining an empty rest leaves a slash at the end, which compares as nothing.
        modes.extend(moved.into_iter().map(|(path, mode)| (path.components().collect(), mode)));
    }
}

fn is_program(path: &Path) -> bool {
    path.parent().is_some_and(|parent| PROGRAMS.iter().any(|folder| parent.ends_with(folder)))
        || path.starts_with(SKILLS)
        || !OWN.iter().any(|folder| path.starts_with(folder))
}

#[async_trait]
impl FsBackend for OwnFiles {
    async fn read(&self, path: &Path) -> Result<Vec<u8>> {
        refuse_connection(path)?;
        if let Some(read) = device(path) {
            return Ok(read()?);
        }
        Ok(fs::read(path)?)
    }

    /// A file that does not fit stays as it was: room is made before anything is written.
    async fn write(&self, path: &Path, content: &[u8]) -> Result<()> {
        refuse_connection(path)?;
        if device(path).is_some() {
            return Ok(());
        }
        let mut file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
        let (before, after) = (file.metadata()?.len(), content.len() as u64);
        if after > before {
            let made = file.set_len(after);
            if let Err(error) = made {
                let _ = file.set_len(before);
                return Err(error.into());
            }
        }
        file.write_all(content)?;
        if after < before {
            file.set_len(after)?;
        }
        Ok(())
    }

    async fn append(&self, path: &Path, content: &[u8]) -> Result<()> {
        refuse_connection(path)?;
        if device(path).is_some() {
            return Ok(());
        }
        let mut file = OpenOptions::new().append(true).create(true).open(path)?;
        Ok(file.write_all(content)?)
    }

    async fn mkdir(&self, path: &Path, recursive: bool) -> Result<()> {
        Ok(if recursive { fs::create_dir_all(path) } else { fs::create_dir(path) }?)
    }

    async fn remove(&self, path: &Path, recursive: bool) -> Result<()> {
        let folder = fs::symlink_metadata(path)?.is_dir();
        match (folder, recursive) {
            (false, _) => fs::remove_file(path)?,
            (true, false) => fs::remove_dir(path)?,
            (true, true) => fs::remove_dir_all(path)?,
        }
        self.forget(path);
        Ok(())
    }

    async fn stat(&self, path: &Path) -> Result<Metadata> {
        refuse_connection(path)?;
        if device(path).is_some() {
            return Ok(of_device());
        }
        Ok(self.describe(path, &fs::symlink_metadata(path)?))
    }

    async fn read_dir(&self, path: &Path) -> Result<Vec<DirEntry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            // What vanishes while it is listed is not there.
            let Ok(found) = entry.metadata() else { continue };
            let metadata = self.describe(&entry.path(), &found);
            entries.push(DirEntry { name, metadata });
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    async fn exists(&self, path: &Path) -> Result<bool> {
        refuse_connection(path)?;
        Ok(device(path).is_some() || fs::symlink_metadata(path).is_ok())
    }

    async fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        fs::rename(from, to)?;
        self.moved(from, to);
        Ok(())
    }

    async fn copy(&self, from: &Path, to: &Path) -> Result<()> {
        if from == to {
            return Err(io::Error::other("they are the same file").into());
        }
        if fs::symlink_metadata(from)?.is_symlink() {
            return self.symlink(&fs::read_link(from)?, to).await;
        }
        let content = self.read(from).await?;
        self.write(to, &content).await?;
        let mode = self.modes().get(from).copied();
        match mode {
            Some(mode) => drop(self.modes().insert(to.to_path_buf(), mode)),
            None => drop(self.modes().remove(to)),
        }
        Ok(())
    }

    async fn symlink(&self, target: &Path, link: &Path) -> Result<()> {
        Ok(system::symlink(target, link)?)
    }

    async fn read_link(&self, path: &Path) -> Result<PathBuf> {
        Ok(fs::read_link(path)?)
    }

    async fn chmod(&self, path: &Path, mode: u32) -> Result<()> {
        fs::symlink_metadata(path)?;
        self.modes().insert(path.to_path_buf(), mode & 0o7777);
        Ok(())
    }

    async fn set_modified_time(&self, path: &Path, time: SystemTime) -> Result<()> {
        Ok(system::set_modified_time(path, time)?)
    }
}
