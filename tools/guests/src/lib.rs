//! `dormouse-guests`, called by `cargo xtask guests`: builds guests from source. It needs no engine: what does is asked of
//! `dormouse-precompile`.

#![allow(clippy::disallowed_methods, reason = "builds start other programs")]

mod guests;

pub use guests::{debian_sources, run};
