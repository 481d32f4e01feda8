//! `cargo xtask guests`: builds interpreter components from source and keeps them in a cache keyed by content.

mod arguments;
mod cache;
mod component;
mod javascript;
mod job;
mod key;
mod precompile;
mod python;
mod recipe;
mod source;
mod toolchain;
mod tree;
mod wizer;

pub(crate) use arguments::{Arguments, run};
pub(crate) use cache::Cache;
pub(crate) use key::workspace;
pub(crate) use source::{DebianFile, crate_sources, debian};

/// Every guest that can be built.
const RECIPES: [&recipe::Recipe; 2] = [&python::RECIPE, &javascript::RECIPE];
