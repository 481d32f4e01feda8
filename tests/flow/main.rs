//! The same runs through every front door: the crate, the command line, and MCP over standard input and output and over HTTP, and REST.

#![allow(clippy::unwrap_used, reason = "a test ends where an answer is not what it must be")]
#![allow(clippy::print_stderr, reason = "what a system does not let a test do is said")]

mod ampersand;
mod arguments;
mod bodies;
mod cancelling;
mod codegen;
mod command_line;
mod confined;
mod crowds;
mod fairness;
mod folders;
mod framework_eval;
mod front_doors;
mod grants;
mod hostile_bytes;
mod hostile_text;
mod http_clients;
mod http_guard;
mod images;
mod keep;
mod kernel;
mod listing;
mod locked;
mod network;
mod no_eval;
mod odd_files;
mod order;
mod programs;
mod protocol_only;
mod repl;
mod resources;
mod results;
mod same_answer;
mod source_packages;
mod steady;
mod stopping;
mod told;
mod without_engine;
mod working_folder;
