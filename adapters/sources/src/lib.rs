//! MCP sources: named factories of endpoints, opened at a boundary and closed with it, and one index of their tools.
//!
//! The path of one run, top to bottom:
//!
//! | step | module |
//! | --- | --- |
//! | a configuration's entry: source, address or program | [`Entry`] |
//! | which sources there are, and what one is | `port`: [`Registry`], [`Source`], [`Endpoint`] |
//! | who looks up names and starts programs | [`Outside`] |
//! | skills as mounts, before the entries are checked | [`skills`] |
//! | `{{scenario.KEY}}` in a source's arguments | [`template`] |
//! | run, scenario, session: opened, and closed inner before outer | [`Scopes`], [`OpenScope`] |
//! | a source's arguments, read once, and told to documents | [`Argument`] in `args` |
//! | which folders `mounts` may name | [`Mountable`] |
//! | the source `docker`: container, clone, health, connection | [`docker`], `health` |
//! | the source `wasm`: a fresh sandbox of this process | [`wasm`] |
//! | sandboxes that end with what they were made for | `estate` |
//! | repositories that this host clones for containers | `repository`: [`Repositories`] |
//! | a source that is a program of the operator's | [`CommandSource`] |
//! | servers that are not of this process, bounded in all they send | `client` |
//! | tools by name: raw, or `mcp__SERVER__TOOL` for static entries | [`Tools`] |
//! | arguments against the tool's own schema | `arguments` |
//!
//! ```no_run
//! # async fn run(containers: std::sync::Arc<dyn dormouse_sources::Containers>) -> dormouse_core::Result<()> {
//! use dormouse_sources::{DockerSource, Entry, Registry, Scopes};
//! use serde_json::{Map, json};
//!
//! let mut registry = Registry::default();
//! registry.register("docker", std::sync::Arc::new(DockerSource::new(containers)));
//! let entry = Entry::parse(json!({
//!     "name": "sandbox", "source": "docker", "scope": "session",
//!     "source_args": {"image": "codegen:latest", "repo": "{{scenario.repo}}"},
//! }))?;
//! let scopes = Scopes::new(registry, vec![entry])?;
//! let run = scopes.open_run().await?;
//! let variables = Map::from_iter([("repo".into(), json!("https://example.com/a.git"))]);
//! let scenario = run.open_scenario(&variables).await?;
//! let session = scenario.open_session().await?;
//! let arguments = Map::from_iter([("command".into(), json!("ls"))]);
//! let answer = session.tools().only(["Bash"]).call("Bash", arguments, None).await?;
//! assert!(!answer.is_error);
//! session.close().await; // after the gates, which may still call its tools
//! scenario.close().await;
//! run.close().await;
//! # Ok(())
//! # }
//! ```

mod args;
mod arguments;
mod begin;
mod client;
mod command;
pub mod docker;
mod entry;
mod estate;
mod health;
mod index;
mod mountable;
mod outside;
mod port;
mod repository;
mod scopes;
pub mod skills;
pub mod template;
#[cfg(test)]
mod testing;
pub mod wasm;

#[doc(hidden)]
pub use client::fuzz;

pub use args::{Argument, ContainerMount};
pub use arguments::{Check, Patterns};
pub use client::{Place, unreached};
pub use command::{CommandSource, SOURCE_ARGS};
pub use docker::{ContainerAsk, Containers, DockerSource, Running};
pub use entry::{Entry, MAX_ENTRIES, Scope, Transport, check_all};
pub use estate::MakeSurface;
pub use index::{Tool, Tools};
pub use mountable::Mountable;
pub use outside::{Ended, Outside, Process, Program, Started, Starter};
pub use port::{Call, Endpoint, Listed, Opened, Progress, Registry, Source, ToolAnswer};
pub use repository::{HostRepositories, MayClone, Repositories};
pub use scopes::{Connection, OpenScope, Scopes, Unclosed};
pub use wasm::WasmSource;
