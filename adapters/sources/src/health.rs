//! Whether the server in a container is up: `/sse` is polled until it answers (S0-27).

use std::time::Duration;

use dormouse_core::{Error, ErrorCode, Result};
use tokio::time::Instant;

use crate::client::Probe;

/// How long it is waited for.
pub(crate) const BUDGET: Duration = Duration::from_secs(20);
/// Time between two looks, and for one look.
const EVERY: Duration = Duration::from_millis(50);
const LOOK: Duration = Duration::from_secs(2);

/// What answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ready {
    /// `/sse`, with 2xx.
    Sse,
    /// There is no `/sse`, and `/mcp` answers.
    Mcp,
}

/// Waits until the server at `base` is up.
///
/// # Errors
/// `health_timeout` as `container not healthy: health timeout after 20s`, with the budget's seconds.
pub(crate) async fn ready(base: &str, budget: Duration) -> Result<Ready> {
    let probe = Probe::new(base)?;
    let begin = Instant::now();
    let polled = tokio::time::timeout(budget, async {
        loop {
            // A server that is slow to answer is asked again, as one that does not answer at all.
            if let Ok(Some(ready)) = tokio::time::timeout(LOOK.min(budget), look(&probe)).await {
                return ready;
            }
            tokio::time::sleep(EVERY).await;
        }
    });
    let ready = polled.await.map_err(|_| timed_out(budget))?;
    tracing::debug!(ms = begin.elapsed().as_millis(), ?ready, "the server in a container is up");
    Ok(ready)
}

async fn look(probe: &Probe) -> Option<Ready> {
    match probe.status("/sse").await? {
        200..=299 => Some(Ready::Sse),
        404 | 405 => match probe.status("/mcp").await? {
            404 | 500.. => None,
            _ => Some(Ready::Mcp),
        },
        _ => None,
    }
}

fn timed_out(budget: Duration) -> Error {
    let message = format!("container not healthy: health timeout after {}s", budget.as_secs());
    Error::new(ErrorCode::HealthTimeout, message)
        .with_hint("the image is to serve MCP over HTTP+SSE on port 8080, at /sse")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_the_seeds() {
        assert_eq!(timed_out(BUDGET).message(), "container not healthy: health timeout after 20s");
    }
}
