//! Starts other programs, bounded in time, and keeps what they say.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use crate::progress::complain;

/// What a download or an installation may take.
pub const NETWORK_TIMEOUT: Duration = Duration::from_secs(600);

/// How many of the last lines of a failed program's output are shown.
const SHOWN_LINES: usize = 60;

/// What an installation may take.
pub const INSTALLATION: Duration = Duration::from_secs(600);

/// How a program ended and what it said.
pub struct Said {
    /// None: it did not end in time.
    pub status: Option<ExitStatus>,
    /// Its standard output; what is not UTF-8 is replaced.
    pub stdout: String,
    /// Its standard error, likewise.
    pub stderr: String,
}

impl Said {
    /// Whether it ended in time, with the status 0.
    #[must_use]
    pub fn succeeded(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }

    /// The end of it in words, with the last lines of standard error.
    #[must_use]
    pub fn end(&self) -> String {
        let status =
            self.status.map_or_else(|| "did not end in time".to_owned(), |status| status.to_string());
        let last: Vec<&str> = self.stderr.trim_end().lines().rev().take(12).collect();
        let last: Vec<&str> = last.into_iter().rev().collect();
        format!("{status}: {}", last.join(" / "))
    }
}

/// Runs a program to its end, or ends it after `limit` (the status is then none).
///
/// # Errors
///
/// It does not start, or what it prints cannot be kept.
pub fn run(command: &mut Command, limit: Duration) -> Result<Said> {
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
///
/// # Errors
///
/// The last attempt has failed too.
pub fn fetch(mut command: impl FnMut() -> Command) -> Result<Said> {
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
///
/// # Errors
///
/// It does not start, does not end within [`INSTALLATION`], or does not succeed.
pub fn install(command: &mut Command) -> Result<Said> {
    let said = run(command, INSTALLATION)?;
    ensure!(said.succeeded(), "{}: {}", command.get_program().to_string_lossy(), said.end());
    Ok(said)
}

/// Runs a program and ends it when it takes longer than `limit`. Its output is shown when it fails.
///
/// # Errors
///
/// It does not start, does not end in time, or does not succeed.
pub fn run_for(command: &mut Command, limit: Duration) -> Result<()> {
    let log = tempfile::NamedTempFile::new()?;
    let started = Instant::now();
    command.stdin(Stdio::null()).stdout(log.reopen()?).stderr(log.reopen()?);
    let mut child = command.spawn().with_context(|| format!("cannot run {command:?}"))?;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if started.elapsed() > limit {
            let _ = child.kill();
            let _ = child.wait();
            bail!("{command:?} did not end within {} s", limit.as_secs());
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    if !status.success() {
        bail!("{status}\n{}\n{command:?}", tail(&fs::read(log.path()).unwrap_or_default()));
    }
    Ok(())
}

/// The last lines of what a program printed.
#[must_use]
pub fn tail(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n")
}

/// Looks a program up on the PATH.
#[must_use]
pub fn on_path(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}
