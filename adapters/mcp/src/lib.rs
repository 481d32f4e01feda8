//! The tools over the Model Context Protocol, on standard input and output and over HTTP.
//!
//! A thin skin over [`dormouse_tools::Surface`]: this crate knows JSON-RPC, both eras of the protocol (`initialize`, up to
//! revision 2025-11-25, and stateless requests of 2026-07-28), progress and cancellation, and nothing of sandboxes.
//!
//! | step | module |
//! | --- | --- |
//! | bytes to lines, lines to messages, both bounded | `line`, `parse` |
//! | long messages, taken apart before they are read | `long` |
//! | messages in and out, in order, with back-pressure | `transport`, `outbox` |
//! | in which order requests begin | `order` |
//! | requests to the surface, answers back | [`Handler`], `progress` |
//! | the model that a client offers, and its roots | `sampling`, `roots` |
//! | asking the person at the client | `asking` |
//! | the life of a connection | [`serve()`] |
//! | the same handler behind HTTP | [`http()`] |

mod asking;
#[doc(hidden)]
pub mod fuzz;
mod handler;
mod http;
mod line;
mod long;
mod order;
mod outbox;
mod parse;
mod progress;
mod roots;
mod sampling;
mod serve;
mod transport;

pub use handler::Handler;
pub use http::{PATH, http};
pub use serve::{MAX_LINE, McpError, serve, serve_stdio};
