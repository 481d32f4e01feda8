//! Which modules are run, and what their results come to.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use dormouse::{Dormouse, Limits, Policy};
use dormouse_chores::arguments::Extent;
use dormouse_chores::outcome::Totals;
use dormouse_chores::progress::complain;
use dormouse_chores::workspace;

use super::material;
use super::module::{Job, Runner, WALL};
use crate::expected::{Expected, Kind};
use crate::report::Report;
use crate::sandbox::each;

/// A run that takes longer, in seconds, comes near its limit and is worth a line.
const SLOW: f64 = 80.0;

/// Runs CPython's tests in the Python guest.
pub(crate) fn run(extent: &Extent) -> Result<Totals> {
    let home = workspace().join("tests/conformance/cpython");
    let read =
        |name: &str| fs::read_to_string(home.join(name)).with_context(|| format!("cannot read `{name}`"));
    let folder = material::provide()?;
    let mut expected = Expected::load("cpython", "expected.txt")?;
    let mut report = Report::default();
    let mut modules = found(&folder)?;
    modules.retain(|module| {
        let reason = expected.skipped(module);
        extent.wants(module) && reason.inspect(|reason| report.skip(reason, 1)).is_none()
    });
    let jobs = jobs(&modules, &expected);
    let runner = Runner { dormouse: dormouse()?, folder, script: read("run.py")? };
    let results = each("cpython", &jobs, |index| runner.run(&jobs[index]))?;
    for (job, results) in jobs.iter().zip(results) {
        if results.seconds > SLOW {
            complain(&format!("cpython: {} took {:.0} s", job.module, results.seconds));
        }
        report.passed += results.passed;
        for (cause, count) in results.skipped {
            report.skip(&cause, count);
        }
        for (name, message) in results.failed {
            report.failures.insert(full_name(&job.module, &name), message);
        }
    }
    report.close("cpython", &mut expected, extent, |name| modules.iter().any(|module| is_of(name, module)))
}

/// The tests may take longer than the snippets of clients.
fn dormouse() -> Result<Dormouse> {
    let policy = Policy::default();
    let ceiling = Limits { wall: WALL, ..policy.ceiling };
    Ok(Dormouse::builder()?.policy(Policy { ceiling, ..policy }).build()?)
}

/// Every module and every package of tests, by name, in order.
fn found(folder: &Path) -> Result<Vec<String>> {
    let mut modules = Vec::new();
    for entry in fs::read_dir(folder.join("test"))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let bare = name.strip_suffix(".py").or_else(|| entry.path().is_dir().then_some(&name));
        if let Some(bare) = bare.filter(|bare| bare.starts_with("test_")) {
            modules.push(format!("test.{bare}"));
        }
    }
    modules.sort();
    Ok(modules)
}

/// One run for each module, and one more for each test that would end it.
fn jobs(modules: &[String], expected: &Expected) -> Vec<Job> {
    let mut jobs = Vec::new();
    for module in modules {
        let of_module = |kind| {
            let names =
                expected.of(kind).map(|(name, _)| name).filter(|name| is_of(name, module) && name != module);
            names.map(|name| bare_name(module, name)).collect::<Vec<_>>()
        };
        let stops = of_module(Kind::Stop);
        for name in &stops {
            jobs.push(Job { module: module.clone(), only: vec![name.clone()], without: Vec::new() });
        }
        let without = stops.into_iter().chain(of_module(Kind::Skip)).collect();
        jobs.push(Job { module: module.clone(), only: Vec::new(), without });
    }
    jobs
}

/// Names that do not say their module get it in front.
fn full_name(module: &str, name: &str) -> String {
    if is_of(name, module) { name.to_owned() } else { format!("{module}: {name}") }
}

fn bare_name(module: &str, name: &str) -> String {
    name.strip_prefix(&format!("{module}: ")).unwrap_or(name).to_owned()
}

fn is_of(name: &str, module: &str) -> bool {
    name.strip_prefix(module)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.') || rest.starts_with(": "))
}
