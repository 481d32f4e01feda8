//! CPython's own tests in the Python guest: each module in a fresh instance, by the tests' own `unittest`.

mod material;
mod module;
mod run;

pub(crate) use run::run;
