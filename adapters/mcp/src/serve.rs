//! Serves a transport to its end.

use std::sync::Arc;

use dormouse_tools::Surface;
use rmcp::ServiceExt as _;
use rmcp::service::ServerInitializeError;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::io::stdio_pipes;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::Handler;

/// Longest message taken, in bytes (40 MiB): the longest source text with its JSON escapes, in the common case. A longer one is
/// drained, logged and ignored; the server goes on.
pub const MAX_LINE: usize = 40 << 20;

/// Why a server ended in another way than by its client leaving.
#[derive(Debug, thiserror::Error)]
pub enum McpError {
    /// The client did not begin as the protocol says.
    #[error("the client did not begin as the protocol says: {0}")]
    Handshake(String),
    /// The serving task crashed.
    #[error("the server crashed: {0}")]
    Crashed(#[from] tokio::task::JoinError),
}

/// Serves standard input and output until the client closes them. Nothing else may write to standard output meanwhile.
///
/// # Errors
/// [`McpError`]; a client that leaves, at whatever moment, is no error.
pub async fn serve_stdio(surface: Arc<Surface>) -> Result<(), McpError> {
    let (reader, writer) = stdio_pipes();
    serve(surface, reader, writer).await
}

/// Serves any pair of streams until the reader ends. Runs in progress are cancelled then.
///
/// # Errors
/// [`McpError`]; a client that leaves, at whatever moment, is no error.
pub async fn serve<R, W>(surface: Arc<Surface>, reader: R, writer: W) -> Result<(), McpError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let transport = AsyncRwTransport::new_server(reader, writer).with_max_line_length(MAX_LINE);
    let service = match Handler::new(surface).serve(transport).await {
        Ok(service) => service,
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => return Ok(()),
        // The client was gone before it could be told anything.
        Err(ServerInitializeError::TransportError { .. }) => return Ok(()),
        Err(error) => return Err(McpError::Handshake(error.to_string())),
    };
    let reason = service.waiting().await?;
    tracing::debug!(?reason, "the client has left");
    Ok(())
}
