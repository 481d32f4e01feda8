//! The TypeScript guest: swc, as JavaScript for the JavaScript guest.
//!
//! | step | module |
//! | --- | --- |
//! | the call, over the contract in `wit/transpiler.wit` | [`entry`] |
//! | which way a source goes | [`choose`] |
//! | types are blanked out, where that is all there is to do | [`strip`] |
//! | what a source has that only compiling can do | [`facts`] |
//! | that is compiled: enums, namespaces, decorators, JSX and others | [`compile`] |
//! | as its `tsconfig.json` says | [`configuration`] |
//! | a class with decorators is one expression; `export =`; enums that are declared anew | [`declare`] |
//! | helpers of the compiled code, where no variable of a sandbox shows them | [`hidden`] |
//! | compiled code, written in the lines that it came from | [`place`], [`order`] |
//! | what is wrong with a source, and where | [`refusal`] |
//!
//! Nothing in here guards the host: the limits of the instance do. An instance makes one call, so nothing is freed that the
//! end of the instance frees as well.

mod choose;
mod compile;
mod configuration;
mod declare;
mod entry;
mod facts;
mod hidden;
mod order;
mod place;
mod refusal;
mod strip;
