//! What leaves a sandbox for the network. Everything goes through one gate on the host, and nothing goes that no rule allows.
//!
//! The way of a request, from top to bottom:
//!
//! | step | module |
//! | --- | --- |
//! | what the operator allows: a file, and short forms of it | [`file`](mod@file), [`flags`]; [`Watched`] |
//! | who opens the operator's files, and runs the operator's commands | [`Operator`] |
//! | what the rules say of a request, without sending it | `check`: [`Verdict`] |
//! | rules out of an audit | `learn`: [`Learned`] |
//! | the process, a sandbox, a run | `gate`: [`Gate`], [`Way`], [`Door`] |
//! | streams on which a guest speaks HTTP itself, or bytes | `streams`: [`Opened`]; `ahead`, `plain`, `carry`, `ending`, `linger`, `flushed` |
//! | a proxy of HTTP, for programs that know nothing of doors | `proxy`; `tunnel`, `authority` |
//! | one request: the steps, in their order | `exchange`: [`Door::exchange`]; WebSockets `socket` |
//! | what may be spent | `budget`: [`Budget`] |
//! | where it says that it goes, and its form | `message` |
//! | hosts in one form, paths with one reading | [`host`], [`path`] |
//! | the rule that allows it, or what was lacking | [`policy`], `reason`: [`Refusal`] |
//! | placeholders become values, values become stars | [`secrets`]; [`kept_key`] |
//! | what is written down before it leaves, and after | `note`, `audit`: [`Audit`] |
//! | a name becomes addresses that were checked | `resolve`: [`System`]; [`Outer`] for other clients of this process; [`address`] |
//! | TLS, and connections that are kept | `upstream` |
//! | answers that are written down, and given again | `cassette`: [`Cassette`] |
//! | bodies out and back, counted | `body`, `answer` |
//! | what an outcome tells of it | `usage`: [`NetworkUse`](dormouse_core::network::NetworkUse) |
//! | rules as lines, for calls | `line`; lists that restrict `list` |
//! | the port of the core, in these words | `outside`: [`Outside`]; `door`; for servers that the operator connects, `errand` |
//!
//! In a sandbox there are names and no addresses, placeholders and no secrets. The host alone looks names up, and dials only addresses
//! that it has checked; it alone speaks TLS, so what leaves can be read, and what comes back can be washed of secrets.
//!
//! ```no_run
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! use std::path::Path;
//!
//! use dormouse_egress::{Audit, Caller, Gate, Grant, Options, Run, empty, file};
//!
//! let settings = file::read(Path::new("net.toml"))?;
//! let audit = Audit::file(Path::new("network.jsonl"))?;
//! let gate = Gate::open(Options { settings, names: None, audit, key: None, cassette: None, operator: None }).await?;
//! let grant = Grant::new(gate.settings().profile("default")?.clone());
//! let way = gate.way(Caller { owner: "ann".into(), sandbox: None }, grant)?;
//! // ... `way.environment()` is the environment of the sandbox: placeholders ...
//! let door = way.run(Run { id: "run1".into(), ..Run::default() });
//! let request = hyper::Request::get("https://api.example.com/v1/items").body(empty())?;
//! let answer = door.exchange(request).await?;
//! println!("{} {:?}", answer.status(), door.used());
//! # Ok(())
//! # }
//! ```

pub mod address;
mod ahead;
mod answer;
mod audit;
mod authority;
mod body;
mod budget;
mod carry;
mod cassette;
mod check;
mod door;
mod ending;
mod errand;
mod exchange;
pub mod file;
pub mod flags;
mod flushed;
#[doc(hidden)]
pub mod fuzz;
mod gate;
pub mod host;
mod installation;
mod learn;
mod line;
mod linger;
mod list;
mod message;
mod note;
mod operator;
mod outside;
pub mod path;
mod plain;
pub mod policy;
mod proxy;
mod reason;
mod resolve;
pub mod secrets;
mod socket;
mod streams;
#[cfg(test)]
mod tests;
mod tunnel;
mod upstream;
mod usage;
mod watched;

pub use audit::Audit;
pub use body::{empty, full, piece, streamed};
pub use budget::{Budget, Budgets, Spent};
pub use cassette::Cassette;
pub use check::Verdict;
pub use file::{DEFAULT_PROFILE, Settings};
pub use gate::{Caller, Door, Gate, Options, Run, Way};
pub use host::Host;
pub use installation::kept_key;
pub use learn::{Filter, Learned};
pub use operator::{Operator, Own};
pub use outside::Outside;
pub use policy::{Grant, Wanted};
pub use reason::{Reason, Refusal};
pub use resolve::{Outer, System};
pub use streams::Opened;
pub use upstream::Body;
pub use watched::Watched;
/// What is wiped when it is let go of: bytes that a secret is made of.
pub use zeroize::Zeroizing;
