//! The tools over the Model Context Protocol, on standard input and output.
//!
//! A thin skin over [`dormouse_tools::Surface`]: this crate knows JSON-RPC, both eras of the protocol (`initialize`, up to
//! revision 2025-11-25, and stateless requests of 2026-07-28), progress and cancellation, and nothing of sandboxes.

mod handler;
mod progress;
mod serve;

pub use handler::Handler;
pub use serve::{MAX_LINE, McpError, serve, serve_stdio};
