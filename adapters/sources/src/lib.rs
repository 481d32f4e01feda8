//! MCP sources: named factories of endpoints, opened at a boundary and closed with it, and one index of their tools.

mod args;
mod arguments;
mod client;
pub mod docker;
mod entry;
mod health;
mod index;
mod port;
mod scopes;
pub mod skills;
pub mod template;
#[cfg(test)]
mod testing;
mod wasm;

pub use args::ContainerMount;
pub use docker::{ContainerAsk, Containers, DockerSource, Running};
pub use entry::{Entry, MAX_ENTRIES, Scope, Transport, check_all};
pub use index::{Tool, Tools};
pub use port::{Call, Endpoint, Listed, Opened, Progress, Registry, Source, ToolAnswer};
pub use scopes::{Connection, OpenScope, Scopes};
pub use wasm::{MakeSurface, WasmSource};
