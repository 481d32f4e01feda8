//! What a caller may ask of a new sandbox.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::grants::{Access, GuestPath};
use crate::limits::MIB;
use crate::{Grants, Mount, Result};

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
    /// Whether a stopped interpreter comes back as it was before the call; if not, it comes back fresh. Default true.
    pub rolls_back: bool,
    /// Without calls for this long it is stopped. Default 15 minutes.
    pub idle: Duration,
    /// Stopped for this long it is destroyed. Default 7 days (S3-19).
    pub retention: Duration,
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
            rolls_back: true,
            idle: Duration::from_secs(15 * 60),
            retention: Duration::from_secs(7 * 24 * 3600),
        }
    }
}
