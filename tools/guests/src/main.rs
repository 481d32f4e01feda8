//! The program `dormouse-guests`.

use std::process::ExitCode;

use clap::Parser;
use dormouse_chores::arguments::Guests;
use dormouse_chores::progress::complain;

/// Build the interpreter components (guests) that are not in the cache yet
#[derive(Parser)]
#[command(name = "cargo xtask guests", bin_name = "cargo xtask guests")]
struct Cli {
    #[command(flatten)]
    arguments: Guests,
}

fn main() -> ExitCode {
    match dormouse_guests::run(&Cli::parse().arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}
