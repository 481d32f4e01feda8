//! What `interpreter.c` calls.

use std::io::Write as _;

use dormouse_contract::export_git;

use crate::commands;
use crate::library;

/// Runs the command that the instance's arguments name, in a folder (none: where it is); the answer is its exit status.
fn command(directory: Option<&str>) -> i32 {
    if let Some(folder) = directory
        && let Err(error) = std::env::set_current_dir(folder)
    {
        eprintln!("fatal: cannot change to '{folder}': {error}");
        return 128;
    }
    let status = match library::start() {
        Ok(()) => commands::run(std::env::args().skip(1).collect()),
        Err(error) => {
            eprintln!("fatal: {}", error.message());
            128
        }
    };
    let _ = std::io::stdout().flush();
    status
}

export_git!(command);
