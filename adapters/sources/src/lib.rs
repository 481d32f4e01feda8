//! MCP sources: named factories of endpoints, opened at a boundary and closed with it, and one index of their tools.

mod arguments;
mod client;
mod entry;
mod index;
mod port;
mod scopes;
pub mod template;
#[cfg(test)]
mod testing;

pub use entry::{Entry, MAX_ENTRIES, Scope, Transport, check_all};
pub use index::{Tool, Tools};
pub use port::{Call, Endpoint, Listed, Opened, Progress, Registry, Source, ToolAnswer};
pub use scopes::{Connection, OpenScope, Scopes};
