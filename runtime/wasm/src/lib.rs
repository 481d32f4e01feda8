//! The [`Provider`](dormouse_core::Provider) on Wasmtime.
//!
//! The path of a run, one room a step:
//!
//! | step | room |
//! | --- | --- |
//! | which guest | [`guest`], [`typescript`] |
//! | its machine code | [`artifact`], on one of the [`engine`]s |
//! | an instance | [`loaded`], [`ready`] |
//! | what it may touch and use | [`grants`], [`scratch`], [`disk`], [`limiter`], [`ticker`] |
//! | the call | [`instance`], over the contract in [`bindings`], with the host functions of [`linker`] |
//! | what came of it | [`stdio`], [`trap`] |
//!
//! Unsafe code stands in `artifact` (mapping our own machine code) and nowhere else.

mod artifact;
mod bindings;
mod disk;
mod engine;
mod grants;
mod guest;
mod instance;
mod limiter;
mod linker;
mod loaded;
mod provider;
mod ready;
mod scratch;
mod settings;
mod state;
mod stdio;
mod ticker;
mod trap;
mod typescript;

pub use provider::WasmProvider;
pub use settings::{Allocation, Settings};

/// The word that outcomes of this provider carry.
const PROVIDER: &str = "wasm";
