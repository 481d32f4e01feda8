//! `cargo xtask setup`: from a fresh clone to a sandbox that answers, and to tests that have what they need.

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};

use crate::engine;
use crate::guests;
use crate::process;
use crate::programs;
use crate::progress::complain;

/// What is evaluated at the end, to show that it works.
const GREETINGS: [(&str, &str); 4] = [
    (
        "python",
        "import sys, platform; f'Python {platform.python_version()} on {sys.platform}: {sum(range(10))}'",
    ),
    ("javascript", "`JavaScript: ${[1, 2, 3].map(n => n * n).join(' + ')} = ${1 + 4 + 9}`"),
    (
        "typescript",
        "const squares: number[] = [1, 4, 9]; `TypeScript: ${squares.join(' + ')} = ${14 as number}`",
    ),
    ("php", "'PHP ' . PHP_VERSION . ': ' . implode(' + ', [1, 4, 9]) . ' = ' . array_sum([1, 4, 9])"),
];

/// Builds the guests and the command line, then evaluates a snippet in each language.
pub(crate) fn run() -> Result<()> {
    let started = Instant::now();
    complain("1/4 guests: the interpreters, built from source once (Python takes some minutes)");
    guests::run(&guests::Arguments::all())?;
    complain("2/4 the command line");
    process::cargo(&["build", "--release", "--workspace", "--bins"])?;
    complain("3/4 what tests need: programs to compare with, the container engine");
    programs::provide();
    if let Err(error) = engine::install() {
        complain(&format!("docker: not available ({error:#})"));
    }
    complain("4/4 a first evaluation");
    let binary = binary();
    for (language, code) in GREETINGS {
        let status = Command::new(&binary).args(["eval", "--language", language, code]).status();
        let status = status.with_context(|| format!("`{}` does not start", binary.display()))?;
        ensure!(status.success(), "the {language} evaluation failed: run `{} doctor`", binary.display());
    }
    complain(&format!("ready after {} s: {}", started.elapsed().as_secs(), shown(&binary)));
    Ok(())
}

/// The built command line.
pub(crate) fn binary() -> PathBuf {
    process::target().join("release/dormouse")
}

fn shown(binary: &std::path::Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    binary.strip_prefix(&here).unwrap_or(binary).display().to_string()
}
