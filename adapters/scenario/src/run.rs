//! Runs a plan: opens the scopes, plays the turns, looks at the gates, closes the scopes.
//!
//! run scope -> scenarios, one after the other -> scenario scope -> repetitions -> session scope -> turns -> gates, while
//! the session's servers are still open -> session scope closed -> scenario scope closed -> run scope closed.
//!
//! | step | module |
//! | --- | --- |
//! | who hears of it | [`Observer`] in `observe` |
//! | the scopes and their order | `arena` |
//! | one repetition | `session` |
//! | one scripted turn | `script` |
//! | one turn of the model | `talk`, over `crate::model` |
//! | one call of a tool | `call` |
//! | what a call must come to | `expect` |
//! | gates | `gate` |
//! | what could not be closed, what was overwritten | `watch` |

mod arena;
mod call;
mod expect;
mod gate;
mod observe;
mod script;
mod session;
mod talk;
mod watch;

pub use arena::{Options, check, run};
pub use observe::{Event, Observer, Silent};

use std::time::Instant;

/// Milliseconds since then.
fn since(start: Instant) -> f64 {
    // Microseconds are as fine as anything here is.
    (start.elapsed().as_secs_f64() * 1e6).round() / 1e3
}
