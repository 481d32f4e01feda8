//! `cargo xtask`: the chores of this workspace that cargo does not know.

mod guests;
mod progress;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

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
    Guests(guests::Arguments),
}

fn main() -> ExitCode {
    let done = match Cli::parse().chore {
        Chore::Guests(arguments) => guests::run(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            progress::complain(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}
