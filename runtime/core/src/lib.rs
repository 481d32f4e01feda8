//! The vocabulary of Dormouse and the front door that every adapter speaks to.
//!
//! This crate knows what a sandbox is and nothing about how one is run: no engine, no protocol, no terminal.
//! A front door builds an [`EvalRequest`], the [`Runtime`] checks it against the operator's [`Policy`], a
//! [`Provider`] runs it, and an [`Outcome`] comes back. Requests are immutable once built; each error has a stable [`ErrorCode`]
//! and a hint. What the crates below this one use too (errors, names, paths, chunks) is `dormouse-types`, and is passed on here.
//!
//! | step | module |
//! | --- | --- |
//! | what to run | [`request`], [`grants`], [`project`], [`limits`], [`callback`], [`program`] |
//! | the door: runs, and sandboxes that last | [`runtime`] |
//! | may it run | [`policy`], `admission` |
//! | in which order calls came | [`arrival`] |
//! | whose turn it is: places, time at the processor, memory | [`fair`], [`places`], [`turns`], [`memory`] |
//! | what of the host is never given: keys | [`keys`] |
//! | memory that was let go of, to be given back to the system | [`released`] |
//! | a language model, and what it may cost | [`model`] |
//! | tools of other servers, and who allows calls of them | [`connections`] |
//! | calls of tools that a program's text shows | [`plain`] |
//! | packages for a sandbox | [`packages`] |
//! | the network outside | [`network`]; of servers that the operator connects, [`errand`] |
//! | names with stars in an operator's lists | [`pattern`] |
//! | the names of other machines | [`resolve`] |
//! | a sandbox that lasts | [`sandbox`], [`sandboxes`] |
//! | who runs it | [`provider`], [`abilities`], [`capabilities`] |
//! | doubles and waiting for tests (feature `testing`) | `testing` |
//! | was another language meant | [`mistaken`] |
//! | a program that waits | [`waiting`] |
//! | what came back | [`outcome`], [`value`], [`exception`], [`output`] |

pub mod abilities;
mod admission;
pub mod arrival;
pub mod callback;
pub mod capabilities;
pub mod connections;
pub mod errand;
pub mod exception;
pub mod fair;
pub mod grants;
pub mod keys;
pub mod limits;
pub mod memory;
pub mod mistaken;
pub mod model;
pub mod network;
mod notebook;
pub mod outcome;
pub mod output;
pub mod packages;
pub mod pattern;
mod places;
pub mod plain;
pub mod policy;
pub mod program;
pub mod project;
pub mod provider;
pub mod released;
pub mod request;
pub mod resolve;
pub mod runtime;
pub mod sandbox;
pub mod sandboxes;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod turns;
pub mod value;
pub mod waiting;

pub use abilities::Abilities;
pub use callback::{AnswerFile, Callback, CallbackAnswer, CallbackCall, Callbacks, Catalog};
pub use capabilities::{Capabilities, GuestInfo};
pub use connections::{Approver, Connections};
pub use dormouse_types::{Access, Error, ErrorCode, GuestName, GuestPath, Language, Result};
pub use exception::Exception;
pub use grants::{Grants, Mount};
pub use limits::{Bounds, Limits, MIB};
pub use model::{MeteredModel, Model, ModelBudget, ModelTotals, ModelUsage, Prompt};
pub use outcome::{Outcome, Recovery, Status, Usage};
pub use output::{Captured, OutputSink, Stream};
pub use packages::{PackageManager, Packages};
pub use plain::PlainCall;
pub use policy::Policy;
pub use program::{OfferedPrograms, ProgramCall, ProgramEnd, ProgramRun, Programs};
pub use project::Project;
pub use provider::Provider;
pub use request::{CommandRequest, EvalRequest, LineRequest, RunContext};
pub use resolve::Resolve;
pub use runtime::Runtime;
pub use sandboxes::Sandboxes;
pub use value::Value;
pub use waiting::{CallAnswer, Paused, Progress};
