//! Run untrusted Python, JavaScript, TypeScript and PHP inside your program, in sandboxes that start in under a millisecond.
//!
//! A [`Dormouse`] owns the engine. Make one when the program starts and keep it: it is cheap to clone, and nothing is loaded
//! before the first run. Nothing of the host is visible to a sandbox unless you grant it, and limits are always on.
//!
//! # One snippet
//!
//! [`Dormouse::snippet`] runs source text in a fresh sandbox; the value of its last expression comes back. Dropping the future
//! of [`Snippet::run`] cancels the run and frees what it held.
//!
//! ```
//! # #[tokio::main]
//! # async fn main() -> dormouse::Result<()> {
//! let dormouse = dormouse::Dormouse::new()?;
//! let outcome = dormouse.snippet("python", "sum(range(10))").run().await?;
//! assert_eq!(outcome.value().and_then(|value| value.as_i64()), Some(45));
//! # Ok(()) }
//! ```
//!
//! # Limits, and how a run ends
//!
//! An [`Error`] means that the snippet could not be started. Everything that happens in the run itself is an [`Outcome`], and
//! [`Status`] has the four ways in which a run ends: a value, an exception, an exit, a limit.
//!
//! ```
//! # #[tokio::main]
//! # async fn main() -> dormouse::Result<()> {
//! use std::time::Duration;
//!
//! use dormouse::{Dormouse, ErrorCode, Status};
//!
//! let endless = Dormouse::new()?.snippet("javascript", "while (true) {}").timeout(Duration::from_millis(200));
//! match endless.run().await?.status {
//!     Status::Stopped(error) => assert_eq!(error.code(), ErrorCode::LimitTime),
//!     other => panic!("{other:?}"),
//! }
//! # Ok(()) }
//! ```
//!
//! # Grants
//!
//! A mount shows one folder of the host. To let a snippet write there, mount it with [`Access::ReadWrite`] and allow writes in
//! the [`Policy`].
//!
//! ```
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use dormouse::{Access, Dormouse};
//!
//! let folder = tempfile::tempdir()?;
//! std::fs::write(folder.path().join("names.txt"), "ada grace")?;
//! let count = Dormouse::new()?
//!     .snippet("python", "len(open('/data/names.txt').read().split())")
//!     .mount(folder.path(), "/data", Access::ReadOnly)
//!     .run()
//!     .await?;
//! assert_eq!(count.value().and_then(|value| value.as_i64()), Some(2));
//! # Ok(()) }
//! ```
//!
//! # Callbacks
//!
//! A callback is a function of the host that the snippet may call: `call_tool` in Python, `callTool` in JavaScript. Arguments and
//! results are JSON.
//!
//! ```
//! # #[tokio::main]
//! # async fn main() -> dormouse::Result<()> {
//! use serde_json::{Value, json};
//!
//! async fn price(arguments: Value) -> Result<Value, String> {
//!     match arguments["item"].as_str() {
//!         Some("tea") => Ok(json!(3)),
//!         _ => Err("there is no such item".into()),
//!     }
//! }
//!
//! let outcome = dormouse::Dormouse::new()?
//!     .snippet("python", "2 * call_tool('price', item='tea')")
//!     .callback("price", "The price of an item.", json!({"type": "object"}), price)
//!     .run()
//!     .await?;
//! assert_eq!(outcome.value().and_then(|value| value.as_i64()), Some(6));
//! # Ok(()) }
//! ```
//!
//! # A persistent sandbox
//!
//! With a state folder, a sandbox has a name and keeps its variables and files between calls and between processes
//! ([`PersistentSandbox`]). It has checkpoints and forks, and a shell.
//!
//! ```
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! let dormouse = dormouse::Dormouse::builder()?.state(folder.path()).build()?;
//! let work = dormouse.sandbox("work").await?;
//! work.eval("python", "prices = {'tea': 3}").await?;
//! let before = work.checkpoint().await?;
//! work.eval("python", "prices.clear()").await?;
//! work.restore(&before).await?;
//! let said = work.exec("echo 'print(6 * 7)' > app.py; python3 app.py").await?;
//! assert_eq!(said.outcome.stdout.text, "42\n");
//! dormouse.sandboxes()?.close().await?;
//! # Ok(()) }
//! ```
//!
//! The folder `examples` of the repository has whole programs.
//!
//! # Where the interpreters come from
//!
//! They are not in this package. [`Builder::installed`] names the folder of an installed release of this version, such as
//! `/usr/lib/dormouse/0.1.0`: its machine code is for this version of the crate alone. Without it, a folder `lib/dormouse/VERSION`
//! beside the folder of the program is looked for, then the user's cache folder, into which `cargo xtask setup` builds them in a
//! checkout of the source. Where there are none, a run ends with [`ErrorCode::GuestMissing`].
//!
//! # What is here
//!
//! | for | names |
//! | --- | --- |
//! | running snippets and programs | [`Dormouse`], [`Builder`], [`Snippet`], [`Program`], [`CommandRequest`], [`Language`], [`Project`] |
//! | limits and rules | [`Limits`], [`Bounds`], [`Policy`], [`Capacity`] |
//! | grants | [`Access`], [`Mount`], [`Grants`], [`GuestPath`], [`Callback`] |
//! | what comes back | [`Outcome`], [`Status`], [`Value`], [`Exception`], [`Captured`], [`Usage`], [`Error`], [`ErrorCode`] |
//! | persistent sandboxes | [`PersistentSandbox`], [`Sandboxes`], [`sandboxes`], [`sandbox`] |
//! | your own interface over the same calls | [`Runtime`], [`EvalRequest`], [`RunContext`], [`OutputSink`], [`Capabilities`] |
//! | your own services for sandboxes | [`Packages`], [`OfferedPrograms`], [`Model`], [`Resolve`], [`Provider`] |
//!
//! # Features and stability
//!
//! The crate has no optional features: the WebAssembly provider and the state folder are always part of it. Containers, packages
//! from an index, remote repositories and language models are crates of their own below `adapters`, which a program hands to
//! [`Sandboxes`].
//!
//! Enums and structs that will get more variants or fields are `#[non_exhaustive]`. Error codes never change their meaning. The
//! modules [`store`] and [`wasm`] show parts of the implementation that tools of the operator need, and change more often.

mod builder;
mod capacity;
mod fit;
mod persistent;
mod snippet;
mod stepped;

pub use builder::{Builder, Dormouse};
pub use capacity::Capacity;
pub use dormouse_core::{
    Abilities, Access, AnswerFile, Approver, Bounds, Callback, CallbackAnswer, CallbackCall, Callbacks,
    Capabilities, Captured, Catalog, CommandRequest, Connections, Error, ErrorCode, EvalRequest, Exception,
    Grants, GuestInfo, GuestName, GuestPath, Language, Limits, LineRequest, MIB, MeteredModel, Model,
    ModelBudget, ModelTotals, ModelUsage, Mount, OfferedPrograms, Outcome, OutputSink, PackageManager,
    Packages, PlainCall, Policy, ProgramCall, ProgramEnd, ProgramRun, Programs, Project, Prompt, Provider,
    Recovery, Resolve, Result, RunContext, Runtime, Sandboxes, Status, Stream, Usage, Value,
};
pub use dormouse_core::{
    connections, grants, keys, limits, mistaken, model, network, packages, program, project, sandbox,
    sandboxes, value, waiting,
};
pub use dormouse_store as store;
pub use dormouse_wasm as wasm;
pub use fit::{fitted, runs_memory};
pub use persistent::PersistentSandbox;
pub use snippet::Snippet;
pub use stepped::Program;
