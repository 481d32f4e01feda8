//! The command line of servers whose tools programs can call.

use std::path::PathBuf;

use clap::Args;

/// The servers that are connected.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ConnectArgs {
    /// Connect the servers of this file, which is as MCP clients write it (`mcpServers`): programs in sandboxes can call their tools
    /// (docs/guides/connect.md); can be repeated
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) connect: Vec<PathBuf>,
}
