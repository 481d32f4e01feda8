//! The real thing: Debian's bash with its coreutils, in a fresh folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use dormouse_chores::{process, program};

use super::cases::Case;
use super::outcome::{Entry, Outcome};

/// What a case may take here.
const LIMIT: Duration = Duration::from_secs(20);

/// The working folder in a sandbox; the text of the real one is replaced by it.
const WORKSPACE: &str = "/workspace";

/// Runs a case; `inputs` is the folder that its files are taken from.
pub(crate) fn run(case: &Case, inputs: &Path) -> Result<Outcome> {
    let scratch = tempfile::Builder::new().prefix("w").tempdir()?;
    let folder = scratch.path().canonicalize()?.join("workspace");
    // As a new sandbox has it.
    fs::create_dir_all(folder.join("outputs"))?;
    for file in &case.files {
        let into = folder.join(file);
        into.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::copy(inputs.join(file), into).with_context(|| format!("`{}`: `{file}`", case.name))?;
    }
    let mut bash = process::with_default_signals("bash");
    bash.args(["--norc", "--noprofile", "-c", &case.script]).current_dir(&folder).env_clear();
    for (name, value) in environment() {
        bash.env(name, value);
    }
    let said = program::run(bash.env("HOME", &folder), LIMIT)?;
    let code = said
        .status
        .and_then(|status| status.code())
        .with_context(|| format!("`{}` does not end", case.name))?;
    let here = folder.display().to_string();
    Ok(Outcome {
        stdout: said.stdout.replace(&here, WORKSPACE),
        stderr: said.stderr.replace(&here, WORKSPACE),
        exit_code: code.into(),
        files: tree(&folder, &here)?,
    })
}

/// Where programs are looked for.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Whether the scripts would find a program.
pub(crate) fn has(program: &str) -> bool {
    std::env::split_paths(PATH).any(|folder| folder.join(program).is_file())
}

/// What is the same on every machine.
pub(crate) fn environment() -> [(&'static str, &'static str); 5] {
    [("PATH", PATH), ("LC_ALL", "C.UTF-8"), ("TZ", "UTC"), ("USER", "user"), ("PYTHONDONTWRITEBYTECODE", "1")]
}

/// Everything below a folder.
pub(crate) fn tree(folder: &Path, here: &str) -> Result<BTreeMap<String, Entry>> {
    let (mut found, mut open) = (BTreeMap::new(), vec![folder.to_path_buf()]);
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next).with_context(|| next.display().to_string())? {
            let entry = entry?;
            let (path, kind) = (entry.path(), entry.file_type()?);
            let name = path.strip_prefix(folder)?.to_string_lossy().into_owned();
            let held = if kind.is_symlink() {
                Entry::Link
            } else if kind.is_dir() {
                open.push(path);
                Entry::Folder
            } else {
                Entry::File(replaced(fs::read(&path)?, here))
            };
            found.insert(name, held);
        }
    }
    Ok(found)
}

fn replaced(bytes: Vec<u8>, here: &str) -> Vec<u8> {
    match String::from_utf8(bytes) {
        Ok(text) => text.replace(here, WORKSPACE).into_bytes(),
        Err(error) => error.into_bytes(),
    }
}
