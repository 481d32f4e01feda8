//! `cargo xtask test`: everything that a change must pass, cheap things first.

use std::time::Instant;

use anyhow::{Result, bail, ensure};
use clap::ValueEnum;
use dormouse_chores::outcome::{Outcome, Totals};
use dormouse_chores::process;
use dormouse_chores::progress::complain;
use dormouse_chores::workspace;

use crate::containers::Containers;
use crate::{book, check, dist, fuzz, kubernetes, programs, setup, tools, torture};

/// A part of the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Phase {
    /// Formatting
    Fmt,
    /// Lints
    Clippy,
    /// Licences, minimum versions, names that must not be committed
    Check,
    /// The guests are there, or are built
    Guests,
    /// Lints and unit tests of the guests' own Rust code, on this machine
    GuestsUnit,
    /// Rust tests: units, evaluation, flow, state, models, structure, and the abuse cases; with an engine also those of containers
    Rust,
    /// The abuse cases alone: hostile snippets, files, programs
    Abuse,
    /// Tests of containers: they had an engine, used it, and left nothing in it
    Docker,
    /// What the provider for Kubernetes writes, sent to Kubernetes' own API machinery. Only if it is named: building that takes a
    /// quarter of an hour
    Kubernetes,
    /// The fuzz targets: the kept inputs, and changes of them that are the same at every run
    Fuzz,
    /// Documentation builds without warnings
    Docs,
    /// The book builds, and each of its links leads somewhere
    Book,
    /// CPython's own tests, in the guest
    Cpython,
    /// JavaScript's own tests, in the guest
    Test262,
    /// Node.js's own tests of modules, in the JavaScript guest
    Node,
    /// PHP's own tests, in the guest
    Phpt,
    /// WASI's own test programs, started with `dormouse run`
    Wasi,
    /// Command lines as agents write them, here and in Debian's bash
    Shell,
    /// The Python and TypeScript MCP clients, and schemathesis on the REST routes
    Clients,
    /// The MCP inspector's strict schema check
    Inspector,
    /// The MCP conformance suite
    McpConformance,
    /// Packages of three registries, used inside a project
    Packages,
    /// Programs that call tools of real MCP servers, run straight and moved wherever they wait
    Tools,
    /// What people install is made, unpacked on a clean prefix, and used there
    Dist,
    /// Three minutes of torture: servers that are killed, full disks, clocks that are set
    Torture,
    /// A short run of the benchmarks, so that they do not rot
    Bench,
}

/// What runs when no phase is named: all but `kubernetes`; the abuse cases are among the Rust tests.
const DEFAULT: [Phase; 24] = [
    Phase::Fmt,
    Phase::Check,
    Phase::Guests,
    Phase::GuestsUnit,
    Phase::Rust,
    Phase::Docker,
    Phase::Fuzz,
    Phase::Clippy,
    Phase::Docs,
    Phase::Book,
    Phase::Clients,
    Phase::Inspector,
    Phase::McpConformance,
    Phase::Packages,
    Phase::Tools,
    Phase::Cpython,
    Phase::Test262,
    Phase::Node,
    Phase::Phpt,
    Phase::Wasi,
    Phase::Shell,
    Phase::Dist,
    Phase::Torture,
    Phase::Bench,
];

/// Arguments of `cargo xtask test`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Run these phases only, in the order of this list
    #[arg(value_enum)]
    phases: Vec<Phase>,
    /// Go on after a phase has failed
    #[arg(long)]
    keep_going: bool,
}

/// Runs the phases and closes with the sum of all counts.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let phases = if arguments.phases.is_empty() { &DEFAULT[..] } else { &arguments.phases };
    let (mut sum, mut problems) = (Totals::default(), Vec::new());
    let (mut failed, mut times) = (Vec::new(), Vec::new());
    let mut containers = Containers::planned(phases.contains(&Phase::Docker));
    for phase in phases {
        let started = Instant::now();
        let name = phase.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
        complain(&format!("== {name}"));
        let outcome = one(*phase, &mut containers).unwrap_or_else(|error| {
            let problem = format!("error: {error:#}");
            complain(&problem);
            Outcome::failed(problem)
        });
        let seconds = started.elapsed().as_secs();
        complain(&format!("== {name}: {} ({seconds} s)", outcome.totals));
        times.push((name.clone(), seconds));
        sum.add(outcome.totals);
        problems.extend(outcome.problems.iter().map(|problem| format!("{name}: {problem}")));
        if !outcome.ok {
            failed.push(name);
            if !arguments.keep_going {
                break;
            }
        }
    }
    if let Some(steps) = setup::take_times() {
        // Two of them run at a time, so their sum would say nothing.
        complain(&format!("== times of the set-up's steps, in seconds: {}", listed(&steps)));
    }
    complain(&format!("== times, in seconds: {}", shown(&times)));
    // Once more, where nobody has to look for it.
    problems.iter().for_each(|problem| complain(&format!("== {problem}")));
    complain(&sum.to_string());
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    Ok(())
}

/// What each phase took, the longest first, and all of them.
fn shown(times: &[(String, u64)]) -> String {
    format!("{}, all {}", listed(times), times.iter().map(|(_, seconds)| seconds).sum::<u64>())
}

/// What each of them took, the longest first.
fn listed(times: &[(String, u64)]) -> String {
    let mut sorted = times.to_vec();
    sorted.sort_by_key(|(_, seconds)| std::cmp::Reverse(*seconds));
    let parts: Vec<String> = sorted.iter().map(|(name, seconds)| format!("{name} {seconds}")).collect();
    parts.join(", ")
}

fn one(phase: Phase, containers: &mut Containers) -> Result<Outcome> {
    let single = |result: Result<()>| result.map(|()| Outcome::passed());
    match phase {
        Phase::Fmt => single(format()),
        Phase::Clippy => single(process::cargo(&[
            "clippy",
            "--quiet",
            "--release",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ])),
        Phase::Check => check::run(),
        Phase::Guests => single(guests()),
        Phase::GuestsUnit => process::counted(tools::GUESTS.command()?.arg("check")),
        Phase::Rust => {
            // Tests start the binaries and the examples that lie beside them.
            process::cargo(&["build", "--release", "--workspace", "--bins", "--tests", "--examples"])?;
            tests(&["--tests"], &containers.environment())
        }
        Phase::Abuse => tests(&["--test", "abuse"], &containers.environment()),
        Phase::Docker => containers.finish(),
        Phase::Kubernetes => kubernetes::run(),
        Phase::Fuzz => fuzz::short(),
        Phase::Docs => {
            let mut command = process::plain_cargo();
            command.args([
                "doc",
                "--quiet",
                "--release",
                "--workspace",
                "--no-deps",
                "--document-private-items",
            ]);
            let done = command.env("RUSTDOCFLAGS", "-D warnings").current_dir(workspace()).status()?;
            ensure!(done.success(), "`cargo doc` has warnings");
            Ok(Outcome::passed())
        }
        Phase::Book => single(book::run()),
        Phase::Cpython => suite("cpython"),
        Phase::Test262 => suite("test262"),
        Phase::Node => suite("node"),
        Phase::Phpt => suite("phpt"),
        Phase::Wasi => suite("wasi"),
        Phase::Shell => suite("shell"),
        Phase::Clients => suite("clients"),
        Phase::Inspector => suite("inspector"),
        Phase::McpConformance => suite("mcp-conformance"),
        Phase::Packages => suite("packages"),
        Phase::Tools => suite("tools"),
        Phase::Dist => dist::trial(),
        // What containers among them show is looked at by hand: docs/decisions/durability.md.
        Phase::Torture => torture::run(&["--containers=no", "--minutes=3"].map(str::to_owned)),
        Phase::Bench => {
            let smoke = ["--rounds", "2", "--no-peers"].map(String::from);
            single(process::bench(&smoke))
        }
    }
}

/// Runs tests of the workspace, with these variables in their environment. Programs of the system that they start are
/// installed first, where that is possible.
pub(crate) fn tests(which: &[&str], environment: &[(&str, String)]) -> Result<Outcome> {
    // Some are about signals, which a job in the background may have been started to ignore.
    let mut command = process::with_default_signals(process::plain_cargo().get_program());
    command.args(["test", "--quiet", "--release", "--workspace", "--no-fail-fast"]).args(which);
    process::counted(command.envs(environment.iter().cloned()).envs(programs::provide()))
}

/// The format of this workspace and of those of the guests.
fn format() -> Result<()> {
    ["Cargo.toml", "guests/Cargo.toml", "guests/typescript/Cargo.toml"]
        .into_iter()
        .try_for_each(|manifest| process::cargo(&["fmt", "--all", "--check", "--manifest-path", manifest]))
}

/// Builds the guests that the cache lacks.
fn guests() -> Result<()> {
    ensure!(tools::GUESTS.run([])?, "not all guests are built");
    Ok(())
}

/// A suite is a process of its own: a crash in it must not end the run.
fn suite(name: &str) -> Result<Outcome> {
    process::counted(tools::SUITES.command()?.arg(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_longest_first_with_their_sum() {
        let times = [("fmt", 2), ("rust", 300), ("docs", 40)].map(|(name, time)| (name.to_owned(), time));
        assert_eq!(shown(&times), "rust 300, docs 40, fmt 2, all 342");
    }
}
