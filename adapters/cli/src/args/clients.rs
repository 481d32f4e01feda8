//! `dormouse mcp install` and `uninstall`: which client is told of this server.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// What is done to a client's configuration.
#[derive(Debug, Subcommand)]
pub(crate) enum ClientCommand {
    /// Name this program as an MCP server in a client's configuration
    #[command(after_help = EXAMPLES)]
    Install(InstallArgs),
    /// Take it out of a client's configuration again
    Uninstall(ClientArgs),
}

const EXAMPLES: &str = "\
Examples:
  dormouse mcp install claude-code
  dormouse mcp install codex --dry-run
  dormouse mcp install cursor -- --state-dir ~/sandboxes

The configurations: `.mcp.json` (claude-code) and `.vscode/mcp.json` (vscode) in this folder,
~/.config/Claude/claude_desktop_config.json, ~/.cursor/mcp.json and ~/.codex/config.toml. What is
there already stays; the file as it was is kept beside it, with `.bak` at the end of its name.";

/// The clients whose configuration is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Client {
    ClaudeCode,
    ClaudeDesktop,
    Cursor,
    Vscode,
    Codex,
}

/// Which client, and where.
#[derive(Args, Debug)]
pub(crate) struct ClientArgs {
    /// The client
    pub(crate) client: Client,
    /// The name of the server in its configuration
    #[arg(long, value_name = "NAME", default_value = "dormouse")]
    pub(crate) name: String,
    /// The configuration file [default: the client's own]
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Print what the file would hold, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// The same, with what the server is started with.
#[derive(Args, Debug)]
pub(crate) struct InstallArgs {
    #[command(flatten)]
    pub(crate) client: ClientArgs,
    /// Options of `dormouse mcp` that the client starts it with
    #[arg(last = true, value_name = "OPTIONS")]
    pub(crate) options: Vec<String>,
}
