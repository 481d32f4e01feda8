//! The [`Provider`](dormouse_core::Provider) on a container engine.
//!
//! A sandbox that is awake is one hardened container, with a volume at `/workspace` and one at `/tmp`. What is done in it is
//! the same for every engine, and is in [`dormouse_containers`].
//!
//! | step | module |
//! | --- | --- |
//! | what the operator allows | [`settings`], [`image`] (which images), [`mount`] (which folders of the host) |
//! | the engine | [`engine`] (is it there, how long an answer may take), [`dial`] (a way to it through somebody else), [`reap`] (what is ours), [`thing`] (what is made and removed), [`watch`] (what ended by itself), [`fault`] (the words for what goes wrong), [`shared`] (all of these, for who needs them) |
//! | a container | [`config`] (what one is created with), [`mod@container`] (one that runs), [`memory`] (its limit), [`pool`] (those that wait) |
//! | in a container | [`exec`] (programs), [`transfer`] (archives) |
//! | the network of a sandbox | [`gate`] (the container beside its own) |
//! | the ports | [`port`] (the engine, for what is done in containers), [`provider`], [`programs`] (single commands of another provider) |
//! | containers of others' servers | [`published`], [`begin`] (files that it has from the start), [`relay`] (the way to one without a network) |

mod begin;
mod config;
mod container;
mod dial;
mod engine;
mod exec;
mod fault;
mod gate;
mod image;
mod memory;
mod mount;
mod pool;
mod port;
mod programs;
mod provider;
mod published;
mod reap;
mod relay;
mod settings;
mod shared;
mod thing;
mod transfer;
mod watch;

pub use crate::dial::{Address, Dial};
pub use crate::programs::DockerPrograms;
pub use crate::provider::{ABILITIES, DockerProvider};
pub use crate::published::{Ended, Published, PublishedSpec};
pub use crate::settings::Settings;
pub use dormouse_containers::{MARK as STATE_MARK, reach as reach_state};
