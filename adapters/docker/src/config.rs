//! What a container is created with: everything that confines it.
//!
//! The container's main process is root without any capability, only to keep it running; whatever is run in it is run as
//! [`dormouse_containers::USER`], which cannot end that process. The two volumes are tmpfs, so that the engine enforces their size, and owned by
//! that user; what is written in them counts as the container's memory.
//!
//! The memory limit is that of the spec, for programs and files together, without swap. A container whose files fill it
//! could not even start the program that removes one; so the volumes leave a part of it to programs, even where that makes
//! them smaller than what was asked for.

use std::collections::HashMap;
use std::path::PathBuf;

use bollard::models::{
    ContainerCreateBody, ContainerUpdateBody, HealthConfig, HostConfig, HostConfigLogConfig, Mount,
    MountBindOptions, MountBindOptionsPropagationEnum, MountTmpfsOptions, MountType, MountVolumeOptions,
    MountVolumeOptionsDriverConfig,
};
use dormouse_containers::relay::TOLD;
use dormouse_containers::{TMP, WORKSPACE};
use dormouse_core::Access;
use dormouse_core::sandbox::SandboxSpec;

use crate::image::Image;
use crate::settings::Settings;

/// Most names in `/tmp`; a small one has one for each of these bytes.
const TMP_FILES: u64 = 20_000;
const BYTES_A_NAME: u64 = 2_048;
/// Bytes of `/dev/shm`, at most.
const SHARED: u64 = 16 << 20;
/// Bytes of the memory limit that no file can take, at most a quarter of it.
const PROGRAMS: u64 = 32 << 20;
/// What [`TOLD`] is mounted as: root writes there, the sandbox reads. Nothing lies there without a network.
const TOLD_OPTIONS: &str = "size=2m,nr_inodes=16,mode=0755,noexec,nosuid,nodev";
/// Keeps a container running. Which of the two there is depends on the image.
const KEEP: &str = "sleep infinity || tail -f /dev/null";
/// Bytes of what covers a volume that an image declares.
const COVER: i64 = 1 << 20;

/// How large a container is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Size {
    pub(crate) memory: u64,
    pub(crate) disk: u64,
    pub(crate) files: u32,
    pub(crate) cpu_millis: u32,
    pub(crate) processes: u32,
}

impl Size {
    pub(crate) fn of(spec: &SandboxSpec) -> Self {
        let SandboxSpec { memory, disk, files, cpu_millis, processes, .. } = spec;
        Self { memory: *memory, disk: *disk, files: *files, cpu_millis: *cpu_millis, processes: *processes }
    }

    /// Whether one container can become the other while it runs: its volumes cannot change.
    pub(crate) fn can_become(&self, other: &Self, settings: &Settings) -> bool {
        (self.volumes(settings), self.files) == (other.volumes(settings), other.files)
    }

    /// How large its volumes are: together less than its memory.
    pub(crate) fn volumes(&self, settings: &Settings) -> Volumes {
        let tmp = settings.tmp.min(self.memory / 4);
        let shared = SHARED.min(self.memory / 8);
        let programs = PROGRAMS.min(self.memory / 4);
        let rest = self.memory.saturating_sub(tmp.saturating_add(shared).saturating_add(programs));
        Volumes { workspace: self.disk.min(rest), tmp, shared }
    }

    /// Names that its volumes take.
    pub(crate) fn names(&self, settings: &Settings) -> u64 {
        inodes(u64::from(self.files)).saturating_add(inodes(tmp_files(self.volumes(settings).tmp)))
    }

    /// The same as a change of a container that runs.
    pub(crate) fn update(&self) -> ContainerUpdateBody {
        ContainerUpdateBody {
            memory: Some(signed(self.memory)),
            memory_swap: Some(signed(self.memory)),
            nano_cpus: Some(i64::from(self.cpu_millis) * 1_000_000),
            pids_limit: Some(self.pids()),
            ..ContainerUpdateBody::default()
        }
    }

    /// The sandbox's processes, and the few that keep the container.
    pub(crate) fn pids(&self) -> i64 {
        i64::from(self.processes) + 4
    }
}

/// Bytes of what lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Volumes {
    /// `/workspace`.
    pub(crate) workspace: u64,
    /// `/tmp`.
    pub(crate) tmp: u64,
    /// `/dev/shm`.
    pub(crate) shared: u64,
}

/// A folder of the host, checked.
#[derive(Clone, Debug)]
pub(crate) struct Bind {
    pub(crate) source: PathBuf,
    pub(crate) target: String,
    pub(crate) access: Access,
    pub(crate) below: Below,
}

/// What comes with a folder of the file systems that are mounted below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Below {
    /// All, as they are.
    AsItIs,
    /// All, read-only, or the engine refuses.
    ReadOnly,
    /// None: there were none when it was looked at, and one that is mounted since then is left out.
    Nothing,
}

/// What its programs find. Where there is no network there will be none, and rules refuse the same thing again: who asks again waits for
/// nothing.
fn environment() -> Vec<String> {
    vec![format!("HOME={WORKSPACE}"), "NPM_CONFIG_FETCH_RETRIES=0".into(), "PIP_RETRIES=0".into()]
}

/// The request that creates a container.
pub(crate) fn body(
    settings: &Settings,
    labels: &HashMap<String, String>,
    image: &Image,
    size: &Size,
    binds: &[Bind],
) -> ContainerCreateBody {
    let volumes = size.volumes(settings);
    let mut mounts = vec![
        volume(WORKSPACE, volumes.workspace, u64::from(size.files), labels),
        volume(TMP, volumes.tmp, tmp_files(volumes.tmp), labels),
    ];
    mounts.extend(binds.iter().map(bind));
    let covered = |path: &&String| mounts.iter().all(|mount| mount.target.as_deref() != Some(path.as_str()));
    let covers: Vec<Mount> = image.volumes.iter().filter(covered).map(|path| cover(path)).collect();
    mounts.extend(covers);
    let keep: Vec<String> = ["sh", "-c", KEEP].map(Into::into).into();
    ContainerCreateBody {
        hostname: Some("sandbox".into()),
        image: Some(image.id.clone()),
        user: Some("0:0".into()),
        entrypoint: Some(keep),
        cmd: Some(Vec::new()),
        env: Some(environment()),
        working_dir: Some(WORKSPACE.into()),
        network_disabled: Some(true),
        healthcheck: Some(HealthConfig { test: Some(vec!["NONE".into()]), ..HealthConfig::default() }),
        labels: Some(labels.clone()),
        host_config: Some(HostConfig {
            network_mode: Some("none".into()),
            mounts: Some(mounts),
            tmpfs: Some(HashMap::from([(TOLD.into(), TOLD_OPTIONS.into())])),
            memory: Some(signed(size.memory)),
            memory_swap: Some(signed(size.memory)),
            shm_size: Some(signed(volumes.shared)),
            nano_cpus: Some(i64::from(size.cpu_millis) * 1_000_000),
            pids_limit: Some(size.pids()),
            readonly_rootfs: Some(true),
            ..hardened(settings)
        }),
        ..ContainerCreateBody::default()
    }
}

/// What holds for every container of ours.
pub(crate) fn hardened(settings: &Settings) -> HostConfig {
    HostConfig {
        cap_drop: Some(vec!["ALL".into()]),
        // Seccomp is not named: then it is the engine's default profile, which was seen to be there.
        security_opt: Some(vec!["no-new-privileges".into()]),
        privileged: Some(false),
        init: Some(true),
        ipc_mode: Some("private".into()),
        shm_size: Some(signed(SHARED)),
        log_config: Some(HostConfigLogConfig { typ: Some("none".into()), config: None }),
        runtime: settings.runtime.clone(),
        ..HostConfig::default()
    }
}

fn tmp_files(bytes: u64) -> u64 {
    TMP_FILES.min(bytes / BYTES_A_NAME)
}

/// What a volume is given for so many names: its root is one, and a few more do no harm.
fn inodes(files: u64) -> u64 {
    files.saturating_add(16)
}

/// A volume without a name goes with its container.
pub(crate) fn volume(target: &str, bytes: u64, files: u64, labels: &HashMap<String, String>) -> Mount {
    // A page more than asked: tmpfs rounds down.
    let pages = bytes.div_ceil(4096);
    let mode = if target == TMP { "1777" } else { "0755" };
    let o = format!(
        "size={},nr_inodes={},uid=65534,gid=65534,mode={mode},nosuid,nodev",
        pages * 4096,
        inodes(files)
    );
    let options = [("type", "tmpfs".to_owned()), ("device", "tmpfs".to_owned()), ("o", o)];
    let options = options.map(|(name, value)| (name.to_owned(), value));
    Mount {
        target: Some(target.into()),
        typ: Some(MountType::VOLUME),
        volume_options: Some(MountVolumeOptions {
            no_copy: Some(true),
            labels: Some(labels.clone()),
            driver_config: Some(MountVolumeOptionsDriverConfig {
                name: Some("local".into()),
                options: Some(HashMap::from(options)),
            }),
            ..MountVolumeOptions::default()
        }),
        ..Mount::default()
    }
}

pub(crate) fn bind(bind: &Bind) -> Mount {
    Mount {
        source: bind.source.to_str().map(str::to_owned),
        target: Some(bind.target.clone()),
        typ: Some(MountType::BIND),
        read_only: Some(bind.access == Access::ReadOnly),
        bind_options: Some(MountBindOptions {
            // What the host mounts later stays out.
            propagation: Some(MountBindOptionsPropagationEnum::RPRIVATE),
            non_recursive: (bind.below == Below::Nothing).then_some(true),
            read_only_force_recursive: (bind.below == Below::ReadOnly).then_some(true),
            ..MountBindOptions::default()
        }),
        ..Mount::default()
    }
}

/// Covers a path that would else be a volume on the engine's own disk, without a bound.
fn cover(path: &str) -> Mount {
    Mount {
        target: Some(path.to_owned()),
        typ: Some(MountType::TMPFS),
        tmpfs_options: Some(MountTmpfsOptions {
            size_bytes: Some(COVER),
            mode: Some(0o1777),
            ..MountTmpfsOptions::default()
        }),
        ..Mount::default()
    }
}

/// A number as the engine takes it.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn con_24_the_volumes_leave_a_part_of_the_memory_to_programs() {
        let settings = Settings::default();
        let mib = |bytes: u64| bytes >> 20;
        for (memory, disk, workspace, tmp) in [
            (2048, 256, 256, 64),
            (512, 256, 256, 64),
            (64, 256, 24, 16),
            (64, 16, 16, 16),
            (2048, 4096, 1936, 64),
        ] {
            let size = Size { memory: memory << 20, disk: disk << 20, files: 1, cpu_millis: 1, processes: 8 };
            let volumes = size.volumes(&settings);
            assert_eq!((mib(volumes.workspace), mib(volumes.tmp)), (workspace, tmp), "{memory} {disk}");
            let all = volumes.workspace + volumes.tmp + volumes.shared;
            assert!(all + (16 << 20) <= size.memory, "{memory} {disk}");
        }
    }
}
