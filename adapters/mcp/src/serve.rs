//! Serves a connection to its end.

use std::future::{Future, pending};
use std::sync::Arc;
use std::time::Duration;

use dormouse_core::sandbox::Owner;
use dormouse_tools::Surface;
use rmcp::ServiceExt as _;
use rmcp::service::ServerInitializeError;
use rmcp::transport::io::stdio_pipes;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use crate::Handler;
use crate::order::Order;
use crate::outbox::outbox;
use crate::transport::LineTransport;

/// Longest message taken, in bytes (64 MiB): the longest source text with room for its JSON escapes, so that a text that
/// is somewhat too long still gets an error of its own. A longer message is drained and answered with -32600, without an
/// id; the server goes on.
pub const MAX_LINE: usize = 64 << 20;

/// Time that calls in progress have to end after the input has ended; then they are cancelled. Long enough for the
/// answers of `printf … | dormouse mcp`.
const CALLS_GRACE: Duration = Duration::from_millis(500);
/// Time after that to write what is left.
const WRITES_GRACE: Duration = Duration::from_millis(500);

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

/// Serves standard input and output until the client closes them or `stop` is over. Nothing else may write to standard output meanwhile.
///
/// Where standard input is no pipe, a thread may still wait for it after this has returned because the output was
/// closed: end the runtime without waiting for it.
///
/// # Errors
/// [`McpError`]; a client that leaves, at whatever moment, is no error.
pub async fn serve_stdio(surface: Arc<Surface>, stop: impl Future<Output = ()>) -> Result<(), McpError> {
    let (reader, writer) = stdio_pipes();
    serve_until(surface, reader, writer, stop).await
}

/// Serves any pair of streams until the reader ends or the writer fails. Calls in progress are cancelled half a second
/// after the reader ends; two seconds after it, this has returned whatever happens.
///
/// # Errors
/// [`McpError`]; a client that leaves, at whatever moment, is no error.
pub async fn serve<R, W>(surface: Arc<Surface>, reader: R, writer: W) -> Result<(), McpError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    serve_until(surface, reader, writer, pending()).await
}

async fn serve_until<R, W>(
    surface: Arc<Surface>,
    reader: R,
    writer: W,
    stop: impl Future<Output = ()>,
) -> Result<(), McpError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let ended = CancellationToken::new();
    let cancel_calls = CancellationToken::new();
    let stop_writing = CancellationToken::new();
    let (outbox, writer) = outbox(writer);
    let order = Order::new(surface.clone(), Owner::local());
    let transport = LineTransport::new(reader, outbox, order, MAX_LINE, ended.clone());
    let handler = Handler::new(surface).ending_with(cancel_calls.clone());
    let connection = async {
        // The writer ends once the transport is gone and everything is written.
        let (served, ()) =
            tokio::join!(drive(handler, transport), writer.run(stop_writing.clone(), ended.clone()));
        served
    };
    let wind_down = async {
        tokio::select! {
            () = ended.cancelled() => {}
            // What is in progress is treated as if the client had left.
            () = stop => ended.cancel(),
        }
        tokio::time::sleep(CALLS_GRACE).await;
        cancel_calls.cancel();
        tokio::time::sleep(WRITES_GRACE).await;
        stop_writing.cancel();
        tokio::time::sleep(WRITES_GRACE).await;
    };
    tokio::select! {
        served = connection => served,
        () = wind_down => Ok(()),
    }
}

async fn drive<R>(handler: Handler, transport: LineTransport<R>) -> Result<(), McpError>
where
    R: AsyncRead + Send + Unpin + 'static,
{
    let service = match handler.serve(transport).await {
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
