//! The client's roots: asked for once the connection has begun, and again whenever the client says that they have changed.
//!
//! The protocol allows that up to revision 2025-11-25; in 2026-07-28 a server cannot ask, and clients have no roots.

// Roots are deprecated by the protocol (SEP-2577), and clients of the revisions that are served here have them.
#![allow(deprecated, reason = "the library marks what the protocol has deprecated")]

use std::time::Duration;

use dormouse_tools::Surface;
use rmcp::RoleServer;
use rmcp::model::ClientCapabilities;
use rmcp::service::Peer;

/// How long the client has to answer. What it answers later does not count.
const PATIENCE: Duration = Duration::from_secs(10);

/// Whether the client has roots, and they matter: calls wait for them a moment from now on.
pub(crate) fn matter(surface: &Surface, client: &ClientCapabilities) -> bool {
    client.roots.is_some() && surface.ask_for_roots()
}

/// Asks for them. A client that does not answer has none.
pub(crate) async fn ask(surface: &Surface, peer: &Peer<RoleServer>) {
    let answer = tokio::time::timeout(PATIENCE, peer.list_roots()).await;
    let roots = match answer {
        Ok(Ok(answer)) => answer.roots.into_iter().map(|root| root.uri).collect(),
        Ok(Err(error)) => {
            tracing::debug!(%error, "the client does not tell its roots");
            Vec::new()
        }
        Err(_) => Vec::new(),
    };
    surface.take_roots(&roots);
}
