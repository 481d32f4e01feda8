//! `dormouse scenario`: scenarios over the sources of this process.

mod confined;
mod containers;
mod progress;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dormouse::sandboxes::MountRule;
use dormouse::{Access, Error, Result};
use dormouse_scenario::{Options, Plan, Report, Status, config};
use dormouse_sources::{DockerSource, Registry, WasmSource};
use dormouse_tools::{HostFolders, Surface};
use tokio_util::sync::CancellationToken;

use self::confined::{Passing, further};
use self::containers::EngineContainers;
use self::progress::Lines;
use super::serving::{Serving, asked_to_end};
use crate::args::{PlaceArgs, ScenarioArgs, ScenarioCommand, ScenarioFile};
use crate::audit;
use crate::exit::Failure;
use crate::print;
use crate::settings;

/// Does it; the exit status.
pub(crate) fn run(place: &PlaceArgs, command: ScenarioCommand) -> std::result::Result<u8, Failure> {
    match command {
        ScenarioCommand::Run(arguments) => play(place, &arguments),
        ScenarioCommand::Check { files } => {
            let plan = Plan::load(&files)?;
            print::note(&format!("{} scenarios can be read", plan.scenarios.len()))?;
            Ok(0)
        }
        ScenarioCommand::Schema { of } => {
            let schema = match of {
                ScenarioFile::Arena => config::arena_schema(),
                ScenarioFile::Scenario => config::scenario_schema(),
            };
            print::out(&format!("{schema:#}\n"))?;
            Ok(0)
        }
    }
}

fn play(place: &PlaceArgs, arguments: &ScenarioArgs) -> std::result::Result<u8, Failure> {
    let plan = Plan::load(&arguments.files)?;
    // The skills that the files name may be mounted, read-only, and whatever else lies beside the files.
    let folders: Vec<PathBuf> = folders(&arguments.files)?
        .into_iter()
        .chain(plan.skills.iter().map(|(_, path)| path.clone()))
        .collect();
    // What sandboxes hold is gone with the run, unless it is to stay.
    let passing = Passing::new(&arguments.tools)?;
    let mut meant = settings::tools(&arguments.tools, further(&plan, arguments, &folders, &passing)?)?;
    meant.state = meant.state.or_else(|| passing.state());
    meant.docker_roots.extend(folders.iter().cloned());
    // The source looks at each mount that a file names, and its sandboxes end with the run.
    meant.mounts = MountRule::AsAsked;
    audit::note("scenario", &meant.exceptions)?;
    let serving = Serving::new(place, meant)?;
    let registry = registry(&serving, &folders)?;
    let done = serving.run(async {
        let options = Options {
            fail_fast: arguments.fail_fast,
            concurrency: arguments.jobs.into(),
            cancel: CancellationToken::new(),
            observer: Arc::new(Lines),
        };
        let (ended, cancel) = (asked_to_end(), options.cancel.clone());
        let watching = tokio::spawn(async move {
            ended.await;
            cancel.cancel();
        });
        let report = dormouse_scenario::run(&plan, &registry, &options).await;
        watching.abort();
        report
    })?;
    drop(passing);
    told(&done?, arguments)
}

fn told(report: &Report, arguments: &ScenarioArgs) -> std::result::Result<u8, Failure> {
    let path = report.write(&arguments.out)?;
    if arguments.json {
        print::out(&format!("{}\n", report.to_json()?))?;
    } else {
        let word = match report.status {
            Status::Passed => "passed",
            Status::Failed => "failed",
            Status::Cancelled => "cancelled",
            Status::Skipped => "skipped",
        };
        print::out(&format!("{word}\t{}\n", path.display()))?;
    }
    Ok(report.exit_code())
}

/// The folders of the files: what lies in them may be mounted, read-only.
fn folders(files: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let folder = |file: &PathBuf| {
        let file = file.canonicalize().map_err(|error| {
            Error::args_invalid(format!("`{}` cannot be read", file.display())).with_source(error)
        })?;
        Ok(file.parent().unwrap_or(Path::new("/")).to_owned())
    };
    let mut folders = files.iter().map(folder).collect::<Result<Vec<_>>>()?;
    folders.sort();
    folders.dedup();
    Ok(folders)
}

/// The sources of this process: `wasm`, and `docker` where images are allowed.
fn registry(serving: &Serving, folders: &[PathBuf]) -> Result<Registry> {
    let mut registry = Registry::default().with_outside(serving.meant().confined.outside());
    if let Some(sandboxes) = serving.sandboxes().cloned() {
        let manager = sandboxes.manager().clone();
        let (owned, skills) = (sandboxes.clone(), serving.meant().skills.clone());
        let make = move || {
            Surface::new(manager.clone())
                .with_skills(skills.clone())
                .with_sandboxes(owned.clone(), HostFolders::default())
        };
        let mut source = WasmSource::new(sandboxes, Arc::new(make)).with_grants(&serving.meant().grants);
        for folder in folders {
            source = source.mountable(folder, Access::ReadOnly)?;
        }
        registry.register("wasm", Arc::new(source));
    }
    if let Some(provider) = serving.docker().cloned() {
        registry.register("docker", Arc::new(DockerSource::new(Arc::new(EngineContainers(provider)))));
    }
    Ok(registry)
}
