//! What is ours on an engine that others use as well, and what a process of ours left behind.
//!
//! Every container and volume carries two labels: the installation (a random number in the state folder) and the process
//! (a random number of its own). A process holds a lock on a file of its number for as long as it lives; the kernel lets
//! go of it however the process ends. What carries our installation and a number whose lock can be taken is nobody's, and
//! is removed. Process ids are not used for this: they come again, and mean nothing to another host or after a restart.
//! Another installation has another number, so two servers on one engine never remove what is the other's, and two
//! processes on one state folder see each other's locks.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use bollard::query_parameters::{
    ListContainersOptionsBuilder, ListVolumesOptionsBuilder, RemoveContainerOptionsBuilder,
    RemoveVolumeOptionsBuilder,
};
use dormouse_core::{Error, ErrorCode, Result};

use crate::engine::Engine;

/// The label of the installation.
pub(crate) const OWNER: &str = "dormouse.owner";
/// The label of the process.
pub(crate) const PROCESS: &str = "dormouse.process";

/// Who we are on the engine.
pub(crate) struct Identity {
    pub(crate) owner: String,
    pub(crate) process: String,
    folder: Option<PathBuf>,
    /// Locked as long as this lives.
    _lock: Option<File>,
}

impl Identity {
    /// Says who we are, for as long as this lives.
    ///
    /// # Errors
    /// `state_unavailable` when the state folder cannot be used.
    pub(crate) fn claim(state: Option<&Path>) -> Result<Self> {
        let process = random()?;
        let Some(state) = state else {
            return Ok(Self { owner: random()?, process, folder: None, _lock: None });
        };
        let folder = state.join("docker");
        let unusable = |error: std::io::Error| {
            Error::new(ErrorCode::StateUnavailable, "the state folder's part for containers cannot be used")
                .with_hint("make the state folder writable")
                .with_source(error)
        };
        fs::create_dir_all(&folder).map_err(unusable)?;
        let owner = owner(&folder).map_err(unusable)?;
        let lock = File::create(lock_path(&folder, &process)).map_err(unusable)?;
        lock.try_lock().map_err(|error| unusable(error.into()))?;
        Ok(Self { owner, process, folder: Some(folder), _lock: Some(lock) })
    }

    /// The labels of everything that this process makes.
    pub(crate) fn labels(&self) -> HashMap<String, String> {
        HashMap::from([(OWNER.into(), self.owner.clone()), (PROCESS.into(), self.process.clone())])
    }

    /// The filter that finds what carries one of the labels.
    pub(crate) fn filter(label: &str, value: &str) -> HashMap<&'static str, Vec<String>> {
        HashMap::from([("label", vec![format!("{label}={value}")])])
    }

    /// The names of the installation's containers and volumes.
    ///
    /// # Errors
    /// `provider_unavailable`.
    pub(crate) async fn left(&self, engine: &Engine) -> Result<Vec<String>> {
        let docker = engine.docker().await?;
        let filter = Self::filter(OWNER, &self.owner);
        let options = ListContainersOptionsBuilder::default().all(true).filters(&filter).build();
        let containers = engine.ask("list containers", docker.list_containers(Some(options))).await?;
        let options = ListVolumesOptionsBuilder::default().filters(&filter).build();
        let volumes = engine.ask("list volumes", docker.list_volumes(Some(options))).await?;
        let names = containers.into_iter().flat_map(|container| container.names.unwrap_or_default());
        let volumes = volumes.volumes.unwrap_or_default().into_iter().map(|volume| volume.name);
        Ok(names.chain(volumes).collect())
    }

    /// Removes what processes of this installation left behind that are no more. Answers how many containers it were.
    ///
    /// # Errors
    /// `provider_unavailable`.
    pub(crate) async fn reap(&self, engine: &Engine) -> Result<usize> {
        let Some(folder) = &self.folder else { return Ok(0) };
        let docker = engine.docker().await?;
        let filter = Self::filter(OWNER, &self.owner);
        let options = ListContainersOptionsBuilder::default().all(true).filters(&filter).build();
        let containers = engine.ask("list containers", docker.list_containers(Some(options))).await?;
        let options = ListVolumesOptionsBuilder::default().filters(&filter).build();
        let volumes = engine.ask("list volumes", docker.list_volumes(Some(options))).await?;
        let volumes = volumes.volumes.unwrap_or_default();
        let of =
            |labels: Option<&HashMap<String, String>>| labels.and_then(|labels| labels.get(PROCESS)).cloned();
        let mut processes: BTreeSet<String> =
            containers.iter().filter_map(|container| of(container.labels.as_ref())).collect();
        processes.extend(volumes.iter().filter_map(|volume| of(Some(&volume.labels))));
        processes.retain(|process| *process != self.process && is_over(folder, process));
        let mut removed = 0;
        for container in containers {
            let (Some(id), Some(process)) = (&container.id, of(container.labels.as_ref())) else { continue };
            if processes.contains(&process) {
                let options = RemoveContainerOptionsBuilder::default().v(true).force(true).build();
                if engine.ask("remove a container", docker.remove_container(id, Some(options))).await.is_ok()
                {
                    removed += 1;
                }
            }
        }
        for volume in volumes {
            if of(Some(&volume.labels)).is_some_and(|process| processes.contains(&process)) {
                let options = RemoveVolumeOptionsBuilder::default().force(true).build();
                // Most went with their container.
                let _gone =
                    engine.ask("remove a volume", docker.remove_volume(&volume.name, Some(options))).await;
            }
        }
        if removed > 0 {
            tracing::info!(removed, "removed containers that earlier processes left behind");
        }
        Ok(removed)
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

/// The installation's number; made by whoever comes first.
fn owner(folder: &Path) -> std::io::Result<String> {
    let path = folder.join("owner");
    let fresh = random().map_err(std::io::Error::other)?;
    let temporary = folder.join(format!("{fresh}.new"));
    File::create(&temporary)?.write_all(fresh.as_bytes())?;
    // A link is made whole or not at all, and not over one that is there.
    let linked = fs::hard_link(&temporary, &path);
    fs::remove_file(&temporary)?;
    match linked {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    let text = fs::read_to_string(&path)?;
    if text.len() == fresh.len() && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(text);
    }
    Err(std::io::Error::other("the file `owner` holds no number"))
}

/// 128 random bits, as hexadecimal digits.
pub(crate) fn random() -> Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| Error::internal("there are no random numbers", error))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_over_when_its_lock_is_free_and_not_before() {
        let folder = tempfile::tempdir().unwrap();
        let one = Identity::claim(Some(folder.path())).unwrap();
        let two = Identity::claim(Some(folder.path())).unwrap();
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
        let one = Identity::claim(Some(a.path())).unwrap();
        assert_ne!(one.owner, Identity::claim(Some(b.path())).unwrap().owner);
        assert_ne!(one.owner, Identity::claim(None).unwrap().owner);
    }
}
