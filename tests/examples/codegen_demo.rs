//! An agent's loop on Wasm alone: a scripted client of `dormouse mcp --profile codegen` seeds a module with mistakes, runs its
//! tests, repairs it, runs them again, and writes a report of the run: `codegen_demo [FOLDER]`, by default
//! `target/codegen-demo`.

#![allow(clippy::print_stdout, reason = "the end of a program that people start")]

use std::path::PathBuf;
use std::time::Duration;

use dormouse_tests::turns;
use dormouse_tests::wire::Wire;

const TURNS: &str = include_str!("codegen/turns.json");
const SKILL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/codegen/skills/codegen");

fn main() -> std::io::Result<()> {
    let folder =
        std::env::args_os().nth(1).map_or_else(|| PathBuf::from("target/codegen-demo"), PathBuf::from);
    std::fs::create_dir_all(&folder)?;
    let state = tempfile::tempdir()?;
    let state = state.path().to_string_lossy().into_owned();
    let mut wire = Wire::greeted(&["--profile", "codegen", "--skill", SKILL, "--state-dir", &state]);
    let done = turns::play(&mut wire, TURNS);
    wire.end(Duration::from_secs(60));
    for done in &done {
        let mark = if done.is_as_expected() { "as expected" } else { "NOT AS EXPECTED" };
        println!("{:>8.1} ms  {:<13} {mark}: {}", done.milliseconds, done.turn.tool, done.turn.say);
    }
    std::fs::write(folder.join("report.json"), turns::report(&done).to_string())?;
    std::fs::write(folder.join("report.html"), turns::page(&done))?;
    println!("{}", folder.join("report.html").display());
    match done.iter().all(turns::Done::is_as_expected) {
        true => Ok(()),
        false => Err(std::io::Error::other("a turn did not come to what it must")),
    }
}
