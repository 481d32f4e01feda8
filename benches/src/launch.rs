//! The one place that starts processes: peers, whole runs of `dormouse`, and this program itself.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};

/// A command, not started yet.
#[allow(clippy::disallowed_methods, reason = "whole processes are what is measured here")]
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    Command::new(program)
}

/// The `dormouse` that was built beside this program.
pub(crate) fn dormouse() -> Result<PathBuf> {
    let own = std::env::current_exe().context("this program does not know where it is")?;
    let path = own.with_file_name("dormouse");
    ensure!(path.exists(), "there is no `dormouse` beside this program: cargo build --release");
    Ok(path)
}

/// Runs a command to its end; what it printed, trimmed.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let name = name.rsplit('/').next().unwrap_or_default().to_owned();
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("`{name}` does not start"))?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    let last = stderr.trim().lines().last().unwrap_or_default();
    ensure!(output.status.success(), "`{name}` failed: {last}");
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// CPU time that all ended children of this process have used, in milliseconds: in steps of 10, so only sums say much.
pub(crate) fn children_cpu() -> Result<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").context("this system tells no CPU times")?;
    // After the name in parentheses, from the state on: the 13th and 14th fields are cutime and cstime.
    let after = stat.rsplit(')').next().unwrap_or_default();
    let ticks: Vec<f64> =
        after.split_whitespace().skip(13).take(2).filter_map(|field| field.parse().ok()).collect();
    ensure!(ticks.len() == 2, "this system tells no CPU times");
    Ok(ticks.iter().sum::<f64>() * 10.0)
}

/// Milliseconds from start to end of a process that prints `expected`.
pub(crate) fn timed(command: &mut Command, expected: &str) -> Result<f64> {
    let begin = Instant::now();
    let printed = output(command)?;
    let ms = begin.elapsed().as_secs_f64() * 1e3;
    ensure!(printed == expected, "it printed `{printed}`, not `{expected}`");
    Ok(ms)
}
