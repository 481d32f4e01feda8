//! The MCP server that clients are driven against.

use std::path::PathBuf;

use anyhow::Result;

use crate::process;
use crate::setup;

/// Builds the command line if need be; `dormouse mcp` is the server.
pub(super) fn dormouse() -> Result<PathBuf> {
    process::cargo(&["build", "--quiet", "--release", "--workspace", "--bins"])?;
    Ok(setup::binary())
}

/// Builds the fixture that puts the server's handler behind HTTP.
pub(super) fn http_fixture() -> Result<PathBuf> {
    process::cargo(&["build", "--quiet", "--release", "--workspace", "--example", "http_fixture"])?;
    Ok(process::target().join("release/examples/http_fixture"))
}
