//! What a language has to say for its guest to be built, and nothing about how one language does it.

use std::path::PathBuf;

use anyhow::Result;

use super::job::Job;
use super::source::{DebianFile, PythonFile};
use super::tree::Tree;

/// How one guest is made.
pub(crate) struct Recipe {
    /// The guest's name, which is also its folder under `guests/`.
    pub(crate) language: &'static str,
    /// Whether its programs can wait (`wit/waiting.wit`).
    pub(crate) waits: bool,
    /// Name and version of the interpreter, such as `CPython 3.14.7`.
    pub(crate) interpreter: &'static str,
    /// Raised when the recipe changes in a way that no hashed file shows.
    pub(crate) version: u32,
    /// The text of the recipe's own Rust sources (`include_str!`), part of the content key.
    pub(crate) text: &'static [&'static str],
    /// Everything that is fetched.
    pub(crate) pins: &'static [Pin],
    /// The source trees of the build, to which the patches in the guest's folder apply.
    pub(crate) trees: &'static [Tree],
    /// Compiles, links and initialises; the result is a core module that `Job::component` has still to wrap.
    pub(crate) build: fn(&Job<'_>) -> Result<PathBuf>,
}

/// A source that a recipe fetches; its checksum is part of the content key.
pub(crate) enum Pin {
    /// A file of Debian's archive: the first of the candidates that is served.
    Debian(&'static [DebianFile]),
    /// A source distribution of Python.
    Python(&'static PythonFile),
    /// C sources inside a Rust package that `guests/sources/Cargo.lock` pins.
    Crate(&'static str),
}
