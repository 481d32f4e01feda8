//! What a container is created with: everything that confines it.
//!
//! The container's main process is root without any capability, only to keep it running; whatever is run in it is run as
//! [`USER`], which cannot end that process. The two volumes are tmpfs, so that the engine enforces their size, and owned by
//! that user; what is in them counts as the container's memory.

use std::collections::HashMap;
use std::path::PathBuf;

use bollard::models::{
    ContainerCreateBody, ContainerUpdateBody, HealthConfig, HostConfig, HostConfigLogConfig, Mount,
    MountTmpfsOptions, MountType, MountVolumeOptions, MountVolumeOptionsDriverConfig,
};
use dormouse_core::Access;
use dormouse_core::sandbox::SandboxSpec;

use crate::image::Image;
use crate::settings::Settings;

/// Who runs programs: the user that owns nothing.
pub(crate) const USER: &str = "65534:65534";
/// The folder of a sandbox's files.
pub(crate) const WORKSPACE: &str = "/workspace";
/// The folder of files that nobody misses.
pub(crate) const TMP: &str = "/tmp";
/// Names in `/tmp`.
pub(crate) const TMP_FILES: u64 = 20_000;
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
    pub(crate) fn can_become(&self, other: &Self) -> bool {
        (self.disk, self.files) == (other.disk, other.files)
    }

    /// All that the container may have in memory.
    fn memory(&self, settings: &Settings) -> i64 {
        signed(self.memory.saturating_add(self.disk).saturating_add(settings.tmp))
    }

    /// The same as a change of a container that runs.
    pub(crate) fn update(&self, settings: &Settings) -> ContainerUpdateBody {
        ContainerUpdateBody {
            memory: Some(self.memory(settings)),
            memory_swap: Some(self.memory(settings)),
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

/// A folder of the host, checked.
pub(crate) type Bind = (PathBuf, String, Access);

/// The request that creates a container.
pub(crate) fn body(
    settings: &Settings,
    labels: &HashMap<String, String>,
    image: &Image,
    size: &Size,
    binds: &[Bind],
) -> ContainerCreateBody {
    let mut mounts = vec![
        volume(WORKSPACE, size.disk, u64::from(size.files), labels),
        volume(TMP, settings.tmp, TMP_FILES, labels),
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
        env: Some(vec![format!("HOME={WORKSPACE}")]),
        working_dir: Some(WORKSPACE.into()),
        network_disabled: Some(true),
        healthcheck: Some(HealthConfig { test: Some(vec!["NONE".into()]), ..HealthConfig::default() }),
        labels: Some(labels.clone()),
        host_config: Some(HostConfig {
            network_mode: Some("none".into()),
            mounts: Some(mounts),
            memory: Some(size.memory(settings)),
            memory_swap: Some(size.memory(settings)),
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
        shm_size: Some(16 << 20),
        log_config: Some(HostConfigLogConfig { typ: Some("none".into()), config: None }),
        runtime: settings.runtime.clone(),
        ..HostConfig::default()
    }
}

/// A volume without a name goes with its container.
fn volume(target: &str, bytes: u64, files: u64, labels: &HashMap<String, String>) -> Mount {
    // A page more than asked: tmpfs rounds down, and the root folder is a name as well.
    let pages = bytes.div_ceil(4096);
    let mode = if target == TMP { "1777" } else { "0755" };
    let o = format!(
        "size={},nr_inodes={},uid=65534,gid=65534,mode={mode},nosuid,nodev",
        pages * 4096,
        files.saturating_add(16)
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

pub(crate) fn bind((source, target, access): &Bind) -> Mount {
    Mount {
        source: source.to_str().map(str::to_owned),
        target: Some(target.clone()),
        typ: Some(MountType::BIND),
        read_only: Some(*access == Access::ReadOnly),
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
