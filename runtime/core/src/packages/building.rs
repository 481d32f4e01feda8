//! The port to machines in which packages are built, since no code of a package runs on the host.

use async_trait::async_trait;

use crate::sandbox::Owner;
use crate::{GuestPath, Outcome, Result};

/// One run of a build: files, and a snippet of Python over them.
#[derive(Clone, Debug)]
pub struct Build {
    /// Files that are there when it begins, with their folders.
    pub files: Vec<(GuestPath, Vec<u8>)>,
    /// The snippet.
    pub code: String,
    /// The folder whose only file is taken afterwards.
    pub takes: GuestPath,
    /// Most bytes of that file.
    pub most: u64,
}

/// What came of it.
#[derive(Debug)]
pub struct Built {
    /// How the snippet ended, and what it wrote.
    pub outcome: Outcome,
    /// The name and the bytes of the only file in the folder. None: there is no such folder, or not one file in it.
    pub file: Option<(String, Vec<u8>)>,
}

/// Machines in which packages are built.
#[async_trait]
pub trait BuildMachines: Send + Sync {
    /// Runs a build in a machine of its own: an empty sandbox that nothing is granted to, which is gone afterwards. Dropping the
    /// future ends it.
    ///
    /// # Errors
    /// `busy` when no room comes free in time; `limit_disk` when the files do not fit; `too_large` for a file of more than
    /// [`Build::most`] bytes; what keeps the provider from running it. How the snippet ended is in [`Built::outcome`].
    async fn build(&self, owner: &Owner, build: Build) -> Result<Built>;
}
