//! The TypeScript guest: swc, as JavaScript for the JavaScript guest.
//!
//! | step | module |
//! | --- | --- |
//! | the call, over the contract in `wit/transpiler.wit` | [`entry`] |
//! | types are blanked out, where that is all there is to do | [`strip`] |
//! | enums, namespaces, parameter properties: compiled | [`compile`] |
//! | compiled code, written in the lines that it came from | [`place`] |
//! | what is wrong with a source, and where | [`refusal`] |
//!
//! Nothing in here guards the host: the limits of the instance do. An instance makes one call, so nothing is freed that the
//! end of the instance frees as well.

mod compile;
mod entry;
mod place;
mod refusal;
mod strip;
