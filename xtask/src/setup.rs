//! `cargo xtask setup`: from a fresh clone to a sandbox that answers, and to tests that have what they need.

use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::Instant;

use anyhow::{Context as _, Result, anyhow, ensure};

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
    complain(
        "1/3 the interpreters, built from source once (Python takes some minutes), and beside them the command line",
    );
    // Much of either waits for one core.
    let building = thread::spawn(|| process::cargo(&["build", "--release", "--workspace", "--bins"]));
    let built = guests::run(&guests::Arguments::all());
    building.join().map_err(|_| anyhow!("the build crashed"))??;
    built?;
    complain("2/3 what tests need: programs to compare with, the container engine");
    programs::provide();
    if let Err(error) = engine::install() {
        complain(&format!("docker: not available ({error:#})"));
    }
    complain("3/3 a first evaluation");
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
