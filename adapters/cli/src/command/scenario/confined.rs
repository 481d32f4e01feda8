//! What a run needs when its process confines itself: the folders of its files and of its report, programs and addresses that
//! the files name, and a folder for what passes.

use std::path::PathBuf;

use dormouse::{Error, ErrorCode, Result};
use dormouse_scenario::Plan;
use tempfile::TempDir;

use crate::args::{McpArgs, ScenarioArgs};
use crate::settings;
use crate::settings::wall::Further;

/// A folder for what sandboxes hold during the run, unless the operator has named one.
pub(super) enum Passing {
    /// There is one that stays.
    Named,
    /// This process removes it when it is dropped.
    Ours(TempDir),
    /// A helper removes it when this process has ended, which may not touch the folder around it then.
    Helpers(PathBuf),
}

impl Passing {
    pub(super) fn new(arguments: &McpArgs) -> Result<Self> {
        if arguments.state_dir.is_some() {
            return Ok(Self::Named);
        }
        let failed = |error| Error::internal("there is no folder for the sandboxes", error);
        let folder = tempfile::tempdir().map_err(failed)?;
        Ok(if arguments.confine { Self::Helpers(folder.keep()) } else { Self::Ours(folder) })
    }

    /// The folder of the state in it.
    pub(super) fn state(&self) -> Option<PathBuf> {
        match self {
            Self::Named => None,
            Self::Ours(folder) => Some(folder.path().join("state")),
            Self::Helpers(folder) => Some(folder.join("state")),
        }
    }
}

/// What the run needs besides its tools. Makes the report's folder: afterwards nothing can be made beside it.
pub(super) fn further(
    plan: &Plan,
    arguments: &ScenarioArgs,
    folders: &[PathBuf],
    passing: &Passing,
) -> Result<Further> {
    if !arguments.tools.confine {
        return Ok(Further::none());
    }
    let report = std::path::absolute(&arguments.out).and_then(|folder| {
        std::fs::create_dir_all(&folder)?;
        Ok(folder)
    });
    let report = report.map_err(|error| {
        let shown = arguments.out.display();
        Error::new(ErrorCode::PathDenied, format!("the folder of the report, `{shown}`, cannot be written"))
            .with_hint("name a folder that can be written")
            .with_source(error)
    })?;
    let remove = match passing {
        Passing::Helpers(folder) => Some(folder.clone()),
        _ => None,
    };
    let containers = settings::docker::is_on(&arguments.tools.docker);
    let addresses = plan.entries.iter().any(|entry| entry.url.is_some());
    Ok(Further {
        read: folders.to_vec(),
        write: vec![report],
        // A container's server is reached at a port of this machine.
        connects: plan.model.is_some() || addresses || containers,
        programs: plan.entries.iter().filter_map(dormouse_sources::Entry::program).collect(),
        remove,
        ..Further::none()
    })
}
