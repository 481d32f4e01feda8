//! The canonical tools, `sandbox_*`: those of one verb each, and those that belong together in one file.
//!
//! To add one: declare its arguments and its answer, write its function, tie the three together as a [`Verb`], and name it in
//! `catalog`.

pub(crate) mod capabilities;
pub(crate) mod clone;
pub(crate) mod create;
pub(crate) mod eval;
pub(crate) mod exec;
pub(crate) mod files;
pub(crate) mod folders;
pub(crate) mod given;
pub(crate) mod install;
pub(crate) mod job;
pub(crate) mod life;
pub(crate) mod look;
pub(crate) mod lost;
pub(crate) mod read;
pub(crate) mod run;
pub(crate) mod shown;
pub(crate) mod states;
pub(crate) mod transfer;
pub(crate) mod variables;
mod verb;
pub(crate) mod write;

pub(crate) use self::verb::{Run, Verb};
