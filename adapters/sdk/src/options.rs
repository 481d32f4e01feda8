//! How an engine is set up.

use std::path::PathBuf;
use std::time::Duration;

use dormouse::{Access, Dormouse, Error, Grants, GuestPath, Mount, Policy, Result};
use serde::Deserialize;

use crate::Spelling;

/// How an engine is set up, as a program of another language says it, in JSON.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Folder in which sandboxes last; it is made if it is missing. Default: none last.
    pub state: Option<PathBuf>,
    /// Folder of guests and compiled artifacts. Default: the user's cache folder.
    pub cache: Option<PathBuf>,
    /// Folder of guests and machine code that came with the package. Default: none.
    pub installed: Option<PathBuf>,
    /// How the package spells names, in what it tells. Default as the tools do.
    pub spelling: Spelling,
    /// Folders of this machine that every sandbox and every run sees. Default none.
    pub mounts: Vec<Folder>,
    /// Whether a folder may be mounted for writing. Default false.
    pub allow_writes: bool,
    /// Unused instances kept ready for each language that has run. Default 0.
    pub ready: usize,
    /// File of the network's rules (docs/reference/network.md), read once. Default: none.
    pub network: Option<PathBuf>,
    /// Hosts that may be reached by https, each as `HOST` or `HOST:PORT`; they are added to the network `default`. Default none.
    pub allow_net: Vec<String>,
    /// Secrets, each as `NAME=env:VAR@HOST`. Default none.
    pub secrets: Vec<String>,
    /// File to which each request that leaves a sandbox is written down. Default: `network.jsonl` in the folder of state; without such
    /// a folder they are not written down.
    pub network_audit: Option<PathBuf>,
    /// Runs at one time, from 1; more wait. Default 64.
    pub max_running: Option<usize>,
    /// The longest wall-clock limit that a run can ask for, in milliseconds. Default 60 000.
    pub max_timeout_ms: Option<u64>,
    /// The largest memory limit that a run can ask for, in bytes. Default 512 MiB.
    pub max_memory_bytes: Option<u64>,
}

/// A folder of this machine that is shown to a sandbox.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Folder {
    /// The folder.
    pub source: PathBuf,
    /// Where the sandbox sees it.
    pub target: String,
    /// Whether the sandbox may write there. Default false.
    #[serde(default)]
    pub writable: bool,
}

impl Folder {
    /// As it is granted.
    ///
    /// # Errors
    /// `args_invalid` for a target that is no path.
    pub(crate) fn mount(&self) -> Result<Mount> {
        let access = if self.writable { Access::ReadWrite } else { Access::ReadOnly };
        Ok(Mount { source: self.source.clone(), target: GuestPath::parse(&self.target)?, access })
    }
}

impl Options {
    /// Reads them.
    ///
    /// # Errors
    /// `args_invalid` for JSON that is no such object.
    pub fn parse(json: &str) -> Result<Self> {
        serde_json::from_str(json)
            .map_err(|error| Error::args_invalid(format!("the options cannot be used: {error}")))
    }

    pub(crate) fn grants(&self) -> Result<Grants> {
        let mounts = self.mounts.iter().map(Folder::mount).collect::<Result<_>>()?;
        Ok(Grants { mounts, ..Grants::default() })
    }

    fn policy(&self) -> Policy {
        let mut policy = Policy { allow_writes: self.allow_writes, ..Policy::default() };
        if let Some(most) = self.max_running {
            policy.max_running = most.max(1);
        }
        if let Some(most) = self.max_timeout_ms {
            policy.ceiling.wall = Duration::from_millis(most);
            policy.defaults.wall = policy.defaults.wall.min(policy.ceiling.wall);
        }
        if let Some(most) = self.max_memory_bytes {
            policy.ceiling.memory = most;
            policy.defaults.memory = policy.defaults.memory.min(most);
        }
        policy
    }

    /// # Errors
    /// As [`dormouse::Builder::build`].
    pub(crate) fn build(&self) -> Result<Dormouse> {
        let builder = match &self.cache {
            Some(folder) => Dormouse::builder_in(folder),
            None => Dormouse::builder()?,
        };
        let mut builder = builder.policy(self.policy()).ready(self.ready);
        if let Some(folder) = &self.installed {
            builder = builder.installed(folder);
        }
        if let Some(folder) = &self.state {
            builder = builder.state(folder);
        }
        builder.build()
    }
}
