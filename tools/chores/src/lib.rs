//! What `cargo xtask` and the tools that it calls share. Nothing in here needs the engine.
//!
//! | what | module |
//! | --- | --- |
//! | command lines that `cargo xtask` reads and a tool runs | [`arguments`] |
//! | live lines on a terminal, plain lines elsewhere | [`progress`] |
//! | cargo, the workspace's own programs | [`process`] |
//! | what a run of tests came to | [`outcome`] |
//! | other programs, bounded in time | [`program`] |
//! | Debian packages; its newer Rust compiler | [`apt`], [`rustc_web`] |
//! | packages for Node.js, programs in Python | [`node`], [`python`] |
//! | downloads with pinned checksums | [`sources`] |
//! | the cache folder, and what is installed in it | [`Cache`], [`folder`] |
//! | SHA-256 | [`digest`] |

#![allow(clippy::disallowed_methods, reason = "chores start other programs")]

pub mod apt;
pub mod arguments;
mod cache;
pub mod digest;
pub mod folder;
pub mod node;
pub mod outcome;
pub mod process;
pub mod program;
pub mod progress;
pub mod python;
pub mod rustc_web;
pub mod sources;

use std::path::{Path, PathBuf};

pub use cache::{Cache, GuestFolder};

/// The root of the workspace that this program was built from.
///
/// Where cargo runs a program, `CARGO_MANIFEST_DIR` says where its crate lies now, which may not be where it was compiled.
#[must_use]
pub fn workspace() -> PathBuf {
    let own = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    let root = own.ancestors().find(|folder| folder.join("xtask").is_dir() && folder.join("guests").is_dir());
    root.map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}
