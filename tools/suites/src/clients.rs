//! Clients that others wrote (`tests/clients`): the protocol's own, each driving `dormouse mcp` over standard input and output
//! through the same thirteen steps; frameworks that users build agents with, which call every tool over both doors; and
//! schemathesis, which holds `dormouse serve` to its OpenAPI document.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};
use dormouse_chores::arguments::Extent;
use dormouse_chores::outcome::Totals;
use dormouse_chores::progress::Progress;
use dormouse_chores::{node, program, python, workspace};

use super::expected::Expected;
use super::report::Report;
use super::{schemathesis, server};

/// The Python SDK.
const PYTHON: &str = "mcp==2.3.0";

/// The TypeScript SDKs: the first knows the protocol up to 2025-11-25, the second every revision.
const TYPESCRIPT: [&str; 2] = ["@modelcontextprotocol/sdk@1.32.2", "@modelcontextprotocol/client@2.4.0"];

/// Frameworks, each with what it is installed with.
const FRAMEWORKS: [(&str, &str); 5] = [
    ("fastmcp", "fastmcp==4.1.2"),
    ("langchain", "langchain-mcp-adapters==0.3.2 mcp==1.30.0"),
    ("agents", "openai-agents==0.24.0 mcp==2.3.0"),
    ("pydantic-ai", "pydantic-ai-slim[mcp]==2.68.0 mcp==2.3.0"),
    ("smolagents", "smolagents[mcp]==1.26.0 mcp==1.30.0 websockets"),
];

/// Steps of a client of the protocol, and of a framework.
const STEPS: usize = 13;
const FRAMEWORK_STEPS: usize = 6;
const LIMIT: Duration = Duration::from_secs(180);

/// Drives every client in every mode.
pub(super) fn run(extent: &Extent) -> Result<Totals> {
    let server = server::dormouse()?;
    let mut report = Report::default();
    python(&server, extent, &mut report)?;
    typescript(&server, extent, &mut report)?;
    frameworks(&server, extent, &mut report)?;
    schemathesis::run(&server, extent, &mut report)?;
    let mut expected = Expected::load("clients", "expected.txt")?;
    report.close("clients", &mut expected, extent, |_| true)
}

fn python(server: &Path, extent: &Extent, report: &mut Report) -> Result<()> {
    if let Err(cause) = python::require() {
        report.skip(&cause, 3 * STEPS as u64);
        return Ok(());
    }
    let python = python::environment("python-sdk", PYTHON)?.join("bin/python");
    for mode in ["legacy", "2026-07-28", "auto"] {
        let script = workspace().join("tests/clients/python_sdk.py");
        drive(
            &format!("python {mode}"),
            Command::new(&python).arg(script).arg(mode).arg(server).arg("mcp"),
            STEPS,
            (extent, report),
        )?;
    }
    Ok(())
}

fn typescript(server: &Path, extent: &Extent, report: &mut Report) -> Result<()> {
    if let Err(cause) = node::require() {
        report.skip(&cause, 4 * STEPS as u64);
        return Ok(());
    }
    let (node, packages) = (node::node(node::FOR_SUITES)?, node::packages("typescript-sdk", &TYPESCRIPT)?);
    for mode in ["sdk", "legacy", "2026-07-28", "auto"] {
        let script = workspace().join("tests/clients/typescript_sdk.mjs");
        let mut command = Command::new::<&OsString>(&node);
        command.arg(script).arg(mode).arg(&packages).arg(server).arg("mcp");
        drive(&format!("typescript {mode}"), &mut command, STEPS, (extent, report))?;
    }
    Ok(())
}

fn frameworks(server: &Path, extent: &Extent, report: &mut Report) -> Result<()> {
    if let Err(cause) = python::require() {
        report.skip(&cause, (2 * FRAMEWORKS.len() * FRAMEWORK_STEPS) as u64);
        return Ok(());
    }
    for (name, packages) in FRAMEWORKS {
        let doors = ["stdio", "http"].map(|door| (door, format!("{name} {door}")));
        if !doors.iter().any(|(_, client)| extent.wants(client)) {
            continue;
        }
        let python = python::environment(name, packages)?.join("bin/python");
        for (door, client) in doors {
            let script = workspace().join("tests/clients/frameworks.py");
            let mut command = Command::new(&python);
            command.arg(script).arg(name).arg(door).arg(server);
            drive(&client, &mut command, FRAMEWORK_STEPS, (extent, report))?;
        }
    }
    Ok(())
}

/// Runs one client; it prints `ok STEP` or `not ok STEP: why`.
fn drive(
    client: &str,
    command: &mut Command,
    steps: usize,
    (extent, report): (&Extent, &mut Report),
) -> Result<()> {
    if !extent.wants(client) {
        return Ok(());
    }
    Progress::new("clients").say(&format!("{client}, {steps} steps"));
    let said = program::run(command, LIMIT)?;
    let mut told = 0;
    for line in said.stdout.lines() {
        if let Some(step) = line.strip_prefix("ok ") {
            report.count(&format!("{client} {step}"), Ok(()));
        } else if let Some(step) = line.strip_prefix("not ok ") {
            let (step, why) = step.split_once(": ").unwrap_or((step, ""));
            report.count(&format!("{client} {step}"), Err(why.to_owned()));
        } else {
            continue;
        }
        told += 1;
    }
    ensure!(told == steps, "the client `{client}` told of {told} steps, not of {steps}: {}", said.end());
    Ok(())
}
