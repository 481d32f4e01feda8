//! Runs cargo and what it builds, and reads the totals out of what test programs print.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use anyhow::{Context as _, Result, bail};

use crate::outcome::{Failures, Outcome, Totals};
use crate::workspace;

/// Cargo's target folder.
#[must_use]
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace().join("target"), PathBuf::from)
}

/// A program of the workspace, where cargo puts it.
#[must_use]
pub fn tool(name: &str) -> PathBuf {
    target().join("release").join(name)
}

/// Cargo, as if it were called without this program: what `cargo run` tells its program about itself (`CARGO_PKG_NAME` and
/// the like) is not handed on. Build scripts look at it, and would build anew what another call of cargo has built.
#[must_use]
pub fn plain_cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for name in of_cargo_run() {
        command.env_remove(name);
    }
    command
}

/// The variables of this process in which cargo speaks of the package that it runs.
fn of_cargo_run() -> impl Iterator<Item = OsString> {
    let speaks = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    std::env::vars_os().map(|(name, _)| name).filter(move |name| name.to_str().is_some_and(speaks))
}

/// Runs cargo in the workspace; its output is the terminal's.
///
/// # Errors
///
/// Cargo does not start, or does not succeed.
pub fn cargo(arguments: &[&str]) -> Result<()> {
    let mut command = plain_cargo();
    let status = command.args(arguments).current_dir(workspace()).status().context("cargo does not start")?;
    if !status.success() {
        bail!("`cargo {}` failed", arguments.join(" "));
    }
    Ok(())
}

/// A command whose signals have their default effects, however this process was started: a shell starts a background job
/// with SIGINT and SIGQUIT ignored, which every program below it inherits, and bash cannot trap what was ignored before it
/// began; and without what `cargo run` tells this program about itself. Where `env` is too old to do that (before coreutils
/// 8.31), the command is the plain one.
pub fn with_default_signals(program: impl AsRef<OsStr>) -> Command {
    const OPTION: &str = "--default-signal=HUP,INT,QUIT,PIPE,ALRM,TERM,USR1,USR2,CHLD";
    static CAN: LazyLock<bool> = LazyLock::new(|| {
        let tried = Command::new("env").args([OPTION, "true"]).stderr(Stdio::null()).status();
        tried.is_ok_and(|status| status.success())
    });
    let mut command = Command::new(if *CAN { OsStr::new("env") } else { program.as_ref() });
    if *CAN {
        command.arg(OPTION).arg(program);
    }
    for name in of_cargo_run() {
        command.env_remove(name);
    }
    command
}

/// Builds and runs the benchmark.
///
/// # Errors
///
/// It does not compile, or does not succeed.
pub fn bench(arguments: &[String]) -> Result<()> {
    cargo(&["build", "--release", "--workspace", "--bins"])?;
    let status = Command::new(target().join("release/dormouse-bench"))
        .args(arguments)
        .current_dir(workspace())
        .status()?;
    if !status.success() {
        bail!("the benchmark failed");
    }
    Ok(())
}

/// Runs a program in the workspace, shows its standard output as it comes, and reads from it the counts and the names of
/// failed tests.
///
/// # Errors
///
/// The program does not start, or its output cannot be passed on.
pub fn counted(command: &mut Command) -> Result<Outcome> {
    let shown = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .current_dir(workspace())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("`{shown}` does not start"))?;
    let output = child.stdout.take().context("a pipe was asked for")?;
    let (mut totals, mut failures) = (Totals::default(), Failures::default());
    let mut out = std::io::stdout().lock();
    for line in BufReader::new(output).lines() {
        let line = line?;
        writeln!(out, "{line}")?;
        failures.read(&line);
        if let Some(more) = Totals::read(&line) {
            totals.add(more);
        }
    }
    Ok(Outcome { totals, ok: child.wait()?.success(), problems: failures.names() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a background job of a script is started.
    #[test]
    fn signals_that_were_ignored_are_not_for_what_is_started() {
        let caught = "trap 'echo caught' INT; kill -INT $$; true";
        let inner = with_default_signals("bash");
        let words = [inner.get_program()].into_iter().chain(inner.get_args());
        let mut outer = Command::new("bash");
        outer.args(["-c", "trap '' INT QUIT; exec \"$@\"", "bash"]).args(words).args(["-c", caught]);
        let said = outer.output().unwrap();
        assert_eq!(String::from_utf8_lossy(&said.stdout), "caught\n");
    }
}
