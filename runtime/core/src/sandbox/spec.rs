//! What a caller may ask of a new sandbox.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::limits::MIB;
use crate::network::NetworkGrant;
use crate::{Access, Error, ErrorCode, Grants, GuestPath, Mount, Result};

/// A folder of the host that a sandbox sees for its whole life. Not part of its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpecMount {
    /// The folder on the host.
    pub source: PathBuf,
    /// Where the sandbox sees it.
    pub target: GuestPath,
    /// What may be done there.
    pub access: Access,
}

/// Characters shown of a path.
const SHOWN: usize = 200;
/// The folders that every sandbox has for its own files.
pub const OWN_FOLDERS: [&str; 2] = ["/workspace", "/tmp"];

/// Refuses a path that is neither in the sandbox's own folders nor in a mount: its programs see nothing there.
///
/// # Errors
/// `path_denied`.
pub fn must_be_seen(path: &GuestPath, mounts: &[SpecMount]) -> Result<()> {
    let is_in = |folder: &str| {
        path.as_str().strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let mut folders = OWN_FOLDERS.into_iter().chain(mounts.iter().map(|mount| mount.target.as_str()));
    if folders.any(is_in) {
        return Ok(());
    }
    let shown: String = path.as_str().escape_debug().take(SHOWN).collect();
    Err(Error::new(ErrorCode::PathDenied, format!("`{shown}` is not among the sandbox's files"))
        .with_hint("its files are in `/workspace` and `/tmp`"))
}

/// Who is to run a sandbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderName {
    /// WebAssembly in this process: the default.
    #[default]
    Wasm,
    /// A container engine.
    Docker,
    /// A cluster.
    Kubernetes,
}

impl ProviderName {
    /// Every provider by its word.
    pub const ALL: [Self; 3] = [Self::Wasm, Self::Docker, Self::Kubernetes];

    /// Whether it runs a sandbox as a container.
    pub fn is_container(self) -> bool {
        self != Self::Wasm
    }

    /// Whether a sandbox's own limits of names and of processes hold. In a cluster those of its nodes do.
    pub fn counts_names_and_processes(self) -> bool {
        self != Self::Kubernetes
    }

    /// The word on every wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Wasm => "wasm",
            Self::Docker => "docker",
            Self::Kubernetes => "kubernetes",
        }
    }

    /// The provider of that word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|name| name.as_str() == word)
    }
}

/// Whether a sandbox begins with something that was started beforehand (S2-14).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WarmPool {
    /// Where there is one; else it is started anew.
    #[default]
    Prefer,
    /// Only so; `busy` where there is none just now.
    Require,
    /// Always started anew.
    None,
}

impl WarmPool {
    /// The word on every wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Prefer => "prefer",
            Self::Require => "require",
            Self::None => "none",
        }
    }
}

/// When a call counts as done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// When it is answered; it is saved a moment later.
    #[default]
    Delayed,
    /// When it is saved, before it is answered.
    Call,
}

impl Durability {
    /// Every one by its word.
    pub const ALL: [Self; 2] = [Self::Delayed, Self::Call];

    /// The word on every wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Delayed => "delayed",
            Self::Call => "call",
        }
    }

    /// The one of that word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == word)
    }
}

/// What a sandbox is to be, fixed when it is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SandboxSpec {
    /// Memory of each interpreter, in bytes. Default 512 MiB, at most the operator's ceiling.
    pub memory: u64,
    /// Bytes of all files together, holes included. Default 256 MiB.
    pub disk: u64,
    /// Files, folders and links. Default 20 000.
    pub files: u32,
    /// Environment variables.
    pub environment: Vec<(String, String)>,
    /// Folders of the host.
    pub mounts: Vec<SpecMount>,
    /// Whether interpreters are kept from call to call. If not, only files are. Default true.
    pub keeps_memory: bool,
    /// Whether a container's Python is asked for its variables with each save, as far as they can be pickled. Default false: they
    /// end with the container.
    pub pickles: bool,
    /// Whether a stopped interpreter comes back as it was before the call; if not, it comes back fresh. Default true.
    pub rolls_back: bool,
    /// Without calls for this long it is stopped. Default 15 minutes.
    pub idle: Duration,
    /// Stopped for this long it is destroyed. Default 7 days (S3-19).
    pub retention: Duration,
    /// Who runs it. Default wasm.
    pub provider: ProviderName,
    /// The provider that was asked for and could not be had when the sandbox was made. Default none.
    pub fallback_from: Option<ProviderName>,
    /// The image of a container, as the operator allows it; none: the operator's default. Without a container the name of the
    /// image that it was made from; none: it began empty.
    pub image: Option<String>,
    /// Processor time in thousandths of a core. Default 1 000, at most the operator's ceiling. With wasm nothing computes on
    /// more than one core, so that less than 1 000 is a limit and more is none.
    pub cpu_millis: u32,
    /// Processes and threads. Default 256. With wasm: command lines and the programs that they start, at one time.
    pub processes: u32,
    /// Whether it begins with a container that is running already. Default prefer; `require` only for containers.
    pub warm_pool: WarmPool,
    /// Whether its calls are saved before they are answered, or a moment later. Default delayed.
    pub durability: Durability,
    /// What of the operator's network it may reach. Default none: it has no network.
    pub network: Option<NetworkGrant>,
}

impl SandboxSpec {
    /// What its runs are granted.
    ///
    /// # Errors
    /// `args_invalid` for what cannot be granted.
    pub fn grants(&self) -> Result<Grants> {
        let mounts = self.mounts.iter().map(|SpecMount { source, target, access }| Mount {
            source: source.clone(),
            target: target.clone(),
            access: *access,
        });
        let grants =
            Grants { mounts: mounts.collect(), environment: self.environment.clone(), ..Grants::default() };
        grants.check().map(|()| grants)
    }
}

impl Default for SandboxSpec {
    fn default() -> Self {
        Self {
            memory: 512 * MIB,
            disk: 256 * MIB,
            files: 20_000,
            environment: Vec::new(),
            mounts: Vec::new(),
            keeps_memory: true,
            pickles: false,
            rolls_back: true,
            idle: Duration::from_secs(15 * 60),
            retention: Duration::from_secs(7 * 24 * 3600),
            provider: ProviderName::Wasm,
            fallback_from: None,
            image: None,
            cpu_millis: 1_000,
            processes: 256,
            warm_pool: WarmPool::Prefer,
            durability: Durability::Delayed,
            network: None,
        }
    }
}
