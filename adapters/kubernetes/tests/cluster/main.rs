//! The provider against an API server of ours ([`server`]), whose pods are containers of the tests' engine ([`node`]) and whose
//! claims are answered by a stand-in for the controller of agent-sandbox ([`pools`]).
//!
//! Without an engine the tests that need one say that they were skipped, and pass; with `DORMOUSE_REQUIRE_DOCKER=1` they fail.

#![allow(clippy::print_stdout, reason = "a test that is skipped says so")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "what a test's own helpers need has to be there")]
#![allow(clippy::disallowed_methods, reason = "a node runs programs")]

mod answers;
mod claims;
mod doctor;
mod hostile;
mod kubectl;
mod life;
#[path = "../../../containers/tests/list/mod.rs"]
mod list;
mod network;
mod node;
mod objects;
#[path = "../../../containers/tests/outside/mod.rs"]
mod outside;
mod pools;
mod resources;
mod server;
mod streams;
mod support;
mod suspended;
mod volumes;

list::tests!(support::Bench::of_list, support::Bench::end);
