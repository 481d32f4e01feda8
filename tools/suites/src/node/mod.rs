//! Node.js's own tests of the modules that the JavaScript guest has, and its copy of the web-platform-tests. Each file is a program of
//! a fresh instance. One of Node.js passes when it ends with status 0, as under Node's own runner; one of the web has many tests.

mod engine;
mod material;
mod run;
mod web;

pub(crate) use run::run;
