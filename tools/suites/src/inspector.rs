//! The MCP inspector against `dormouse mcp`: are the tools' schemas portable, and do calls work in both eras?

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use dormouse_chores::arguments::Extent;
use dormouse_chores::outcome::Totals;
use dormouse_chores::progress::Progress;
use dormouse_chores::{node, program};

use super::expected::Expected;
use super::report::Report;
use super::server;

const PACKAGE: &str = "@modelcontextprotocol/inspector@2.12.0";
const LIMIT: Duration = Duration::from_secs(120);

/// What is asked of the inspector: a name, its arguments, and what has to stand in its answer.
const CHECKS: [(&str, &[&str], &str); 5] = [
    ("strict schemas", &["--method", "tools/list", "--strict"], "sandbox_eval"),
    ("list, legacy", &["--method", "tools/list", "--protocol-era", "legacy"], "sandbox_eval"),
    ("list, modern", &["--method", "tools/list", "--protocol-era", "modern"], "sandbox_eval"),
    (
        "call, legacy",
        &[
            "--method",
            "tools/call",
            "--tool-name",
            "sandbox_eval",
            "--tool-arg",
            "code=6*7",
            "--protocol-era",
            "legacy",
        ],
        "\"value\": 42",
    ),
    (
        "call, modern",
        &[
            "--method",
            "tools/call",
            "--tool-name",
            "sandbox_eval",
            "--tool-arg",
            "code=6*7",
            "--protocol-era",
            "modern",
        ],
        "\"value\": 42",
    ),
];

/// Runs the checks.
pub(super) fn run(extent: &Extent) -> Result<Totals> {
    let mut report = Report::default();
    let mut expected = Expected::load("inspector", "expected.txt")?;
    if let Err(cause) = node::require() {
        report.skip(&cause, CHECKS.len() as u64);
    } else {
        let server = server::dormouse()?;
        let (node, packages) = (node::node(node::FOR_SUITES)?, node::packages("inspector", &[PACKAGE])?);
        for (name, arguments, wanted) in CHECKS.iter().filter(|(name, ..)| extent.wants(name)) {
            Progress::new("inspector").say(name);
            report.count(name, check(&node, &packages, &server, arguments, wanted)?);
        }
    }
    report.close("inspector", &mut expected, extent, |_| true)
}

fn check(
    node: &OsString,
    packages: &Path,
    server: &Path,
    arguments: &[&str],
    wanted: &str,
) -> Result<Result<(), String>> {
    let inspector: PathBuf = packages.join("node_modules/.bin/mcp-inspector");
    let mut command = Command::new(node);
    command.arg(inspector).arg("--cli").arg(server).arg("mcp").args(arguments);
    let said = program::run(&mut command, LIMIT)?;
    let problem = said.stderr.lines().find(|line| line.starts_with("Error"));
    Ok(match problem {
        _ if !said.succeeded() => Err(said.end()),
        Some(line) => Err(line.to_owned()),
        None if !said.stdout.contains(wanted) => Err(format!("its answer lacks `{wanted}`")),
        None => Ok(()),
    })
}
