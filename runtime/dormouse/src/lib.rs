//! Dormouse for embedders: evaluate untrusted snippets in a sandbox that starts in under a millisecond.
//!
//! ```no_run
//! # async fn demo() -> dormouse::Result<()> {
//! let dormouse = dormouse::Dormouse::new()?;
//! let outcome = dormouse.snippet("python", "sum(range(10))").run().await?;
//! assert_eq!(outcome.value().and_then(|value| value.as_i64()), Some(45));
//! # Ok(()) }
//! ```
//!
//! A [`Dormouse`] owns the engine; keep one for the life of the program, it is cheap to clone. A [`Snippet`] is one
//! run: its limits, mounts, callbacks and output sink. Dropping the future of [`Snippet::run`] cancels the run.
//! Nothing is granted unless you grant it; limits are always on.

mod builder;
mod capacity;
mod fit;
mod kept;
mod snippet;

pub use builder::{Builder, Dormouse};
pub use capacity::Capacity;
pub use dormouse_core::*;
pub use dormouse_store as store;
pub use dormouse_wasm as wasm;
pub use fit::fitted;
pub use kept::KeptSandbox;
pub use snippet::Snippet;
