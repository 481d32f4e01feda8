//! The shell guest: the command language of bashkit over the sandbox's own files.
//!
//! The path of a command line, one room a step:
//!
//! | step | room |
//! | --- | --- |
//! | the call, from `interpreter.c` | [`entry`] |
//! | the session that lasts from call to call | [`session`] |
//! | files and folders, which are the instance's own | [`files`] |
//! | programs that are no part of the shell | [`programs`], over the contract in [`contract`] |
//! | scripts of a `package.json` | [`npm`] |
//! | time limits within a command line | [`timeout`] |
//! | commands of our own in place of bashkit's | [`own`] |
//! | how much memory a call has used | [`heap`] |
//! | variables as the contract lists them | [`variables`] |
//!
//! Nothing in here guards the host: the limits of the instance do.

mod contract;
mod entry;
mod files;
mod heap;
mod npm;
mod own;
mod programs;
mod session;
mod timeout;
mod variables;
