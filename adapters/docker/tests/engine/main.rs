//! The provider against a real engine.
//!
//! Without an engine each test says that it was skipped, and passes; with `DORMOUSE_REQUIRE_DOCKER=1` it fails.

#![allow(clippy::print_stdout, reason = "a test that is skipped says so")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "what a test's own helpers need has to be there")]

mod cancelled;
mod confined;
mod failed;
mod leftovers;
mod life;
#[path = "../../../containers/tests/list/mod.rs"]
mod list;
mod memory;
mod mounts;
mod network;
#[path = "../../../containers/tests/outside/mod.rs"]
mod outside;
mod pool;
mod processes;
mod published;
mod saved;
mod stopped;
mod support;
mod variables;

list::tests!(support::Bench::of_list, support::Bench::end);
