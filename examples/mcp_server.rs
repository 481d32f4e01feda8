//! An MCP server inside your own program, on standard input and output: the tools of `dormouse mcp`, with limits and sandboxes
//! that you choose.
//!
//! ```sh
//! cargo run --release --example mcp_server
//! ```
//!
//! An MCP client starts it. By hand, one JSON object a line:
//!
//! ```json
//! {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"hand","version":"0"}}}
//! {"jsonrpc":"2.0","method":"notifications/initialized"}
//! {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sandbox_exec","arguments":{"sandbox":"work","command":"echo $((6 * 7))"}}}
//! ```
//!
//! The answers are, with the ids 0 and 1:
//!
//! ```text
//! …"id":0…"serverInfo"…
//! …"id":1…"stdout":"42\n"…
//! ```

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use dormouse::{Dormouse, Limits, Policy};
use dormouse_tools::{Surface, Toolset};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let state = tempfile::tempdir()?;
    let defaults = Limits { wall: Duration::from_secs(2), ..Limits::default() };
    let policy = Policy { defaults, ..Policy::default() };
    let dormouse = Dormouse::builder()?.policy(policy).state(state.path()).build()?;
    dormouse.sandbox("work").await?;

    // The tools may read and write nothing of the host: `HostFolders::readable` names folders that they may load from.
    let surface = Surface::new(dormouse.runtime().clone()).with_tools(Toolset::All)?;
    // Saves sandboxes, and ends those that nobody uses.
    let upkeep = dormouse.sandboxes()?.keep_up();
    dormouse_mcp::serve_stdio(Arc::new(surface), pending()).await?;
    upkeep.abort();
    dormouse.sandboxes()?.close().await?;
    Ok(())
}
