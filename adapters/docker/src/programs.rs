//! Single commands of another provider's sandboxes: a command that its shell does not have runs in a fresh container, over a
//! copy of the sandbox's files; what changed comes back.
//!
//! The command is an argument vector; no shell reads it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use dormouse_containers::program::{Exec, KILLED, Written};
use dormouse_containers::{
    MOVED, Reached, WORKSPACE, download, exec, kills, out_of_memory, reach_once, upload,
};
use dormouse_core::network::Door;
use dormouse_core::program::MAX_STREAM;
use dormouse_core::sandbox::{EntryKind, Files as Port, Piece, SandboxSpec, WarmPool};
use dormouse_core::{ErrorCode, GuestPath, OfferedPrograms, ProgramCall, ProgramEnd, ProgramRun, Result};
use dormouse_files::{Files, Kind, Quota, Tree};

use crate::config::Size;
use crate::container::Container;
use crate::pool::Pool;
use crate::shared::Shared;

/// Most entries that are copied.
const MOST: usize = 1_000_000;
/// Bytes that are copied at a time.
const STEP: u64 = 1 << 20;
/// Names of commands that are remembered.
const REMEMBERED: usize = 10_000;
/// Says whether there is a command of that name.
const LOOK: &str = r#"command -v -- "$1" >/dev/null 2>&1"#;

/// The commands of an image, for sandboxes of another provider.
pub struct DockerPrograms {
    shared: Arc<Shared>,
    pool: Arc<Pool>,
    spec: SandboxSpec,
    /// By image and name, whether there is such a command.
    known: Mutex<HashMap<(String, String), bool>>,
}

impl DockerPrograms {
    pub(crate) fn new(shared: Arc<Shared>, pool: Arc<Pool>, spec: SandboxSpec) -> Self {
        Self { shared, pool, spec, known: Mutex::default() }
    }

    async fn serve(
        &self,
        network: Option<&Arc<dyn Door>>,
        call: &ProgramCall,
        files: &mut dyn Port,
    ) -> Result<Option<ProgramEnd>> {
        let shared = &self.shared;
        shared.prepare().await?;
        let image = shared.images.find(&shared.engine, &shared.settings, self.spec.image.as_deref()).await?;
        let key = (image.id.clone(), call.name.clone());
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&key).copied();
        if known == Some(false) {
            return Ok(None);
        }
        let container = self.pool.claim(&image, Size::of(&self.spec), Vec::new(), WarmPool::Prefer).await?;
        if known.is_none() {
            let argv = ["sh", "-c", LOOK, "dormouse", &call.name].map(str::to_owned);
            let there = container.run(argv.into(), Vec::new()).await?.code == Some(0);
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            if known.len() < REMEMBERED {
                known.insert(key, there);
            }
            drop(known);
            if !there {
                self.pool.put_back(container);
                return Ok(None);
            }
        }
        self.run_in(&container, network, call, files).await.map(Some)
    }

    async fn run_in(
        &self,
        container: &Container,
        network: Option<&Arc<dyn Door>>,
        call: &ProgramCall,
        files: &mut dyn Port,
    ) -> Result<ProgramEnd> {
        let quota = Quota {
            bytes: self.spec.disk.saturating_add(self.shared.settings.tmp),
            files: Size::of(&self.spec).names(&self.shared.settings),
            depth: 1_024,
            name_bytes: 255,
        };
        let before = copy(files, quota).await?;
        upload(container, &before.snapshot(), &[]).await?;
        let reached = match network {
            Some(door) => reach_once(container, door).await?,
            None => None,
        };
        let mut argv = vec![call.name.clone()];
        argv.extend(call.arguments.iter().cloned());
        // The other provider's variables that name its own places mean nothing here.
        let own = |name: &str| {
            matches!(name, "PATH" | "HOME" | "LD_PRELOAD" | "LD_LIBRARY_PATH" | "PWD" | "OLDPWD")
        };
        let theirs = call.environment.iter().filter(|(name, _)| !own(name));
        // What the command line has set itself counts.
        let ours = reached.iter().flat_map(Reached::variables);
        let variables: BTreeMap<String, String> = ours.chain(theirs.cloned()).collect();
        let directory = MOVED.iter().any(|folder| call.directory.starts_with(folder));
        let exec = Exec {
            argv,
            environment: variables.iter().map(|(name, value)| format!("{name}={value}")).collect(),
            directory: Some(if directory { call.directory.clone() } else { WORKSPACE.into() }),
            input: call.input.clone().into(),
            most: MAX_STREAM,
            ..Exec::default()
        };
        let mut written = Written::default();
        // The caller's time limit drops this future, and with it the container.
        exec::run(container, exec, &mut written).await?;
        if written.code == Some(KILLED) && kills(container).await? > 0 {
            let why = format!("{}: {}\n", call.name, out_of_memory(container));
            written.stderr.bytes.extend_from_slice(why.as_bytes());
        }
        drop(reached);
        let after = Files::new(download(container, &before.snapshot(), &[]).await?.0);
        bring_back(&before, &after, files).await?;
        Ok(ProgramEnd {
            status: u8::try_from(written.code.unwrap_or(1) & 0xff).unwrap_or(1),
            output: written.stdout.bytes,
            errors: written.stderr.bytes,
            provider: Some("docker"),
        })
    }
}

#[async_trait]
impl OfferedPrograms for DockerPrograms {
    async fn run(&self, of: ProgramRun<'_>, call: &ProgramCall, files: &mut dyn Port) -> Option<ProgramEnd> {
        match self.serve(of.network, call, files).await {
            Ok(end) => end,
            // Where there is no engine, or no image, there is no such command either.
            Err(error)
                if matches!(
                    error.code(),
                    ErrorCode::ProviderUnavailable | ErrorCode::CapabilityUnavailable
                ) =>
            {
                tracing::warn!(%error, "`{}` was not run in a container", call.name);
                None
            }
            Err(error) => Some(ProgramEnd::failed(126, format!("{}: {error}\n", call.name))),
        }
    }
}

/// A copy of a sandbox's files. Links are not followed and not copied: the port has no word for them.
async fn copy(files: &mut dyn Port, quota: Quota) -> Result<Files> {
    let copy = Files::new(Tree::new(quota));
    for folder in MOVED {
        let folder = GuestPath::parse(folder)?;
        copy.make_folder(&folder)?;
        let entries = match files.list(&folder, true, MOST).await {
            Ok((entries, _)) => entries,
            Err(error) if error.code() == ErrorCode::NotFound => continue,
            Err(error) => return Err(error),
        };
        for entry in entries {
            let Ok(path) = GuestPath::parse(&format!("{folder}/{}", entry.path)) else { continue };
            match entry.kind {
                EntryKind::Folder => copy.make_folder(&path)?,
                EntryKind::File => {
                    let mut bytes = Vec::new();
                    loop {
                        let Piece { bytes: piece, size, .. } =
                            files.read(&path, bytes.len() as u64, STEP).await?;
                        bytes.extend_from_slice(&piece);
                        if piece.is_empty() || bytes.len() as u64 >= size {
                            break;
                        }
                    }
                    copy.write(&path, &bytes)?;
                }
                EntryKind::Link => {}
            }
        }
    }
    Ok(copy)
}

/// Makes the sandbox's files what they were made in the container.
async fn bring_back(before: &Files, after: &Files, files: &mut dyn Port) -> Result<()> {
    for folder in MOVED {
        let root = GuestPath::parse(folder)?;
        let listed = |of: &Files| -> Result<BTreeMap<String, (Kind, u64)>> {
            let entries = of.list(&root, u32::MAX, MOST)?.entries;
            Ok(entries
                .into_iter()
                .map(|listed| (listed.path, (listed.stat.kind, listed.stat.size)))
                .collect())
        };
        let (old, new) = (listed(before)?, listed(after)?);
        let mut removed: Option<String> = None;
        for (path, (kind, _)) in &old {
            let inside = removed.as_ref().is_some_and(|removed| path.starts_with(removed.as_str()));
            let gone = new.get(path).is_none_or(|(now, _)| now != kind);
            if gone && !inside {
                match files.remove(&GuestPath::parse(&format!("{folder}/{path}"))?, true).await {
                    Err(error) if error.code() != ErrorCode::NotFound => return Err(error),
                    _ => removed = Some(format!("{path}/")),
                }
            }
        }
        for (path, (kind, size)) in &new {
            let Ok(full) = GuestPath::parse(&format!("{folder}/{path}")) else { continue };
            let was = old.get(path);
            match kind {
                Kind::Folder if was.is_none_or(|(kind, _)| *kind != Kind::Folder) => {
                    files.make_folder(&full).await?;
                }
                Kind::File => {
                    let size = usize::try_from(*size).unwrap_or(usize::MAX);
                    let bytes = after.read(&full, 0, size)?;
                    let same =
                        was == Some(&(*kind, bytes.len() as u64)) && before.read(&full, 0, size)? == bytes;
                    if !same {
                        files.write(&full, &bytes).await?;
                    }
                }
                _ => {}
            }
        }
    }
    Ok(())
}
