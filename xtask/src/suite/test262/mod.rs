//! The conformance tests of ECMAScript (test262) in the JavaScript guest. Each test runs in an instance of its own: the
//! harness as one script, then the test as another.

mod harness;
mod material;
mod run;
mod script;
mod skip;

pub(crate) use run::run;
