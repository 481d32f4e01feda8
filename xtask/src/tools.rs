//! The programs below `tools` that `cargo xtask` calls. Cargo builds them first, where they are missing or old.

use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use dormouse_chores::process::{plain_cargo, tool};
use dormouse_chores::program::tail;
use dormouse_chores::progress::{Progress, about};
use dormouse_chores::workspace;

/// A build that takes longer says what it does.
const AT_ONCE: Duration = Duration::from_secs(2);

/// How often a build says that it goes on.
const BEAT: Duration = Duration::from_secs(60);

/// Builds guests. It calls a second program for what needs the engine.
pub(crate) const GUESTS: Tool =
    Tool { program: "dormouse-guests", built: &["dormouse-guests", "dormouse-precompile"] };

/// Runs tests that others wrote.
pub(crate) const SUITES: Tool = Tool { program: "dormouse-suites", built: &["dormouse-suites"] };

/// A program below `tools`.
#[derive(Clone, Copy)]
pub(crate) struct Tool {
    program: &'static str,
    /// It, and the programs that it calls.
    built: &'static [&'static str],
}

impl Tool {
    /// Builds the tool and runs it to its end. The flag says whether it succeeded.
    pub(crate) fn run(self, arguments: impl IntoIterator<Item = OsString>) -> Result<bool> {
        let status = self.command()?.args(arguments).status();
        let status = status.with_context(|| format!("`{}` does not start", self.program))?;
        Ok(status.success())
    }

    /// The tool, built and ready to be run.
    pub(crate) fn command(self) -> Result<Command> {
        self.build()?;
        Ok(Command::new(tool(self.program)))
    }

    fn build(self) -> Result<()> {
        let log = tempfile::NamedTempFile::new()?;
        let mut command = cargo_build(self.built);
        let output = log.reopen()?;
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        let mut child = command.spawn().context("cargo does not start")?;
        let progress = Progress::new("cargo");
        let (started, mut said, mut step) = (Instant::now(), Instant::now(), None);
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if step.is_none() && started.elapsed() > AT_ONCE {
                step = Some(progress.step(&format!(
                    "compile {} (minutes, if the engine is compiled for the first time)",
                    self.built.join(", ")
                )));
            }
            if said.elapsed() > BEAT && !Progress::is_live() {
                said = Instant::now();
                progress.say(&format!("compile {}: {}", self.built.join(", "), about(started.elapsed())));
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        if !status.success() {
            bail!("`{}` does not compile\n{}", self.program, tail(&std::fs::read(log.path())?));
        }
        Ok(())
    }
}

/// Cargo, asked to build these programs. With `--workspace`, so that the features of dependencies are those of every other
/// call, and nothing is compiled in two ways.
pub(crate) fn cargo_build(programs: &[&str]) -> Command {
    let mut command = plain_cargo();
    command.args(["build", "--release", "--workspace"]).current_dir(workspace());
    for program in programs {
        command.args(["--bin", program]);
    }
    command
}
