//! MCP sources: named factories of endpoints, opened at a boundary and closed with it, and one index of their tools.

mod port;

pub use port::{Call, Endpoint, Listed, Opened, Progress, Registry, Source, ToolAnswer};
