//! The words that all crates of Dormouse share: errors, the names of languages and guests, paths inside a sandbox, and the pieces of
//! saved state.
//!
//! This crate knows nothing of how a sandbox is run, kept or asked for. `dormouse-core` passes all
//! of it on.
//!
//! | for | module |
//! | --- | --- |
//! | failures: a stable code, a sentence, a hint | [`error`], `advice` |
//! | what runs code | [`language`], [`guest`] |
//! | where in a sandbox, and what may be done there | [`path`] |
//! | the pieces that saved state consists of | [`chunk`], [`reached`] |

mod advice;
pub mod chunk;
pub mod error;
pub mod guest;
pub mod language;
pub mod path;
pub mod reached;

pub use chunk::{ChunkId, ChunkSink, ChunkSource, SavedState};
pub use error::{Error, ErrorCode, Result};
pub use guest::GuestName;
pub use language::Language;
pub use path::{Access, GuestPath};
pub use reached::Reached;
