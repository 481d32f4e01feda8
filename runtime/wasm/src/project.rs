//! Opening a project before a snippet runs in it: search paths, the bootstrap file, `container()`.
//!
//! Opening is a script of ours for each language (`project/*`), evaluated like a snippet. What it leaves is saved as a
//! checkpoint, so that the next run in the same project only restores it. A saved state belongs to the guest and to what
//! else the bootstrap file could have seen, and it is used as long as every file that it looked at is what it was.

mod stamp;

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use dormouse_core::grants::WallClock;
use dormouse_core::{Callbacks, Error, ErrorCode, GuestName, Outcome, Project, Result, RunContext, Status};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use self::stamp::Stamp;
use crate::checkpoint;
use crate::disk::{LeftFiles, OwnFiles, Trace};
use crate::hex::hex;
use crate::instance::{Instance, PROJECT_SCRIPT};
use crate::private::{Durability, Folder};
use crate::ready::Ready;
use crate::saved::SavedInterpreter;
use crate::task::Task;

/// The global through which the script learns what to open.
const ARGUMENT: &str = "__dormouse_project__";
/// Saved states kept in memory; the one that was not used for longest goes first.
const KEPT: usize = 8;
/// Bytes of saved states kept on disk; the oldest go first.
const STORED: u64 = 512 << 20;
/// Largest state that is saved, in pages (64 MiB). A larger one costs more to restore than it is worth.
const MOST_PAGES: usize = 16_384;
/// Bytes of files that are kept with a state.
const MOST_BYTES: u64 = 16 << 20;

/// The states of opened projects.
pub(crate) struct Projects {
    folder: PathBuf,
    /// Most recently used last.
    kept: Mutex<Vec<(String, Arc<Opened>)>>,
}

/// A project as it was when it had been opened.
struct Opened {
    stamp: Stamp,
    state: SavedInterpreter,
    /// The own files that the bootstrap file left. Such a project is kept in memory only.
    files: Option<LeftFiles>,
}

impl Projects {
    /// Those kept below a cache folder.
    pub(crate) fn new(cache: &Path) -> Self {
        Self { folder: cache.join("projects"), kept: Mutex::default() }
    }

    /// Opens the project in an instance that has not run: from a saved state, else anew. The outcome is that of a
    /// bootstrap file that failed; the instance is of no use then.
    ///
    /// # Errors
    /// Only what a grant names and the host does not have. That a state cannot be saved goes to the log.
    pub(crate) async fn enter(
        &self,
        project: &Project,
        request: &Task,
        ready: &Ready,
        instance: &mut Instance,
        own: &OwnFiles,
    ) -> Result<Option<Outcome>> {
        let Some(script) = script(&request.guest) else { return Ok(None) };
        let key = key(script, project, request, ready);
        // What a bootstrap file leaves in a sandbox's own files is the sandbox's, and is nobody else's state.
        let fresh = matches!(own, OwnFiles::Fresh);
        if let Some(key) = &key
            && let Some(opened) = self.find(key, &project.source)
            && (fresh || opened.files.is_none())
        {
            checkpoint::restore(ready, instance, &opened.state).await?;
            if let Some(files) = &opened.files {
                instance.begin_with(files);
            }
            return Ok(None);
        }
        instance.trace((fresh && key.is_some()).then(|| Trace::new(Project::TARGET)));
        let failed = open(script, project, request, instance, own).await?;
        let trace = instance.trace(None);
        if failed.is_none()
            && let Some(key) = key
            && let Some(names) = trace.and_then(Trace::paths)
        {
            // Open files are closed by the first: it may write to them.
            match checkpoint::save(ready, instance, None).await.map(|state| (state, instance.left_files())) {
                Ok((state, files)) if state.pages() <= MOST_PAGES && fits(files.as_ref()) => {
                    self.keep(key, Opened { stamp: Stamp::of(&project.source, names), state, files });
                }
                Ok(_) => tracing::debug!("the opened project is too large to be saved"),
                Err(error) => tracing::warn!(%error, "the opened project cannot be saved"),
            }
        }
        Ok(failed)
    }

    /// The saved state, if the project still is what it was.
    fn find(&self, key: &str, source: &Path) -> Option<Arc<Opened>> {
        let known = self.kept().iter().find(|(other, _)| other == key).map(|(_, opened)| opened.clone());
        let opened = known.or_else(|| self.load(key).map(Arc::new))?;
        if !opened.stamp.holds(source) {
            return None;
        }
        remember(&mut self.kept(), key.to_owned(), opened.clone());
        Some(opened)
    }

    fn load(&self, key: &str) -> Option<Opened> {
        let read = || -> Result<Option<Opened>> {
            let Some(folder) = Folder::open(&self.folder)? else { return Ok(None) };
            let Some(mut file) = folder.file(&name(key))? else { return Ok(None) };
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)
                .map_err(|error| Error::internal("the saved project cannot be read", error))?;
            Opened::from_bytes(&bytes).map(Some)
        };
        let read = read();
        read.inspect_err(|error| tracing::warn!(%error, "a saved project is not used and is made anew"))
            .ok()?
    }

    fn keep(&self, key: String, opened: Opened) {
        if opened.files.is_none()
            && let Err(error) = self.store(&key, &opened)
        {
            tracing::warn!(%error, "the opened project cannot be kept on disk");
        }
        remember(&mut self.kept(), key, Arc::new(opened));
    }

    /// A state carries a checksum: one that a loss of power has damaged is made anew, so no run waits for the disk here.
    fn store(&self, key: &str, opened: &Opened) -> Result<()> {
        let folder = Folder::make(&self.folder)?;
        folder.write(&name(key), &opened.to_bytes()?, Durability::Unsynced)?;
        folder.tidy(Some(STORED), &name(key));
        Ok(())
    }

    fn kept(&self) -> MutexGuard<'_, Vec<(String, Arc<Opened>)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Opened {
    /// The length of the stamp (8 bytes, little-endian), the stamp as JSON, and the checkpoint.
    fn to_bytes(&self) -> Result<Vec<u8>> {
        let stamp = serde_json::to_vec(&self.stamp)
            .map_err(|error| Error::internal("the project's files cannot be listed", error))?;
        let mut bytes = (stamp.len() as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(&stamp);
        bytes.extend_from_slice(&self.state.to_bytes());
        Ok(bytes)
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let damaged = || Error::args_invalid("the saved project is damaged");
        let (length, rest) = bytes.split_first_chunk().ok_or_else(damaged)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| damaged())?;
        let (stamp, state) = rest.split_at_checked(length).ok_or_else(damaged)?;
        let stamp = serde_json::from_slice(stamp).map_err(|_| damaged())?;
        Ok(Self { stamp, state: SavedInterpreter::from_bytes(state)?, files: None })
    }
}

/// The name of a state's file.
fn name(key: &str) -> String {
    format!("{key}.state")
}

fn fits(files: Option<&LeftFiles>) -> bool {
    files.is_none_or(|files| files.tree.usage().bytes <= MOST_BYTES)
}

fn remember(kept: &mut Vec<(String, Arc<Opened>)>, key: String, opened: Arc<Opened>) {
    kept.retain(|(other, _)| *other != key);
    if kept.len() >= KEPT {
        kept.remove(0);
    }
    kept.push((key, opened));
}

/// The script that opens a project. A registered language has none: its project is a folder and nothing more.
fn script(language: &GuestName) -> Option<&'static str> {
    match language.as_str() {
        "python" => Some(include_str!("project/open.py")),
        "javascript" => Some(include_str!("project/open.js")),
        "php" => Some(include_str!("project/open.php")),
        _ => None,
    }
}

async fn open(
    script: &str,
    project: &Project,
    request: &Task,
    instance: &mut Instance,
    own: &OwnFiles,
) -> Result<Option<Outcome>> {
    let argument = json!({"root": Project::TARGET, "bootstrap": project.bootstrap}).to_string();
    instance.set(request, ARGUMENT, &argument, own).await?;
    let opening = Task {
        code: script.into(),
        name: PROJECT_SCRIPT.into(),
        // This is the host's text, and what it loads is the project's.
        allow_eval: true,
        context: RunContext { callbacks: Callbacks::default(), output: None, ..request.context.clone() },
        ..request.clone()
    };
    let mut outcome = instance.run(&opening, Instant::now(), own).await?;
    outcome.status = match outcome.status {
        Status::Returned(_) => return Ok(None),
        Status::Exited(status) => Status::Stopped(
            Error::new(
                ErrorCode::ProjectFailed,
                format!("the project's bootstrap file ended the program with status {status}"),
            )
            .with_hint("let it return the container and not exit"),
        ),
        Status::Stopped(error) => Status::Stopped(while_opening(error)),
        raised => raised,
    };
    Ok(Some(outcome))
}

/// Says of a limit that it was reached before the snippet began.
fn while_opening(error: Error) -> Error {
    let message = format!("while the project was opened, before the snippet began: {}", error.message());
    let hint = match error.code() {
        ErrorCode::LimitTime => {
            "let the bootstrap file do less, or raise the time-out: opening has all of it for itself, and is done once until \
             a file changes that it has read"
        }
        ErrorCode::LimitMemory => "let the bootstrap file load less, or raise the memory limit",
        _ => return error,
    };
    Error::new(error.code(), message).with_hint(hint)
}

/// Names all that the opened state depends on, the project's files excepted. None when it depends on what cannot be
/// named: a seed, a clock that stands still, or other mounts.
fn key(script: &str, project: &Project, request: &Task, ready: &Ready) -> Option<String> {
    let grants = &request.context.grants;
    if grants.seed.is_some() || grants.clock != WallClock::System || !grants.mounts.is_empty() {
        return None;
    }
    let mut hash = Sha256::new();
    let mut add = |part: &[u8]| {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    };
    add(ready.loaded().hash.as_bytes());
    add(script.as_bytes());
    add(project.source.as_os_str().as_encoded_bytes());
    // What a bootstrap file could do: before, a project that was only read could not be changed by it at all.
    add(b"changes of the run's own");
    add(format!("{:?} {:?} {:?}", project.access, project.bootstrap, grants.directory).as_bytes());
    add(format!("{:?} {:?}", grants.environment, grants.arguments).as_bytes());
    Some(hex(&hash.finalize()))
}
