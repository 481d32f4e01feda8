//! The native part of the npm package: the engine as Node.js sees it.
//!
//! Requests and answers are JSON text, as with every other door; what they mean to a program in JavaScript is written in
//! TypeScript, in the folder `dormouse` beside this one. Everything is told later, on the thread that asked: no call waits but
//! the one at the end of the program.
//!
//! | step | module |
//! | --- | --- |
//! | the engine, and a call that is told when it is done | [`engine`] |
//! | the program: its functions, and what it is told | [`program`] |
//! | an error, as the package raises it | [`fault`] |

#![allow(clippy::needless_pass_by_value, reason = "Node-API passes arguments by value")]

mod engine;
mod fault;
mod program;

use napi_derive::napi;

/// The version of the release that this belongs to: the package refuses another one.
#[napi]
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
