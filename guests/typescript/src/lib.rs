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
//! | imports of what is only a type are left out | [`imports`] |
//! | namespaces of one name see what the others export | [`merge`] |
//! | fields that are assigned; decorated `accessor`s of the older kind | [`fields`], [`accessor`] |
//! | a class with decorators is one expression; `export =`; enums that are declared anew | [`declare`] |
//! | helpers of the compiled code, where no variable of a sandbox shows them | [`hidden`] |
//! | compiled code, written in the lines that it came from | [`place`], [`order`] |
//! | what is wrong with a source, and where | [`refusal`] |
//! | calls of tools that a source shows | [`plain`] |
//!
//! Nothing in here guards the host: the limits of the instance do. An instance makes one call, so nothing is freed that the
//! end of the instance frees as well.

mod accessor;
mod choose;
mod compile;
mod configuration;
mod declare;
mod entry;
mod facts;
mod fields;
mod hidden;
mod imports;
mod merge;
mod order;
mod place;
mod plain;
mod refusal;
mod strip;
