//! `dormouse mcp`: the tools over MCP, on standard input and output.

use dormouse::Error;

use super::serving::{Serving, asked_to_end};
use crate::args::{McpArgs, PlaceArgs};
use crate::audit;
use crate::exit::Failure;
use crate::settings;

/// Serves until the client goes away or the process is asked to end.
pub(crate) fn run(place: &PlaceArgs, arguments: &McpArgs) -> Result<u8, Failure> {
    let meant = settings::mcp(arguments)?;
    audit::note("mcp", &meant.exceptions)?;
    let serving = Serving::new(place, meant)?;
    let surface = serving.surface()?;
    let served = serving.run(async { dormouse_mcp::serve_stdio(surface, asked_to_end()).await })?;
    served.map_err(|error| Error::internal("the MCP server ended early", error))?;
    Ok(0)
}
