//! PHP's own tests (`.phpt`) in the PHP guest, each in a fresh instance: the settings as one snippet, the test as the
//! next, and the end of a script as a third.

mod compare;
mod engine;
mod material;
mod pattern;
mod run;
mod sections;
mod skip;
mod tree;

pub(crate) use run::run;
