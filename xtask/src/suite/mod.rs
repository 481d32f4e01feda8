//! `cargo xtask suite`: tests that no one here wrote, run against the guests and the MCP server, and
//! commands that are compared with the real programs.
//!
//! Every suite fetches what it needs by package name into `<cache>/suites`, and holds itself to a list of expected
//! failures that is strict both ways ([`expected`]).

mod arguments;
mod clients;
mod conformance;
mod cpython;
mod expected;
mod folder;
mod inspector;
pub(crate) mod node;
mod packages;
mod phpt;
pub(crate) mod program;
mod python;
mod report;
mod sandbox;
mod schemathesis;
mod server;
mod shell;
mod test262;
mod wasi;

pub(crate) use arguments::{Arguments, run};
