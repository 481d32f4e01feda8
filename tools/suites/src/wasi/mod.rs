//! The test programs of WASI preview 1 (wasi-testsuite), started with `dormouse run` as a user would: what a test calls its
//! root is a mount at `/`, and each program has a copy of it.

mod material;
mod program;
mod run;

pub(crate) use run::run;
