//! Guests: interpreter components, built from source and kept in a cache keyed by content.

mod bridge;
mod build;
mod component;
mod core_module;
mod direct;
mod git;
mod host;
mod javascript;
mod job;
mod key;
mod libraries;
mod merge;
mod npm;
mod php;
mod python;
mod recipe;
mod refresh;
mod rust;
mod series;
mod shell;
mod source;
mod tidy;
mod toolchain;
mod tree;
mod typescript;
mod wizer;
mod zstd;

use dormouse_chores::sources::DebianFile;

pub use build::run;

/// Every guest that can be built.
const RECIPES: [&recipe::Recipe; 6] =
    [&python::RECIPE, &javascript::RECIPE, &typescript::RECIPE, &php::RECIPE, &shell::RECIPE, &git::RECIPE];

/// The pinned source archives of a guest's interpreter, for suites that run the interpreter's own tests.
#[must_use]
pub fn debian_sources(package: &str) -> &'static [DebianFile] {
    let pins = RECIPES.iter().flat_map(|recipe| recipe.pins);
    let archives = pins.filter_map(|pin| match pin {
        recipe::Pin::Debian(candidates) => Some(*candidates),
        recipe::Pin::Crate(_) | recipe::Pin::Python(_) => None,
    });
    archives.into_iter().find(|files| files.iter().any(|file| file.package == package)).unwrap_or_default()
}
