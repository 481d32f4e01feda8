//! The docker command line, against one engine, each command bounded in time.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use dormouse_chores::program;

/// Where an engine listens that a system has started.
const USUAL: &str = "unix:///var/run/docker.sock";
/// How long an engine may take to say that it is there.
const GREETING: Duration = Duration::from_secs(10);
/// How long any other command may take.
const COMMAND: Duration = Duration::from_secs(300);

/// The command line, told which engine is meant.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    host: String,
}

impl Client {
    pub(crate) fn new(host: String) -> Self {
        Self { host }
    }

    /// The engine that answers already: that of `DOCKER_HOST`, else the system's. It is an error when `DOCKER_HOST` names
    /// one that does not answer: who sets it means it.
    pub(crate) fn find() -> Result<Option<Self>> {
        let told = std::env::var("DOCKER_HOST").ok().filter(|host| !host.is_empty());
        let Some(host) = told else {
            let usual = Self::new(USUAL.to_owned());
            return Ok(usual.version().is_ok().then_some(usual));
        };
        let client = Self::new(host);
        match client.version() {
            Ok(_) => Ok(Some(client)),
            Err(error) => bail!("the engine of DOCKER_HOST ({}) does not answer: {error:#}", client.host),
        }
    }

    /// The value of `DOCKER_HOST` for this engine.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// The engine's version: it answers.
    pub(crate) fn version(&self) -> Result<String> {
        self.within(GREETING, ["version", "--format", "{{.Server.Version}}"])
    }

    /// What a command of docker says, without the last line break.
    pub(crate) fn run<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(&self, arguments: I) -> Result<String> {
        self.within(COMMAND, arguments)
    }

    /// The lines that a command of docker says.
    pub(crate) fn lines<const N: usize>(&self, arguments: [&str; N]) -> Result<Vec<String>> {
        Ok(self.run(arguments)?.lines().map(str::to_owned).collect())
    }

    /// Makes an image of a tar file: its content, and what it is started with.
    pub(crate) fn import(&self, tar: &Path, changes: &[String], name: &str) -> Result<()> {
        let mut arguments = vec!["import".to_owned()];
        arguments.extend(changes.iter().flat_map(|change| ["--change".to_owned(), change.clone()]));
        arguments.extend([tar.display().to_string(), name.to_owned()]);
        self.run(arguments).map(drop)
    }

    fn within<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(
        &self,
        limit: Duration,
        arguments: I,
    ) -> Result<String> {
        let mut command = Command::new("docker");
        command.args(arguments).env("DOCKER_HOST", &self.host).env_remove("DOCKER_CONTEXT");
        let verb = command.get_args().next().unwrap_or_default().to_string_lossy().into_owned();
        let said = program::run(&mut command, limit).context("the docker command line is missing")?;
        ensure!(said.succeeded(), "docker {verb}: {}", said.end());
        Ok(said.stdout.trim_end().to_owned())
    }
}
