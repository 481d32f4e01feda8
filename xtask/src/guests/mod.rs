//! `cargo xtask guests`: builds interpreter components from source and keeps them in a cache keyed by content.

mod arguments;
mod cache;
mod component;
mod git;
mod javascript;
mod job;
mod key;
mod php;
mod precompile;
mod python;
mod recipe;
mod refresh;
mod rust;
mod series;
mod shell;
mod source;
mod toolchain;
mod tree;
mod typescript;
mod wizer;

pub(crate) use arguments::{Arguments, run};
pub(crate) use cache::Cache;
pub(crate) use job::{NETWORK_TIMEOUT, run_for};
pub(crate) use key::workspace;
pub(crate) use source::{DebianFile, crate_sources, debian, mirrors};
pub(crate) use toolchain::on_path;

/// Every guest that can be built.
const RECIPES: [&recipe::Recipe; 6] =
    [&python::RECIPE, &javascript::RECIPE, &typescript::RECIPE, &php::RECIPE, &shell::RECIPE, &git::RECIPE];

/// The pinned source archives of a guest's interpreter, for suites that run the interpreter's own tests.
pub(crate) fn debian_sources(package: &str) -> &'static [DebianFile] {
    let pins = RECIPES.iter().flat_map(|recipe| recipe.pins);
    let archives = pins.filter_map(|pin| match pin {
        recipe::Pin::Debian(candidates) => Some(*candidates),
        recipe::Pin::Crate(_) => None,
    });
    archives.into_iter().find(|files| files.iter().any(|file| file.package == package)).unwrap_or_default()
}
