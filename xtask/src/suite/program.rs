//! Starts other programs, bounded in time, and keeps what they say.

use std::fs;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use crate::progress::complain;

/// What an installation may take.
pub(crate) const INSTALLATION: Duration = Duration::from_secs(600);

/// How a program ended and what it said.
pub(crate) struct Said {
    pub(crate) status: Option<ExitStatus>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Said {
    pub(crate) fn succeeded(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }

    /// The end of it in words, with the last lines of standard error.
    pub(crate) fn end(&self) -> String {
        let status =
            self.status.map_or_else(|| "did not end in time".to_owned(), |status| status.to_string());
        let last: Vec<&str> = self.stderr.trim_end().lines().rev().take(12).collect();
        let last: Vec<&str> = last.into_iter().rev().collect();
        format!("{status}: {}", last.join(" / "))
    }
}

/// Runs a program to its end, or ends it after `limit` (the status is then none).
pub(crate) fn run(command: &mut Command, limit: Duration) -> Result<Said> {
    let (out, err) = (tempfile::NamedTempFile::new()?, tempfile::NamedTempFile::new()?);
    command.stdin(Stdio::null()).stdout(out.reopen()?).stderr(err.reopen()?);
    let shown = command.get_program().to_string_lossy().into_owned();
    let mut child = command.spawn().with_context(|| format!("`{shown}` does not start"))?;
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if started.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            break None;
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let text = |file: &tempfile::NamedTempFile| -> Result<String> {
        Ok(String::from_utf8_lossy(&fs::read(file.path())?).into_owned())
    };
    Ok(Said { status, stdout: text(&out)?, stderr: text(&err)? })
}

/// Pauses before the further attempts at what needs the network.
const PAUSES: [Duration; 3] = [Duration::from_secs(5), Duration::from_secs(20), Duration::from_secs(60)];

/// Runs a step of an installation that fetches packages; what fails is tried again after a pause.
pub(crate) fn fetch(mut command: impl FnMut() -> Command) -> Result<Said> {
    let mut pauses = PAUSES.iter();
    loop {
        let error = match install(&mut command()) {
            Ok(said) => return Ok(said),
            Err(error) => error,
        };
        let Some(pause) = pauses.next() else {
            let attempts = PAUSES.len() + 1;
            return Err(
                error.context(format!("the package registry did not serve it in {attempts} attempts"))
            );
        };
        complain(&format!("{error:#}; trying again in {} s", pause.as_secs()));
        std::thread::sleep(*pause);
    }
}

/// Runs a step of an installation.
pub(crate) fn install(command: &mut Command) -> Result<Said> {
    let said = run(command, INSTALLATION)?;
    ensure!(said.succeeded(), "{}: {}", command.get_program().to_string_lossy(), said.end());
    Ok(said)
}
