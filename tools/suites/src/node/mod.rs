//! Node.js's own tests of the modules that the JavaScript guest has. Each is the main program of a fresh instance, and passes when
//! it ends with status 0, as under Node's own runner.

mod material;
mod run;

pub(crate) use run::run;
