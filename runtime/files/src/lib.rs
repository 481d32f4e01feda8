//! The files of a sandbox: a copy-on-write tree in memory, behind a guest's handles and a host's paths, saved as chunks.
//!
//! A [`Tree`] is a value: the files as they were at one moment. Cloning it takes constant time, and that is what a fork
//! and a checkpoint in memory are. [`Files`] is a tree in use: interpreters hold [`Handle`]s on it, tools call it by
//! path. [`save()`] writes a tree to a store of chunks, [`load()`] reads it back.
//!
//! ```
//! use dormouse_types::{Access, GuestPath};
//! use dormouse_files::{Files, Flags, MemoryChunks, OpenFlags, Quota, Tree, load, save};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let path = |path| GuestPath::parse(path);
//! let files = Files::new(Tree::default());
//! files.make_folder(&path("/workspace")?)?;
//!
//! // A guest gets a handle on the folder, and opens files below it.
//! let folder = files.open_folder(&path("/workspace")?, Access::ReadWrite)?;
//! let create = OpenFlags { create: true, ..OpenFlags::default() };
//! let file = folder.open_at("a.txt", true, create, Flags { write: true, ..Flags::default() })?;
//! file.write(0, b"hello")?;
//!
//! // A fork, a saved tree and the sandbox itself go their own ways.
//! let fork = Files::new(files.snapshot());
//! let mut chunks = MemoryChunks::default();
//! let root = save(&files.snapshot(), &mut chunks)?;
//! file.append(b" world")?;
//! assert_eq!(files.read(&path("/workspace/a.txt")?, 0, 100)?, b"hello world");
//! assert_eq!(fork.read(&path("/workspace/a.txt")?, 0, 100)?, b"hello");
//! let woken = Files::new(load(root, std::sync::Arc::new(chunks), Quota::default())?);
//! assert_eq!(woken.read(&path("/workspace/a.txt")?, 0, 100)?, b"hello");
//! # Ok(())
//! # }
//! ```
//!
//! From the inside out: `map` (the persistent map that all is made of), `block` and `content` (a file's bytes), `node`,
//! `tree` (the table of nodes and the account), `naming` and `resolve` (names and paths), `audit` (is it a tree?);
//! `files` (the live view), `handle` (the guest's face), `reopen` (handles that last), `host` (the tools' face); `chunk`, `format`, `save`, `load`,
//! `reach` (the saved form); `alone` (a state that is files and nothing else), `extras` (what a container has besides); `errno` and
//! `quota` (the vocabulary).

mod alone;
mod audit;
mod block;
mod chunk;
mod content;
mod errno;
mod extras;
mod files;
mod format;
#[doc(hidden)]
pub mod fuzz;
mod handle;
mod host;
mod load;
mod map;
mod naming;
mod node;
mod quota;
mod reach;
mod reopen;
mod resolve;
mod save;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod tree;

pub use crate::alone::{ALONE, root_alone, save_alone};
pub use crate::chunk::MemoryChunks;
pub use crate::errno::Errno;
pub use crate::extras::{Age, Extras};
pub use crate::files::Files;
pub use crate::handle::{DirEntry, Flags, Handle, Listing, NewTime, OpenFlags};
pub use crate::host::{FileList, Listed};
pub use crate::load::load;
pub use crate::node::{Kind, Stat, Times};
pub use crate::quota::{Quota, Usage};
pub use crate::reach::reachable;
pub use crate::reopen::Held;
pub use crate::save::{Root, save};
pub use crate::tree::Tree;
pub use dormouse_types::chunk::{ChunkId, ChunkSink, ChunkSource, MAX_CHUNK};
