//! `dormouse-suites`, called by `cargo xtask suite`: tests that no one here wrote, run against the guests and the MCP server,
//! and commands that are compared with the real programs.
//!
//! Every suite fetches what it needs by package name into `<cache>/suites`, and holds itself to a list of expected
//! failures that is strict both ways ([`expected`]).

#![allow(clippy::disallowed_methods, reason = "suites start other programs")]

mod clients;
mod conformance;
mod cpython;
mod expected;
mod inspector;
mod node;
mod packages;
mod phpt;
mod report;
mod sandbox;
mod schemathesis;
mod server;
mod shell;
mod skip;
mod test262;
mod tools;
mod wasi;

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Result, bail};
use clap::Parser;
use dormouse_chores::arguments::{Suite, Suites};
use dormouse_chores::outcome::Totals;
use dormouse_chores::progress::complain;

/// Run one suite of tests that no one here wrote
#[derive(Parser)]
#[command(name = "cargo xtask suite", bin_name = "cargo xtask suite")]
struct Cli {
    #[command(flatten)]
    arguments: Suites,
}

fn main() -> ExitCode {
    match run(&Cli::parse().arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Runs the suite; prints every unexpected result and the counts to standard output.
///
/// # Errors
///
/// What kept the suite from running, or tests whose results are not the expected ones.
fn run(arguments: &Suites) -> Result<()> {
    let started = Instant::now();
    let totals = one(arguments)?;
    complain(&format!("took {:.1} s", started.elapsed().as_secs_f64()));
    writeln!(std::io::stdout().lock(), "{totals}")?;
    match totals.failed {
        0 => Ok(()),
        count => bail!("{count} results are not the expected ones"),
    }
}

fn one(arguments: &Suites) -> Result<Totals> {
    let extent = &arguments.extent;
    match arguments.suite {
        Suite::Cpython => cpython::run(extent),
        Suite::Test262 => test262::run(extent),
        Suite::Node => node::run(extent),
        Suite::Phpt => phpt::run(extent),
        Suite::Clients => clients::run(extent),
        Suite::Inspector => inspector::run(extent),
        Suite::McpConformance => conformance::run(extent),
        Suite::Packages => packages::run(extent),
        Suite::Tools => tools::run(extent),
        Suite::Wasi => wasi::run(extent),
        Suite::Shell => shell::run(extent),
    }
}
