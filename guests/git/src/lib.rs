//! The git guest: git's commands over libgit2, on the sandbox's own files.
//!
//! The path of a command, one room a step:
//!
//! | step | module |
//! | --- | --- |
//! | the call, from `interpreter.c` over `dormouse_contract` | [`entry`] |
//! | which command it is; each has a room below | [`commands`] |
//! | its words: options, values, paths | [`words`] |
//! | the repository it works on, and how a failure ends | [`context`] |
//! | how each command is called | [`usage`] |
//! | which paths are tracked | [`index`] |
//! | names of files as they are shown | [`paths`] |
//! | commits as text | [`format`] |
//! | libgit2, set up | [`library`] |
//! | remote repositories: over the host's program, or over the network | [`transport`]: [`host`], [`web`] |
//!
//! What is printed is what git prints, where it is not a terminal. Nothing in here guards the host: the limits of the
//! instance do.

#![allow(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a command says what it says on the standard streams"
)]

mod commands;
mod context;
mod entry;
mod format;
mod host;
mod index;
mod library;
mod paths;
#[cfg(test)]
mod tests;
mod transport;
mod usage;
mod web;
mod words;
