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

/// What is seen of a server that says nothing.
const SILENT: &str = "no answer";

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
    let mut last = SILENT.to_owned();
    let polled = tokio::time::timeout(budget, async {
        loop {
            // A server that is slow to answer is asked again, as one that does not answer at all.
            match tokio::time::timeout(LOOK.min(budget), look(&probe)).await {
                Ok(Ok(ready)) => return ready,
                Ok(Err(seen)) => last = seen,
                Err(_) => SILENT.clone_into(&mut last),
            }
            tokio::time::sleep(EVERY).await;
        }
    })
    .await;
    let address = base.trim_start_matches("http://");
    let ready = polled.map_err(|_| timed_out(budget, address, &last))?;
    tracing::debug!(ms = begin.elapsed().as_millis(), ?ready, "the server in a container is up");
    Ok(ready)
}

/// What answers, or what was seen instead.
async fn look(probe: &Probe) -> Result<Ready, String> {
    let sse = probe.status("/sse").await?;
    match sse {
        200..=299 => Ok(Ready::Sse),
        404 | 405 => match probe.status("/mcp").await? {
            mcp @ (404 | 500..) => Err(format!("HTTP status {sse} at /sse, {mcp} at /mcp")),
            _ => Ok(Ready::Mcp),
        },
        _ => Err(format!("HTTP status {sse} at /sse")),
    }
}

fn timed_out(budget: Duration, address: &str, last: &str) -> Error {
    let message = format!("container not healthy: health timeout after {}s", budget.as_secs());
    Error::new(ErrorCode::HealthTimeout, message).with_hint(format!(
        "{address} was seen last with: {last}; the image is to serve MCP over HTTP+SSE on port 8080, at /sse"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_the_seeds() {
        let error = timed_out(BUDGET, "localhost:1", "connection refused");
        assert_eq!(error.message(), "container not healthy: health timeout after 20s");
        assert!(error.hint().unwrap().starts_with("localhost:1 was seen last with: connection refused; "));
    }
}
