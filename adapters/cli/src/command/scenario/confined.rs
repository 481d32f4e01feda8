//! What a run needs of the host besides its tools: a folder for what passes, one that tells whose containers are whose, and,
//! when its process confines itself, the folders of its files and of its report, and programs and addresses that the files
//! name.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use dormouse::{Error, Result};
use dormouse_scenario::{Plan, Scenario};
use dormouse_sources::{CommandSource, Outside, Program, Scope, template};
use serde_json::{Map, Value as Json};
use tempfile::TempDir;

use super::registry::own;
use crate::args::McpArgs;
use crate::settings;
use crate::settings::wall::Further;

/// What the provider of containers keeps in the folder of an installation.
const CONTAINERS: &str = "docker";

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
        tempfile::tempdir().map(Self::Ours).map_err(failed)
    }

    /// From now on the helper removes it, where there is one. Not before the helper is there.
    pub(super) fn handed_over(&mut self, arguments: &McpArgs) {
        if arguments.confine
            && let Self::Ours(folder) = std::mem::replace(self, Self::Named)
        {
            *self = Self::Helpers(folder.keep());
        }
    }

    fn folder(&self) -> Option<&Path> {
        match self {
            Self::Named => None,
            Self::Ours(folder) => Some(folder.path()),
            Self::Helpers(folder) => Some(folder),
        }
    }

    /// The folder of the state in it.
    pub(super) fn state(&self) -> Option<PathBuf> {
        self.folder().map(|folder| folder.join("state"))
    }

    /// Where containers are told apart, when the state passes: in the user's own folder, where the next run finds those of
    /// one that was killed. None: in the state, or nowhere, where there is none to be had.
    pub(super) fn installation(&self, arguments: &McpArgs) -> Option<PathBuf> {
        if matches!(self, Self::Named) || !settings::docker::is_on(&arguments.docker) {
            return None;
        }
        let made = settings::state_folder(None).and_then(|folder| {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(folder.join(CONTAINERS));
            made.map_err(|error| Error::internal("the folder of this user's data cannot be made", error))?;
            Ok(folder)
        });
        let told =
            |error: &Error| tracing::warn!(%error, "if this run is killed, nobody removes its containers");
        made.inspect_err(told).ok()
    }
}

/// What the run needs besides its tools; `sources` are those of the operator's own.
///
/// # Errors
/// As of checking the arguments of an entry.
pub(super) fn further(
    plan: &Plan,
    (arguments, sources): (&McpArgs, &[String]),
    out: &Path,
    folders: &[PathBuf],
    passing: &Passing,
    installation: Option<&Path>,
) -> Result<Further> {
    if !arguments.confine {
        return Ok(Further::none());
    }
    let containers = settings::docker::is_on(&arguments.docker);
    let addresses = plan.entries.iter().any(|entry| entry.url.is_some());
    let skills = plan.skills.iter().map(|(_, path)| path.clone());
    let written = if arguments.allow_writes { folders } else { &[] };
    let mut programs: Vec<_> = plan.entries.iter().filter_map(dormouse_sources::Entry::program).collect();
    programs.extend(own_programs(plan, sources)?);
    Ok(Further {
        read: folders.iter().cloned().chain(skills).collect(),
        // Of the installation's folder no more than that: others' sandboxes may lie beside it.
        write: installation
            .map(|folder| folder.join(CONTAINERS))
            .into_iter()
            .chain([out.to_owned()])
            .chain(written.iter().cloned())
            .collect(),
        // A container's server is reached at a port of this process, which carries what comes into the container.
        connects: plan.model.is_some() || addresses || containers,
        relays: containers,
        programs,
        remove: passing.folder().map(Path::to_owned),
        ..Further::none()
    })
}

/// The programs of `--source`, as each entry starts them in each scenario: what the templates stand for is known before anything is
/// opened.
fn own_programs(plan: &Plan, sources: &[String]) -> Result<Vec<Program>> {
    let mut programs = Vec::new();
    for text in sources {
        let (name, words) = own(text)?;
        let source = CommandSource::new(words, Outside::default().programs)?;
        for entry in plan.entries.iter().filter(|entry| entry.source.as_deref() == Some(name.as_str())) {
            let no_scenario = std::iter::once(Map::new());
            let all: Vec<Map<String, Json>> = match entry.scope {
                None | Some(Scope::Run) => no_scenario.collect(),
                Some(_) => plan.scenarios.iter().map(Scenario::template_variables).collect(),
            };
            for variables in all {
                let program = source.told(&template::fill(&entry.source_args, &variables)?)?;
                if !programs.contains(&program) {
                    programs.push(program);
                }
            }
        }
    }
    Ok(programs)
}
