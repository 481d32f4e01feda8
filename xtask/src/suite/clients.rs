//! Clients that others wrote: MCP clients, each driving `dormouse mcp` over standard input and output through the same thirteen
//! steps (`tests/clients`), and schemathesis, which holds `dormouse serve` to its OpenAPI document.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::arguments::Extent;
use super::expected::Expected;
use super::report::Report;
use super::{node, program, python, schemathesis, server};
use crate::guests::workspace;
use crate::process::Totals;
use crate::progress::Progress;

/// The Python SDK.
const PYTHON: &str = "mcp==2.3.0";

/// The TypeScript SDKs: the first knows the protocol up to 2025-11-25, the second every revision.
const TYPESCRIPT: [&str; 2] = ["@modelcontextprotocol/sdk@1.32.2", "@modelcontextprotocol/client@2.4.0"];

const STEPS: usize = 13;
const LIMIT: Duration = Duration::from_secs(180);

/// Drives every client in every mode.
pub(super) fn run(extent: &Extent) -> Result<Totals> {
    let server = server::dormouse()?;
    let mut report = Report::default();
    python(&server, extent, &mut report)?;
    typescript(&server, extent, &mut report)?;
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
            Command::new(&python).arg(script).arg(mode).arg(server),
            extent,
            report,
        )?;
    }
    Ok(())
}

fn typescript(server: &Path, extent: &Extent, report: &mut Report) -> Result<()> {
    if let Err(cause) = node::require() {
        report.skip(&cause, 4 * STEPS as u64);
        return Ok(());
    }
    let (node, packages) = (node::node()?, node::packages("typescript-sdk", &TYPESCRIPT)?);
    for mode in ["sdk", "legacy", "2026-07-28", "auto"] {
        let script = workspace().join("tests/clients/typescript_sdk.mjs");
        let mut command = Command::new::<&OsString>(&node);
        command.arg(script).arg(mode).arg(&packages).arg(server);
        drive(&format!("typescript {mode}"), &mut command, extent, report)?;
    }
    Ok(())
}

/// Runs one client; it prints `ok STEP` or `not ok STEP: why`.
fn drive(client: &str, command: &mut Command, extent: &Extent, report: &mut Report) -> Result<()> {
    if !extent.wants(client) {
        return Ok(());
    }
    Progress::new("clients").say(&format!("{client}, {STEPS} steps"));
    let said = program::run(command.arg("mcp"), LIMIT)?;
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
    ensure!(told == STEPS, "the client `{client}` told of {told} steps, not of {STEPS}: {}", said.end());
    Ok(())
}
