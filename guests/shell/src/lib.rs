//! The shell guest: the command language of bashkit over the sandbox's own files.
//!
//! The path of a command line, one room a step:
//!
//! | step | module |
//! | --- | --- |
//! | the call, from `interpreter.c` over `dormouse_contract` | [`entry`] |
//! | the session that lasts from call to call | [`session`] |
//! | files and folders, which are the instance's own | [`files`] |
//! | programs that are no part of the shell | [`programs`] |
//! | scripts of a `package.json` | [`npm`] |
//! | time limits within a command line | [`timeout`] |
//! | commands of our own in place of bashkit's | [`own`] |
//! | variables as the contract lists them | [`variables`] |
//!
//! Nothing in here guards the host: the limits of the instance do.

#![allow(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a command says what it says on the standard streams"
)]

mod entry;
mod files;
mod npm;
mod own;
mod programs;
mod session;
mod timeout;
mod variables;
