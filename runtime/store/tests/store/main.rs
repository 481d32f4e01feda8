//! The state folder from outside: its verbs, several processes, damage, and what a sweep takes.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests, and their other processes, which speak on standard output"
)]

mod chores;
mod damage;
mod kill;
mod mending;
mod numbers;
mod other;
mod processes;
mod steps;
mod support;
mod verbs;
