//! The MCP conformance suite, against `dormouse serve`. Scenarios that call tools, resources or prompts of the suite's own
//! fixture server are skipped by name.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use dormouse_chores::arguments::Extent;
use dormouse_chores::outcome::Totals;
use dormouse_chores::progress::Progress;
use dormouse_chores::{node, program};
use serde_json::Value as Json;

use super::expected::Expected;
use super::report::Report;
use super::server;

/// One revision of the protocol: the release of the suite that knows it, and how all its scenarios are asked for.
struct Era {
    revision: &'static str,
    package: &'static str,
    arguments: &'static [&'static str],
}

const ERAS: [Era; 2] = [
    Era {
        revision: "2025-11-25",
        package: "@modelcontextprotocol/conformance@0.1.16",
        arguments: &["--suite", "all", "--spec-version", "2025-11-25"],
    },
    Era {
        revision: "2026-07-28",
        package: "@modelcontextprotocol/conformance@0.2.0-alpha.12",
        arguments: &["--requirements", "2026-07-28"],
    },
];

const LIMIT: Duration = Duration::from_secs(300);

/// Length of the time in a result folder's name: `-2026-11-21T06-21-17-691Z`.
const STAMP: usize = 25;

/// Runs the suite for both eras.
pub(super) fn run(extent: &Extent) -> Result<Totals> {
    let mut report = Report::default();
    let mut expected = Expected::load("mcp", "expected.txt")?;
    if let Err(cause) = node::require() {
        report.skip(&cause, ERAS.len() as u64);
        return report.close("mcp-conformance", &mut expected, extent, |_| false);
    }
    let state = tempfile::tempdir()?;
    let server = server::Served::start(&server::dormouse()?, &state.path().join("state"))?;
    let address = format!("{}/mcp", server.address());
    let node = node::node(node::FOR_SUITES)?;
    let mut ran = BTreeSet::new();
    for era in ERAS.iter().filter(|era| extent.wants(era.revision)) {
        Progress::new("mcp-conformance").say(&format!("{} with {}", era.revision, era.package));
        let results = tempfile::tempdir()?;
        examine(era, &node, &address, results.path())?;
        for entry in fs::read_dir(results.path())? {
            let entry = entry?;
            let folder = entry.file_name().to_string_lossy().into_owned();
            let scenario =
                folder.strip_prefix("server-").and_then(|name| name.get(..name.len().checked_sub(STAMP)?));
            let scenario = scenario.with_context(|| format!("`{folder}` names no scenario"))?;
            let name = format!("{} {scenario}", era.revision);
            if let Some(cause) = expected.skipped(&name) {
                report.skip(cause, 1);
                continue;
            }
            let checks = fs::read_to_string(entry.path().join("checks.json"))?;
            count(&name, &serde_json::from_str(&checks)?, &mut report);
            ran.insert(name);
        }
    }
    server.stop()?;
    let of_run = |name: &str| name.split_once(": ").is_some_and(|(scenario, _)| ran.contains(scenario));
    report.close("mcp-conformance", &mut expected, extent, of_run)
}

/// Lets the suite write its results into a folder. Its exit status says that some check failed; which, the results say.
fn examine(era: &Era, node: &OsString, address: &str, results: &Path) -> Result<()> {
    let folder = node::packages(&format!("conformance-{}", era.revision), &[era.package])?;
    let mut command = Command::new(node);
    command.arg(folder.join("node_modules/@modelcontextprotocol/conformance/dist/index.js"));
    command.args(["server", "--url", address]).args(era.arguments).arg("-o").arg(results);
    let said = program::run(&mut command, LIMIT)?;
    ensure!(said.stdout.contains("SUMMARY"), "the suite for {} broke off: {}", era.revision, said.end());
    Ok(())
}

/// One check may be made several times in a scenario; it passes when it never fails.
fn count(scenario: &str, checks: &Json, report: &mut Report) {
    let mut passed = BTreeSet::new();
    let mut failed = BTreeSet::new();
    for check in checks.as_array().into_iter().flatten() {
        let field = |key: &str| check[key].as_str().unwrap_or_default();
        let name = format!("{scenario}: {}", field("id"));
        match field("status") {
            "SUCCESS" => drop(passed.insert(name)),
            // Its own log.
            "INFO" => {}
            "SKIPPED" => report.skip("the suite found nothing to check", 1),
            status => {
                report.count(&name, Err(format!("{status}: {}", field("errorMessage"))));
                failed.insert(name);
            }
        }
    }
    report.passed += passed.difference(&failed).count() as u64;
}
