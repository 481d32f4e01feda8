//! One test program: how it is to be started, and how it is to end (wasi-testsuite's `doc/specification.md`).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};
use dormouse_chores::program;
use serde::Deserialize;

use crate::sandbox::brief;

/// Time of one program, its compilation included.
const LIMIT: Duration = Duration::from_secs(60);

/// The file beside a program; what it does not say is as here.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Specification {
    args: Vec<String>,
    env: BTreeMap<String, String>,
    root: Option<PathBuf>,
    exit_code: i32,
    stdout: Option<String>,
    stderr: Option<String>,
}

/// Runs the program at `wasm`. The inner error says how it ended instead.
pub(super) fn test(dormouse: &Path, wasm: &Path) -> Result<Result<(), String>> {
    let specification = wasm.with_extension("json");
    let wanted: Specification = if specification.is_file() {
        serde_json::from_str(&fs::read_to_string(&specification)?)
            .with_context(|| format!("`{}` is of another form", specification.display()))?
    } else {
        Specification::default()
    };
    let scratch = tempfile::tempdir()?;
    let mut command = Command::new(dormouse);
    command.args(["run", "--timeout", "30s"]).env("DORMOUSE_AUDIT_FILE", scratch.path().join("audit"));
    if let Some(root) = &wanted.root {
        let copy = scratch.path().join("root");
        let from = wasm.parent().context("a program lies in a folder")?.join(root);
        copy_folder(&from, &copy)?;
        command.arg("--writes").arg("--mount").arg(format!("{}:/:rw", copy.display()));
    }
    for (name, value) in &wanted.env {
        command.arg("--env").arg(format!("{name}={value}"));
    }
    command.arg(wasm).arg("--").args(&wanted.args);
    let said = program::run(&mut command, LIMIT)?;
    let differs = |what: &str, wanted: &Option<String>, got: &str| match wanted {
        Some(wanted) if wanted != got => Some(format!("its {what} is {got:?} instead of {wanted:?}")),
        _ => None,
    };
    if said.status.and_then(|status| status.code()) != Some(wanted.exit_code) {
        return Ok(Err(format!("{}: {}", ending(&said), said_of_itself(&said.stderr))));
    }
    let differs = differs("output", &wanted.stdout, &said.stdout)
        .or_else(|| differs("error output", &wanted.stderr, &said.stderr));
    Ok(differs.map_or(Ok(()), Err))
}

fn ending(said: &program::Said) -> String {
    said.status.map_or_else(|| "it did not end in time".to_owned(), |status| status.to_string())
}

/// What a program wrote before it ended: of a panic the place is of no use to a reader, so that the next line follows.
fn said_of_itself(errors: &str) -> String {
    let told = errors.lines().filter(|line| !line.is_empty() && !line.starts_with("thread '"));
    brief(&told.take(2).collect::<Vec<_>>().join(" / "))
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot list `{}`", from.display()))? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}
