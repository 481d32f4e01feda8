//! The abuse cases of docs/THREAT_MODEL.md, each a test named by its id, against the embedded sandbox.
//!
//! Every case runs alone ([`case`](dormouse_tests::case)); afterwards a fresh run works, the host's canary is unchanged,
//! no folder of a mount is held open, and memory, descriptors and threads are back at their level.

#![allow(clippy::unwrap_used, reason = "a test ends where an answer is not what it must be")]
#![allow(clippy::print_stderr, reason = "what a system does not let a test do is said")]

mod component;
mod cpu;
mod escape;
mod files;
mod lasting;
mod memory;
mod output;
mod shell;
