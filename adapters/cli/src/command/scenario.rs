//! `dormouse scenario`: scenarios over the sources of this process.

mod confined;
mod containers;
mod progress;
mod registry;

use std::path::PathBuf;
use std::sync::Arc;

use dormouse::sandboxes::MountRule;
use dormouse::{Error, ErrorCode};
use dormouse_scenario::{Options, Plan, Report, config};
use dormouse_sources::Mountable;
use tokio_util::sync::CancellationToken;

use self::confined::{Passing, further};
use self::progress::Lines;
use self::registry::{folders, mountable, of_check, of_run};
use super::serving::{Serving, asked_to_end};
use crate::args::{
    CheckArgs, PlaceArgs, SandboxArgs, ScenarioArgs, ScenarioCommand, ScenarioFile, SourceArgs,
    scenario_tools,
};
use crate::audit;
use crate::exit::Failure;
use crate::print;
use crate::settings;

/// Does it; the exit status.
pub(crate) fn run(place: &PlaceArgs, command: ScenarioCommand) -> std::result::Result<u8, Failure> {
    match command {
        ScenarioCommand::Run(arguments) => play(place, &arguments),
        ScenarioCommand::Check(arguments) => {
            let CheckArgs { files, sources, sandboxes } = *arguments;
            let (plan, _) = checked(&files, &sources, &sandboxes).map_err(Failure::Configuration)?;
            let (scenarios, servers) = (plan.scenarios.len(), plan.entries.len());
            print::note(&format!(
                "nothing is wrong: {}, {}",
                count(scenarios, "scenario"),
                count(servers, "server")
            ))?;
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

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// The files and the rule of mounts, after all that a run refuses before it opens anything.
fn checked(
    files: &[PathBuf],
    arguments: &SourceArgs,
    sandboxes: &SandboxArgs,
) -> dormouse::Result<(Plan, Mountable)> {
    let plan = Plan::load(files)?;
    let mounts = settings::mounts(&arguments.mounts, arguments.allow_writes)?;
    let rule = mountable(&folders(files)?, &plan, &mounts, arguments.allow_writes)?;
    let given = settings::checked(&scenario_tools(arguments, sandboxes), mounts)?;
    dormouse_scenario::check(&plan, &of_check(arguments, &rule, &given)?)?;
    Ok((plan, rule))
}

fn play(place: &PlaceArgs, arguments: &ScenarioArgs) -> std::result::Result<u8, Failure> {
    // A process that has confined itself does not know where it is: what is relative is settled before.
    let out = std::path::absolute(&arguments.out).map_err(|error| {
        Error::new(ErrorCode::PathDenied, format!("`{}` is not a folder", arguments.out.display()))
            .with_hint("name a folder for the report with --out")
            .with_source(error)
    })?;
    Report::clear(&out)?;
    let (plan, rule) = checked(&arguments.files, &arguments.sources, &arguments.sandboxes)
        .map_err(Failure::Configuration)?;
    Report::prepare(&out)?;
    let folders = folders(&arguments.files)?;
    // What sandboxes hold is gone with the run, unless it is to stay.
    let tools = scenario_tools(&arguments.sources, &arguments.sandboxes);
    let mut passing = Passing::new(&tools)?;
    let installation = passing.installation(&tools);
    let sources = &arguments.sources.sources;
    let further = further(&plan, (&tools, sources), &out, &folders, &passing, installation.as_deref())?;
    let mut meant = settings::tools(&tools, further)?;
    passing.handed_over(&tools);
    meant.state = meant.state.or_else(|| passing.state());
    meant.installation = installation;
    // The skills that the files name may be mounted, and whatever else lies beside the files; the rule has looked at each.
    meant.docker_roots.extend(folders);
    meant.docker_roots.extend(plan.skills.iter().map(|(_, path)| path.clone()));
    // The source looks at each mount that a file names, and its sandboxes end with the run.
    meant.mounts = MountRule::AsAsked;
    meant.exceptions.options.extend(settings::exceptions::of_sources(&arguments.sources));
    audit::note("scenario", &meant.exceptions)?;
    let serving = Serving::new(place, meant)?;
    let registry = of_run(&serving, &arguments.sources, &rule)?;
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
    let report = done.map_err(Failure::Configuration)?;
    let (written, status) = (report.write(&out), report.status.as_str());
    // What came of the run is told in any case.
    let page = written.as_ref().ok().and_then(|page| page.file_name());
    let shown = page.map(|page| arguments.out.join(page).display().to_string()).unwrap_or_default();
    print::out(&match arguments.json {
        true => format!("{}\n", report.to_json()?),
        false => format!("{status}\t{shown}\n"),
    })?;
    written?;
    Ok(report.exit_code())
}
