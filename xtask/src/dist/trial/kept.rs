//! The guests of the release before, as this release carries them.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use dormouse_chores::digest::sha256;
use dormouse_chores::{Cache, process};

use super::{Installed, Made, find, text};

/// A cache folder of a release before, whose JavaScript is another: today's with a note at the end of its component.
pub(super) fn last_release(place: &Path) -> Result<()> {
    let built = Cache::open()?.guest("javascript")?;
    let key = fs::read_to_string(built.component("").with_file_name("current"))?;
    let built = built.component(key.trim());
    let component = [fs::read(&built)?, b"\0\x05\x04note".to_vec()].concat();
    let mut record: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(built.with_extension("json"))?)?;
    record["sha256"] = sha256(&component).into();
    let folder = place.join("guests/javascript");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("1.wasm"), component)?;
    fs::write(folder.join("1.json"), record.to_string())?;
    fs::write(folder.join("current"), "1")?;
    Ok(())
}

/// A sandbox that the last release has saved wakes with its variables, and nothing is compiled for that; without the archive the
/// doctor says what is missing.
pub(super) fn run(made: &Made) -> Result<()> {
    let last = tempfile::tempdir()?;
    last_release(last.path())?;
    let state = last.path().join("state");
    let state = state.to_str().context("a path is text")?;
    let words = ["sandbox", "--state-dir", state];
    let remember = "const next = (() => { let i = 40; return () => ++i })(); next()";
    for command in [&["create", "box"][..], &["eval", "box", "-l", "js", remember]] {
        let mut program = Command::new(process::target().join("release/dormouse"));
        program.args(words).args(command).env("DORMOUSE_CACHE_DIR", last.path());
        let ran = program.output()?;
        ensure!(ran.status.success(), "{command:?}: {}", text(&ran.stderr));
    }
    let installed = Installed::of(made)?;
    let doctor = ["state", "--state-dir", state, "doctor"];
    let missing = installed.dormouse(&doctor)?;
    ensure!(
        missing.status.code() == Some(1) && text(&missing.stdout).contains("-kept.tar.xz"),
        "without them: {}",
        text(&missing.stdout)
    );
    installed.add(&made.archive("-kept"))?;
    let found = installed.dormouse(&doctor)?;
    ensure!(found.status.success() && text(&found.stdout).contains("older guest"), "{}", text(&found.stdout));
    installed.prints(&[&words[..], &["eval", "box", "-l", "js", "next()"]].concat(), "42\n")?;
    let compiled = find(&installed.home(), "cwasm")?;
    ensure!(compiled.is_empty(), "machine code was made here: {compiled:?}");
    // From the components of a release another engine's machine code is made where it is needed.
    installed.add(&made.archive("-guests"))?;
    installed.prints(&["eval", "-l", "js", "1 + 1"], "2\n")?;
    let ran = installed.dormouse(&["eval", "-l", "js", "--fuel", "1000000000", "1 + 2"])?;
    ensure!(text(&ran.stdout) == "3\n", "{}", text(&ran.stderr));
    Ok(())
}
