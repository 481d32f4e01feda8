//! The [`Provider`](dormouse_core::Provider) on a container engine.
//!
//! A sandbox that is awake is one hardened container that runs already, with a volume at `/workspace` and one at `/tmp`.
//! Nothing of it lasts in the engine: its state is taken as a file tree into Dormouse's own store, and goes from there into
//! a new container, or to another provider.
//!
//! | step | module |
//! | --- | --- |
//! | what the operator allows | [`settings`], [`image`] (which images), [`mount`] (which folders of the host) |
//! | the engine | [`engine`] (is it there, how long an answer may take), [`pulse`] (whether anything still comes of it), [`dial`] (a way to it through somebody else), [`reap`] (what is ours), [`leftovers`] (what is to be removed yet), [`watch`] (what ended by itself), [`fault`] (the words for what goes wrong), [`shared`] (all of these, for who needs them) |
//! | a container | [`config`] (what one is created with), [`mod@container`] (one that runs), [`memory`] (its limit), [`pool`] (those that wait) |
//! | in a container | [`exec`] (programs), [`mod@line`] (command lines), [`running`] and [`sweep`] (their end), [`files`] (single files) |
//! | interpreters | [`interpreter`] (one of them), [`machine`] (which are kept) |
//! | Python's variables over a stop | [`variables`] |
//! | files as a whole | [`paths`] (which folders), [`archive`] (tar and tree), [`dress`] (modes, links, FIFOs), [`snapshot`] (the saved form) |
//! | a save | [`saving`] (what is done), [`listing`] (what there is), [`merge`] (what of it is new) |
//! | what is lost | [`lost`] (variables, and that an answer says so), [`ended`] (a container that ends under a command) |
//! | the ports | [`provider`], [`machine`], [`commands`], [`programs`] (single commands of another provider) |
//! | containers of others' servers | [`published`], [`begin`] (files that it has from the start), [`relay`] (the way to one without a network) |

mod archive;
mod begin;
mod commands;
mod config;
mod container;
mod dial;
mod dress;
mod ended;
mod engine;
mod exec;
mod fault;
mod files;
#[doc(hidden)]
pub mod fuzz;
mod image;
pub mod interpreter;
mod leftovers;
mod line;
mod listing;
mod lost;
mod machine;
mod memory;
mod merge;
mod mount;
mod paths;
mod pool;
mod programs;
mod provider;
mod published;
mod pulse;
mod reap;
mod relay;
mod running;
mod saving;
mod settings;
mod shared;
mod snapshot;
mod sweep;
mod variables;
mod watch;

pub use crate::dial::{Address, Dial};
pub use crate::programs::DockerPrograms;
pub use crate::provider::{ABILITIES, DockerProvider};
pub use crate::published::{Ended, Published, PublishedSpec};
pub use crate::settings::Settings;
pub use crate::snapshot::reach as reach_state;
pub use dormouse_files::ALONE as STATE_MARK;
