//! The subcommands, one file each.

mod clients;
mod completions;
mod doctor;
mod eval;
mod guests;
mod health;
mod manual;
mod mcp;
mod net;
mod once;
mod repl;
mod run;
mod runs;
mod sandbox;
mod scenario;
mod serve;
mod serving;
mod state;

use crate::args::{Arguments, Command};
use crate::{broker, exit, log};

/// Does what the command line says; the exit status.
pub(crate) fn run(Arguments { place, command }: Arguments) -> u8 {
    match command {
        Command::Mcp { command: None, .. } | Command::Serve(_) => log::full(),
        _ => log::start(),
    }
    let done = match command {
        Command::Eval(arguments) => eval::run(&place, arguments),
        Command::Sandbox { state, command } => sandbox::run(&place, &state, command),
        Command::Runs { state, command } => runs::run(&place, &state, command),
        Command::State { folder, command } => state::run(&place, &folder, &command),
        Command::Repl(arguments) => repl::run(&place, arguments),
        Command::Run(arguments) => run::run(&place, arguments),
        Command::Mcp { command: Some(command), .. } => clients::run(&command),
        Command::Mcp { arguments, command: None } => mcp::run(&place, &arguments),
        Command::Serve(arguments) => serve::run(&place, &arguments),
        Command::Scenario { command } => scenario::run(&place, command),
        Command::Net { command } => net::run(&command),
        Command::Guests { command } => guests::run(&place, &command),
        Command::Doctor { json, docker } => doctor::run(&place, json, &docker),
        Command::Broker { task } => return broker::run(task),
        Command::Completions { shell } => completions::run(shell),
        Command::Manual { folder } => manual::run(&folder),
        Command::Health { address } => health::run(address),
    };
    done.unwrap_or_else(|failure| exit::report(&failure))
}
