//! What the whole-path tests share. No test of its own.
//!
//! | need | module |
//! | --- | --- |
//! | run a snippet in the one sandbox of the process | [`sandbox`] |
//! | sandboxes that last, over a state folder | [`lasting`] |
//! | say how it must have ended | [`ending`], [`attack`] |
//! | hold a hostile case to "nothing remains" | [`case`], [`levels`], [`canary`], [`folders`] |
//! | compare a whole answer with a recorded one | [`golden`] |
//! | the cache folder of a later release | [`releases`] |
//! | an agent's turns from a script | [`turns`] |
//! | the real binary, on the command line, over stdio and over HTTP | [`binary`], [`wire`], [`served`] |
//! | a container engine that goes away or stalls | [`between`] |
//! | servers that sandboxes reach over a gate | [`outside`] |
//! | wait for an event, with a deadline | [`wait_until`], [`wait_for`] |

pub mod attack;
pub mod between;
pub mod binary;
pub mod canary;
pub mod case;
pub mod ending;
pub mod folders;
pub mod golden;
pub mod lasting;
pub mod levels;
pub mod outside;
pub mod releases;
pub mod sandbox;
pub mod served;
pub mod turns;
pub mod wire;

pub use dormouse_core::testing::{wait_for, wait_until};

/// Python.
pub const PYTHON: &str = "python";
/// JavaScript.
pub const JAVASCRIPT: &str = "javascript";
/// PHP.
pub const PHP: &str = "php";

/// How long after its limit a run may end (docs/THREAT_MODEL.md, P2).
pub const PROMISE: std::time::Duration = std::time::Duration::from_secs(1);
/// What a busy machine may add to any time.
pub const NOISE: std::time::Duration = std::time::Duration::from_secs(2);
