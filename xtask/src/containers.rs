//! The phase `docker` of `cargo xtask test`. Tests of containers lie among all others, so the engine is up before the phase
//! `rust`, which runs them; where that does not run, this phase runs the test programs that use an engine.

use std::collections::BTreeSet;

use anyhow::{Result, bail, ensure};
use dormouse_chores::outcome::Outcome;
use dormouse_chores::process;
use dormouse_chores::progress::complain;
use dormouse_test_engine::{Session, Start};

use crate::{check, test};

/// The crates whose test programs use an engine, and the test programs of other crates that do.
const CRATES: [&str; 4] = ["dormouse-docker", "dormouse-kubernetes", "dormouse-sources", "dormouse-scenario"];
const PROGRAMS: [&str; 1] = ["docker"];

/// The engine of this run, from its start to the phase that closes it.
pub(crate) struct Containers {
    /// Whether the phase `docker` is among the phases.
    planned: bool,
    /// The error is told by the phase `docker`.
    start: Option<Result<Start>>,
    /// Whether tests have run that use it.
    used: bool,
}

impl Containers {
    pub(crate) fn planned(planned: bool) -> Self {
        Self { planned, start: None, used: false }
    }

    /// What tests are told in their environment: nothing unless the phase `docker` follows and there is an engine. The
    /// engine is started with the first call.
    pub(crate) fn environment(&mut self) -> Vec<(&'static str, String)> {
        if !self.planned {
            return Vec::new();
        }
        self.used = true;
        match self.start.get_or_insert_with(Session::start) {
            Ok(Start::Ready(session)) => session.environment().into(),
            _ => Vec::new(),
        }
    }

    /// Runs the tests unless they have run, and closes the engine.
    pub(crate) fn finish(&mut self) -> Result<Outcome> {
        let have_run = self.used;
        let environment = self.environment();
        let session = match self.start.take() {
            Some(Ok(Start::Ready(session))) => session,
            Some(Ok(Start::Skipped(cause))) => {
                complain(&format!("docker: skipped: {cause}"));
                return Ok(Outcome::skipped());
            }
            Some(Err(error)) => return Err(error),
            None => bail!("the phase `docker` was not planned"),
        };
        let mut outcome = Outcome::default();
        if !have_run {
            process::cargo(&["build", "--release", "--workspace", "--bins", "--tests"])?;
            let programs = programs()?;
            let which: Vec<&str> = programs.iter().flat_map(|program| ["--test", program]).collect();
            outcome = test::tests(&which, &environment)?;
        }
        outcome.add(session.finish()?);
        Ok(outcome)
    }
}

/// The names of the test programs that use an engine.
fn programs() -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for package in check::packages()? {
        let is_one = package["name"].as_str().is_some_and(|name| CRATES.contains(&name));
        for target in package["targets"].as_array().into_iter().flatten() {
            let name = target["name"].as_str().unwrap_or_default();
            if target["kind"][0] == "test" && (is_one || PROGRAMS.contains(&name)) {
                names.insert(name.to_owned());
            }
        }
    }
    ensure!(!names.is_empty(), "no test program uses an engine");
    Ok(names)
}
