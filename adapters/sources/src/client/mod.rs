//! MCP clients.

use crate::Opened;
use dormouse_core::{Error, ErrorCode, Result};
use std::collections::BTreeMap;

pub(crate) fn check_url(_url: &str, _headers: &BTreeMap<String, String>) -> Result<()> {
    Ok(())
}

pub(crate) async fn open_url(_url: &str, _headers: &BTreeMap<String, String>) -> Result<Opened> {
    Err(Error::new(ErrorCode::CapabilityUnavailable, "not yet"))
}

pub(crate) async fn open_command(
    _program: &str,
    _args: &[String],
    _env: &BTreeMap<String, String>,
) -> Result<Opened> {
    Err(Error::new(ErrorCode::CapabilityUnavailable, "not yet"))
}
