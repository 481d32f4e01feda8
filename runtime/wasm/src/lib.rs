//! The [`Provider`](dormouse_core::Provider) on Wasmtime.
//!
//! The path of a run, one module a step:
//!
//! | step | module |
//! | --- | --- |
//! | which guest | [`guest`], by the [`loader`]; for saved memory the one that it was saved with, [`kept`] |
//! | TypeScript becomes JavaScript | [`typescript`] |
//! | its machine code | [`artifact`], on one of the [`engine`]s; what it expects of the [`processor`] |
//! | an instance | [`loaded`], [`ready`] |
//! | what it may touch and use | [`grants`], [`disk`], [`limiter`], [`ticker`], [`share`] |
//! | the project it happens in | [`project`] |
//! | calls of tools that its text shows, looked at before it runs | [`plain`] |
//! | the call | [`instance`], by one of the [`calls`] of the contract in [`bindings`], with the host functions of [`linker`] |
//! | the way in | [`entry`]: the only one, with its deadline and its bounds |
//! | what a command line starts | [`programs`] |
//! | connections to the outside | [`network`], over the run's [`net`] |
//! | what came of it | [`stdio`], [`trap`] |
//! | memory that goes back to the system | [`trim`] |
//!
//! A user's own program takes the same way through [`command`] instead of a guest, a preview1
//! module by way of [`preview1`]. A kept instance is a [`Session`]; its state goes through the [`doors`] into a [`SavedInterpreter`] and back
//! ([`checkpoint`]).
//!
//! Unsafe code stands in `artifact` (mapping our own machine code), `doors` (writing a restored page) and `trim` (asking the C
//! library to give free memory back), one block each, and nowhere else.

mod artifact;
mod bindings;
mod calls;
mod checkpoint;
mod clock;
mod command;
mod disk;
mod doors;
mod engine;
mod entry;
#[doc(hidden)]
pub mod fuzz;
mod grants;
mod guest;
mod hex;
mod http;
mod instance;
mod kept;
mod limiter;
mod linker;
mod loaded;
mod loader;
mod machine;
mod net;
mod network;
mod once;
mod pauses;
mod pieces;
mod plain;
mod preview1;
mod private;
mod processor;
mod programs;
mod project;
mod provider;
mod reach;
mod ready;
mod release;
mod saved;
mod session;
mod settings;
mod share;
mod snapshot;
mod state;
mod stdio;
mod task;
mod ticker;
mod trap;
mod tree_files;
mod trim;
mod typescript;
mod under_way;
mod waiting;
mod written;

pub use bindings::CONTRACT;
pub use dormouse_core::{GuestName, Language};
pub use kept::{MOST_KEPT, Memory, Wake};
pub use processor::{Architecture, Processors};
pub use provider::{ABILITIES, Build, WasmProvider};
pub use saved::SavedInterpreter;
pub use session::Session;
pub use settings::{Allocation, Settings};

/// The word that outcomes of this provider carry.
const PROVIDER: &str = "wasm";
