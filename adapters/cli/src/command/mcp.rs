//! `dormouse mcp`: the tools over MCP, on standard input and output.

use std::num::NonZero;
use std::sync::Arc;
use std::time::Duration;

use dormouse::Error;
use dormouse_tools::Surface;

use crate::args::{McpArgs, PlaceArgs};
use crate::exit::Failure;
use crate::settings;

/// How long the end waits for what cannot be cancelled.
const SHUTDOWN: Duration = Duration::from_millis(100);

/// Serves until the client goes away.
pub(crate) fn run(place: &PlaceArgs, arguments: &McpArgs) -> Result<u8, Failure> {
    let meant = settings::mcp(arguments)?;
    let mut builder = settings::builder(place)?.policy(meant.policy).ready(meant.ready);
    if let Some(folder) = &meant.state {
        builder = builder.state(folder);
    }
    let dormouse = builder.build()?;
    let sandboxes = meant.state.is_some().then(|| dormouse.sandboxes().cloned()).transpose()?;
    let (model, budget) = settings::model(&arguments.model)?;
    let mut surface = Surface::new(dormouse.manager().clone())
        .with_profile(meant.profile)
        .with_grants(&meant.grants)
        .with_model(model, budget);
    if let Some(sandboxes) = &sandboxes {
        surface = surface.with_sandboxes(sandboxes.clone(), meant.host);
    }
    let surface = Arc::new(surface.with_tools(meant.toolset)?);
    let workers = std::thread::available_parallelism().map_or(2, NonZero::get).max(2);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .build()
        .map_err(|error| Error::internal("the event loop cannot be started", error))?;
    let served = runtime.block_on(async {
        let upkeep = sandboxes.as_ref().map(dormouse::Sandboxes::keep_up);
        let served = dormouse_mcp::serve_stdio(surface).await;
        upkeep.inspect(tokio::task::JoinHandle::abort);
        if let Some(sandboxes) = &sandboxes
            && let Err(error) = sandboxes.close().await
        {
            tracing::error!(%error, "not everything could be saved");
        }
        served
    });
    // Runs that are in progress end here; a thread that waits for standard input cannot be asked to.
    runtime.shutdown_timeout(SHUTDOWN);
    served.map_err(|error| Error::internal("the MCP server ended early", error))?;
    Ok(0)
}
