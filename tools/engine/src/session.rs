//! The engine of one run of `cargo xtask test`: up before the first test that can use it, with the test images in it; and
//! in the end the proof that tests used it and that nothing of them is left.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};
use dormouse_chores::outcome::Outcome;
use dormouse_chores::progress::{Progress, complain};

use super::Engine;
use super::inventory::{Inventory, LABEL};
use crate::images;

/// Tells tests that an engine is there: one that is skipped for want of an engine fails then.
const REQUIRE: &str = "DORMOUSE_REQUIRE_DOCKER";

/// How a session began.
pub enum Start {
    /// The tests have an engine.
    Ready(Session),
    /// There is none, for this cause.
    Skipped(String),
}

/// An engine with the test images, and what else was in it.
pub struct Session {
    engine: Engine,
    before: Inventory,
    /// Seconds since 1970.
    began: u64,
}

impl Session {
    /// Starts or finds the engine. Without one the tests go on and skip what needs it, unless `DOCKER_HOST` or
    /// `DORMOUSE_REQUIRE_DOCKER` says that there has to be one.
    ///
    /// # Errors
    ///
    /// There is no engine and there has to be one, or it has no test images and cannot get them.
    pub fn start() -> Result<Start> {
        let engine = match Engine::provide() {
            Ok(engine) => engine,
            Err(error) if is_required() => bail!("docker: {error:#}"),
            Err(error) => return Ok(Start::Skipped(format!("{error:#}"))),
        };
        Progress::new("docker").say(&format!(
            "{} at {}",
            engine.client().version()?,
            if engine.is_own() { "a private folder" } else { engine.client().host() }
        ));
        images::provide(engine.client(), false)?;
        let before = Inventory::take(&engine)?;
        let began = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        Ok(Start::Ready(Self { engine, before, began }))
    }

    /// What tests are told in their environment.
    #[must_use]
    pub fn environment(&self) -> [(&'static str, String); 2] {
        [("DOCKER_HOST", self.engine.client().host().to_owned()), (REQUIRE, "1".to_owned())]
    }

    /// Checks that tests have started containers, that nothing of them is left, and that the engine ends cleanly. Each is a
    /// count of the totals.
    ///
    /// # Errors
    ///
    /// The engine does not answer.
    pub fn finish(self) -> Result<Outcome> {
        let mut outcome = Outcome::default();
        let mut check = |what: &str, problem: Option<String>| match problem {
            None => outcome.add(Outcome::passed()),
            Some(problem) => {
                let problem = format!("docker: {what}: {problem}");
                complain(&problem);
                outcome.add(Outcome::failed(problem));
            }
        };
        let unused = self.is_unused()?.then(|| "no test has started a container".to_owned());
        check("use", unused);
        let left = self.before.left_over(&self.engine)?;
        check("leftovers", (!left.is_empty()).then(|| left.join(", ")));
        check("end", self.engine.stop().err().map(|error| format!("{error:#}")));
        Ok(outcome)
    }

    fn is_unused(&self) -> Result<bool> {
        let since = self.began.to_string();
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs().to_string();
        let filters = ["--filter", "type=container", "--filter", LABEL, "--format", "{{.Action}}"];
        let events = ["events", "--since", &since, "--until", &now].into_iter().chain(filters);
        Ok(self.engine.client().run(events)?.is_empty())
    }
}

fn is_required() -> bool {
    [REQUIRE, "DOCKER_HOST"].iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}
