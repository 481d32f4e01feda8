//! Schemathesis makes requests out of the OpenAPI document of `dormouse serve`, good ones and bad ones, and holds the answers to
//! it: no fault of the server's, a documented status, and a body of the documented form.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use dormouse_chores::arguments::Extent;
use dormouse_chores::progress::Progress;
use dormouse_chores::{program, python, workspace};
use serde_json::Value as Json;

use super::report::Report;
use super::server;

const PACKAGE: &str = "schemathesis==4.32.5";
const NAME: &str = "schemathesis";
const LIMIT: Duration = Duration::from_secs(600);

/// What every answer is held to.
const CHECKS: &str =
    "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance";
/// Random requests of each operation, the same in each run; the systematic ones are some 40 more.
const EXAMPLES: &str = "25";

/// Runs it; each operation is one test.
pub(super) fn run(program: &Path, extent: &Extent, report: &mut Report) -> Result<()> {
    if !extent.wants(NAME) {
        return Ok(());
    }
    if let Err(cause) = python::require() {
        report.skip(&cause, 1);
        return Ok(());
    }
    let environment = python::environment(NAME, PACKAGE)?;
    Progress::new("clients").say(NAME);
    let folder = tempfile::tempdir()?;
    let state = folder.path().join("state");
    program::install(Command::new(program).args(["sandbox", "create", "work", "--state-dir"]).arg(&state))?;
    let served = server::Served::start(program, &state)?;
    let results = folder.path().join("results.ndjson");
    let mut command = Command::new(environment.join("bin/schemathesis"));
    command
        .current_dir(folder.path())
        .arg("--config-file")
        .arg(workspace().join("tests/clients/schemathesis.toml"))
        .args(["run", &format!("{}/openapi.json", served.address())])
        .args(["--checks", CHECKS, "--max-examples", EXAMPLES])
        .args(["--generation-deterministic", "--no-shrink", "--no-color"])
        .args(["--phases", "examples,coverage,fuzzing", "--workers", "2", "--request-timeout", "70"])
        .args(["--warnings", "off", "--continue-on-failure", "--report-ndjson-path"])
        .arg(&results);
    let said = program::run(&mut command, LIMIT)?;
    let events = std::fs::read_to_string(&results).with_context(|| said.end())?;
    let mut seen = 0;
    for line in events.lines() {
        let event: Json = serde_json::from_str(line)?;
        let scenario = &event["ScenarioFinished"];
        let field = |name: &str| scenario[name].as_str().unwrap_or_default();
        let operation = scenario["recorder"]["label"].as_str().unwrap_or_default();
        let name = format!("{NAME} {} {operation}", field("phase"));
        match field("status") {
            "success" => report.count(&name, Ok(())),
            // No event of a scenario's end, or a phase that has nothing for this operation.
            "" | "skip" => continue,
            status => report.count(&name, Err(status.to_owned())),
        }
        seen += 1;
    }
    ensure!(seen > 0, "it asked nothing: {}", said.end());
    if !said.succeeded() {
        report.note(said.stdout);
    }
    served.stop()
}
