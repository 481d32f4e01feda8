//! `cargo xtask`: the chores of this workspace that cargo does not know.
//!
//! It needs no engine and is compiled in seconds. What needs one, or the component tool chain, are programs of their own
//! below `tools`, which are built when they are called ([`tools`]).

#![allow(clippy::disallowed_methods, reason = "chores start other programs")]

mod book;
mod check;
mod containers;
mod dist;
mod duplicates;
mod fuzz;
mod kubernetes;
mod programs;
mod schedule;
mod setup;
mod test;
mod tools;
mod torture;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use dormouse_chores::progress::complain;
use dormouse_chores::{arguments, process};

/// Chores of the Dormouse workspace.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Build the interpreter components (guests) that are not in the cache yet
    Guests(arguments::Guests),
    /// Do all the set-up: guests, command line, a first evaluation
    Setup,
    /// Run the tests, cheap ones first
    Test(test::Arguments),
    /// Run one suite of tests that no one here wrote
    Suite(arguments::Suites),
    /// Start, end or show the container engine of the tests, and build the images in it
    Engine(dormouse_test_engine::Arguments),
    /// Measure, beside the peers that are installed; arguments go to the benchmark (try --help)
    Bench {
        /// Arguments of the benchmark
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Kill a server again and again while it is called, fill its disk, set its clock; then hold what is there to what it
    /// answered. Arguments go to the program (try --help)
    Torture {
        /// Arguments of the program
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Fuzz the parsers that read hostile bytes, guided by coverage
    Fuzz(fuzz::Arguments),
    /// Make what people install: archives, a Debian package, checksums, a bill of materials
    Dist(dist::Arguments),
    /// Check licences, minimum versions and names that must not be committed
    Check,
    /// Build the book of `docs` into target/book, and check its links
    Book,
}

fn main() -> ExitCode {
    let done = match Cli::parse().chore {
        Chore::Guests(_) => return passed_on(tools::GUESTS),
        Chore::Suite(_) => return passed_on(tools::SUITES),
        Chore::Setup => setup::run(),
        Chore::Test(arguments) => test::run(&arguments),
        Chore::Engine(arguments) => dormouse_test_engine::run(&arguments),
        Chore::Bench { arguments } => process::bench(&arguments).map(drop),
        Chore::Torture { arguments } => torture::run(&arguments).and_then(|outcome| match outcome.ok {
            true => Ok(()),
            false => Err(anyhow::anyhow!("a promise was broken")),
        }),
        Chore::Fuzz(arguments) => fuzz::run(&arguments),
        Chore::Dist(arguments) => dist::run(&arguments),
        Chore::Check => check::run().and_then(|outcome| match outcome.totals.failed {
            0 => Ok(()),
            count => Err(anyhow::anyhow!("{count} checks failed")),
        }),
        Chore::Book => book::run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

/// Calls a tool with the words after the name of the chore. What it did not do it has said itself.
fn passed_on(tool: tools::Tool) -> ExitCode {
    match tool.run(std::env::args_os().skip(2)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => failed(&error),
    }
}

fn failed(error: &anyhow::Error) -> ExitCode {
    complain(&format!("error: {error:#}"));
    ExitCode::FAILURE
}
