//! `cargo xtask setup`: from a fresh clone to a sandbox that answers, and to tests that have what they need. Which step needs
//! what, and why they run in this order: docs/decisions/setup.md.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use dormouse_chores::process::{self, tool};
use dormouse_chores::program::tail;
use dormouse_chores::progress::{about, complain, tell};
use dormouse_chores::{Cache, workspace};

use crate::programs;
use crate::schedule::{self, Alone, State, Step};
use crate::tools::cargo_build;

/// A guest: how it is built, and what it is asked to show that it works.
struct Guest {
    language: &'static str,
    /// Seconds to its linked module, and from there to an answer.
    expected: [u64; 2],
    /// Steps that its compilation needs besides the tool chain.
    after: &'static [&'static str],
    /// A snippet, and the guests that it needs besides this one.
    greeting: Option<(&'static str, &'static [&'static str])>,
}

/// In the order in which they are built.
static GUESTS: [Guest; 6] = [
    Guest {
        language: "javascript",
        expected: [40, 10],
        after: &[],
        greeting: Some(("`JavaScript: ${[1, 2, 3].map(n => n * n).join(' + ')} = ${1 + 4 + 9}`", &[])),
    },
    Guest {
        language: "python",
        expected: [480, 70],
        after: &[],
        greeting: Some((
            "import sys, platform; f'Python {platform.python_version()} on {sys.platform}: {sum(range(10))}'",
            &[],
        )),
    },
    Guest {
        language: "php",
        expected: [240, 40],
        // Python's answer comes first.
        after: &["python: compile"],
        greeting: Some((
            "'PHP ' . PHP_VERSION . ': ' . implode(' + ', [1, 4, 9]) . ' = ' . array_sum([1, 4, 9])",
            &[],
        )),
    },
    Guest {
        language: "typescript",
        expected: [180, 20],
        // Apt has no lists for the compiler that it fetches while another step has apt make them.
        after: &[FOR_TESTS, "python: compile"],
        greeting: Some((
            "const squares: number[] = [1, 4, 9]; `TypeScript: ${squares.join(' + ')} = ${14 as number}`",
            &["javascript"],
        )),
    },
    // It shares the compiler for guests in Rust with the one before, which fetches it.
    Guest { language: "shell", expected: [270, 40], after: &["typescript: compile"], greeting: None },
    Guest { language: "git", expected: [90, 10], after: &["typescript: compile"], greeting: None },
];

/// The step that installs what tests start.
const FOR_TESTS: &str = "programs and engine for tests";

/// What all of it takes from nothing, on two cores.
const ALL: Duration = Duration::from_secs(25 * 60);

/// Runs the steps that build the guests and the programs, with a snippet in each language as soon as it can be evaluated.
pub(crate) fn run() -> Result<()> {
    let started = Instant::now();
    complain(&format!(
        "set-up: from nothing about {} on two cores, else less; the first answers come while the rest is built",
        about(ALL)
    ));
    let logs = Logs::open()?;
    let steps = steps(&logs);
    for step in &steps {
        complain(&format!("{:>9}  {}", about(step.expected), step.name));
    }
    let states = schedule::run(&steps);
    let times: Vec<(&str, u64)> = steps
        .iter()
        .zip(&states)
        .filter_map(|(step, state)| match state {
            State::Done(took) => Some((step.name.as_str(), took.as_secs())),
            _ => None,
        })
        .collect();
    fs::write(times_file(), serde_json::to_vec(&times)?).context("cannot note the times")?;
    complain(&format!("set-up: seconds of each step, after {} s in all:", started.elapsed().as_secs()));
    for (name, seconds) in &times {
        complain(&format!("{seconds:>9}  {name}"));
    }
    let with = |wanted: State| {
        let found = steps.iter().zip(&states).filter(move |(_, state)| **state == wanted);
        found.map(|(step, _)| step.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let (failed, left_out) = (with(State::Failed), with(State::LeftOut));
    if !failed.is_empty() || !left_out.is_empty() {
        bail!(
            "failed: {failed}; not begun, because they need these: {left_out}; logs are in `{}`; `cargo xtask setup` goes on \
             where this one has ended",
            logs.folder.display()
        );
    }
    complain(&format!("ready after {} s: {}", started.elapsed().as_secs(), shown(&tool("dormouse"))));
    Ok(())
}

/// All steps, each after those that it needs; of those that are ready, the first begins first.
fn steps(logs: &Logs) -> Vec<Step<'_>> {
    let mut steps = vec![
        cargo(logs, "tools", 90, &[], &["dormouse-guests"]),
        Step {
            alone: Some(Alone::Apt),
            ..step("tool chain", 40, &["tools"], move |name| logs.run(name, guests().arg("toolchain")))
        },
        cargo(logs, "program", 720, &["tools"], &["dormouse", "dormouse-precompile"]),
    ];
    for guest in &GUESTS {
        steps.extend(of_guest(logs, guest));
        if guest.language == "python" {
            steps.push(Step {
                alone: Some(Alone::Apt),
                ..step(FOR_TESTS, 60, &["tool chain"], |_| {
                    provide_for_tests();
                    Ok(())
                })
            });
            // Before Python answers it would take both cores from it, whose compilation has what is idle.
            steps.push(cargo(logs, "other programs of the workspace", 90, &["program", "python"], &[]));
        }
    }
    let languages: Vec<&str> = GUESTS.iter().map(|guest| guest.language).collect();
    steps.push(step("clean up", 5, &languages, move |name| logs.run(name, guests().arg("tidy"))));
    steps
}

/// The two steps of a guest: with and without the need of the engine.
fn of_guest<'a>(logs: &'a Logs, guest: &'static Guest) -> [Step<'a>; 2] {
    let compile = format!("{}: compile", guest.language);
    let mut needed = vec![compile.as_str(), "program"];
    needed.extend(guest.greeting.iter().flat_map(|(_, others)| *others));
    let finish = step(guest.language, guest.expected[1], &needed, move |name| {
        logs.run(name, guests().arg(guest.language))?;
        guest.greeting.map_or(Ok(()), |(snippet, _)| greet(guest.language, snippet))
    });
    let needed = [&["tool chain"][..], guest.after].concat();
    let compiling = step(&compile, guest.expected[0], &needed, move |name| {
        // The program's build comes first, because every answer waits for it; this takes what that leaves idle, which a lower
        // priority alone would not do: it still takes a tenth.
        let mut command = Command::new("chrt");
        command.args(["--idle", "0"]).arg(tool("dormouse-guests")).args(["--compile-only", guest.language]);
        logs.run(name, &mut command)
    });
    [compiling, finish]
}

fn step<'a>(
    name: &str,
    expected: u64,
    after: &[&str],
    work: impl Fn(&str) -> Result<()> + Sync + 'a,
) -> Step<'a> {
    let (expected, own) = (Duration::from_secs(expected), name.to_owned());
    let after = after.iter().map(|name| (*name).to_owned()).collect();
    Step { name: name.to_owned(), expected, after, alone: None, work: Box::new(move || work(&own)) }
}

/// A build of these programs; none named: all of the workspace.
fn cargo<'a>(
    logs: &'a Logs,
    name: &str,
    expected: u64,
    after: &[&str],
    programs: &'static [&'static str],
) -> Step<'a> {
    let work = move |name: &str| {
        let mut command = cargo_build(programs);
        if programs.is_empty() {
            command.arg("--bins");
        }
        logs.run(name, &mut command)
    };
    Step { alone: Some(Alone::Cargo), ..step(name, expected, after, work) }
}

fn guests() -> Command {
    Command::new(tool("dormouse-guests"))
}

/// What tests can do without is only reported.
fn provide_for_tests() {
    programs::provide();
    if let Err(error) = dormouse_test_engine::install() {
        complain(&format!("docker: not available ({error:#})"));
    }
}

/// Evaluates a snippet and prints its value.
fn greet(language: &str, snippet: &str) -> Result<()> {
    let binary = tool("dormouse");
    let told = Command::new(&binary).args(["eval", "--language", language, snippet]).output();
    let told = told.with_context(|| format!("`{}` does not start", binary.display()))?;
    if !told.status.success() {
        let complaint = String::from_utf8_lossy(&told.stderr).into_owned();
        bail!("the {language} evaluation failed: run `{} doctor`\n{complaint}", binary.display());
    }
    tell(String::from_utf8_lossy(&told.stdout).trim_end());
    Ok(())
}

/// What the programs print that steps run: a file of each step in the cache folder.
struct Logs {
    folder: PathBuf,
}

impl Logs {
    fn open() -> Result<Self> {
        Ok(Self { folder: Cache::open()?.logs("setup")? })
    }

    /// Runs a program to its end. The end of what it has printed is in the error.
    fn run(&self, step: &str, command: &mut Command) -> Result<()> {
        let path = self.folder.join(format!("{}.log", step.replace(": ", "-").replace(' ', "-")));
        let file = File::create(&path).with_context(|| format!("cannot write `{}`", path.display()))?;
        let own = file.try_clone()?;
        command.current_dir(workspace()).stdin(Stdio::null()).stdout(file).stderr(own);
        let status = command.status().with_context(|| format!("cannot run {command:?}"))?;
        if !status.success() {
            bail!("{status}\n{}\nall of it: {}", tail(&fs::read(&path)?), path.display());
        }
        Ok(())
    }
}

/// Where a set-up leaves the times of its steps for the run of the tests after it.
fn times_file() -> PathBuf {
    process::target().join("setup-times.json")
}

/// The times of the set-up before, in seconds, unless they have been taken already.
pub(crate) fn take_times() -> Option<Vec<(String, u64)>> {
    let text = fs::read(times_file()).ok()?;
    // Told once: a later run of the tests has nothing to do with it.
    fs::remove_file(times_file()).ok()?;
    serde_json::from_slice(&text).ok()
}

fn shown(binary: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    binary.strip_prefix(&here).unwrap_or(binary).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_comes_after_those_that_it_needs() {
        let logs = Logs { folder: PathBuf::new() };
        let steps = steps(&logs);
        for (index, step) in steps.iter().enumerate() {
            for name in &step.after {
                assert!(steps[..index].iter().any(|before| before.name == *name), "{}: {name}", step.name);
            }
        }
    }
}
