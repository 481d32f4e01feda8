//! The vocabulary of Dormouse and the front door that every adapter speaks to.
//!
//! This crate knows what a sandbox is and nothing about how one is run: no engine, no protocol, no terminal.
//! A front door builds an [`EvalRequest`], the [`Manager`] checks it against the operator's [`Policy`], a
//! [`Provider`] runs it, and an [`Outcome`] comes back. Requests are immutable once built; errors are worded
//! here, once, each with a stable [`ErrorCode`] and a hint.
//!
//! | step | room |
//! | --- | --- |
//! | what to run | [`request`], [`language`], [`guest`], [`grants`], [`project`], [`limits`], [`callback`], [`program`] |
//! | may it run | [`policy`], [`manager`] |
//! | in which order calls came | [`arrival`] |
//! | whose turn it is: places, time at the processor, memory | [`fair`], [`places`], [`turns`], [`memory`] |
//! | what of the host is never given: keys | [`keys`] |
//! | memory that was let go of, to be given back to the system | [`released`] |
//! | a language model, and what it may cost | [`model`] |
//! | packages for a sandbox | [`packages`] |
//! | the names of other machines | [`resolve`] |
//! | a sandbox that lasts | [`sandbox`], [`sandboxes`] |
//! | who runs it | [`provider`], [`abilities`], [`capabilities`] |
//! | what to do about a failure that says nothing more | `advice` |
//! | doubles and waiting for tests (feature `testing`) | `testing` |
//! | was another language meant | [`mistaken`] |
//! | what came back | [`outcome`], [`value`], [`exception`], [`output`], [`error`] |

pub mod abilities;
mod advice;
pub mod arrival;
pub mod callback;
pub mod capabilities;
pub mod error;
pub mod exception;
pub mod fair;
pub mod grants;
pub mod guest;
pub mod keys;
pub mod language;
pub mod limits;
pub mod manager;
pub mod memory;
pub mod mistaken;
pub mod model;
pub mod outcome;
pub mod output;
pub mod packages;
mod places;
pub mod policy;
pub mod program;
pub mod project;
pub mod provider;
pub mod released;
pub mod request;
pub mod resolve;
pub mod sandbox;
pub mod sandboxes;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod turns;
pub mod value;

pub use abilities::Abilities;
pub use callback::{Callback, Callbacks};
pub use capabilities::{Capabilities, GuestInfo};
pub use error::{Error, ErrorCode, Result};
pub use exception::Exception;
pub use grants::{Access, Grants, GuestPath, Mount};
pub use guest::GuestName;
pub use language::Language;
pub use limits::{Bounds, Limits, MIB};
pub use manager::Manager;
pub use model::{MeteredModel, Model, ModelBudget, ModelTotals, ModelUsage, Prompt};
pub use outcome::{Outcome, Recovery, Status, Usage};
pub use output::{Captured, OutputSink, Stream};
pub use packages::{PackageManager, Packages};
pub use policy::Policy;
pub use program::{OfferedPrograms, ProgramCall, ProgramEnd, Programs};
pub use project::Project;
pub use provider::Provider;
pub use request::{CommandRequest, EvalRequest, LineRequest, RunContext};
pub use resolve::Resolve;
pub use sandboxes::Sandboxes;
pub use value::Value;
