//! A project that a snippet runs inside of.

use std::path::PathBuf;

use crate::{Access, Error, GuestPath, Mount, Result};

/// A folder of the host that is shown as [`Project::TARGET`] and is opened before the snippet runs: its packages can be
/// imported, and `container()` gives what its bootstrap file made (requirements S1-05).
///
/// Opening has the run's wall-clock limit for itself, and is no part of the run's time. What the bootstrap prints is
/// dropped, unless it fails: then it is the outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// The folder on the host.
    pub source: PathBuf,
    /// What may be done there. Default: read only.
    pub access: Access,
    /// The bootstrap file, relative to the folder. None: the first of the usual ones, if there is one (docs/projects.md).
    pub bootstrap: Option<String>,
}

impl Project {
    /// Where the sandbox sees it; also the working directory, unless the grants name another.
    pub const TARGET: &'static str = "/project";

    /// A project that is only read, with the usual bootstrap file.
    pub fn new(source: impl Into<PathBuf>) -> Self {
        Self { source: source.into(), access: Access::ReadOnly, bootstrap: None }
    }

    /// The project as a mount.
    ///
    /// # Errors
    /// None: the target is a path.
    pub fn mount(&self) -> Result<Mount> {
        Ok(Mount {
            source: self.source.clone(),
            target: GuestPath::parse(Self::TARGET)?,
            access: self.access,
        })
    }

    /// Checks that the bootstrap file lies in the project.
    ///
    /// # Errors
    /// `args_invalid`, naming the file.
    pub fn check(&self) -> Result<()> {
        let Some(file) = &self.bootstrap else { return Ok(()) };
        GuestPath::parse(&format!("{}/{file}", Self::TARGET)).map(drop).map_err(|_| {
            Error::args_invalid(format!("the bootstrap file `{}` is not in the project", file.escape_debug()))
                .with_hint("name a file relative to the project, such as `config/container.py`")
        })
    }
}
