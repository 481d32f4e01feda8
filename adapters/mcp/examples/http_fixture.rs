//! The server's handler behind HTTP, for test suites that speak nothing else. Not a server for use: it asks nobody who
//! they are.
//!
//! Prints its address and serves it until standard input ends.

use std::io::Write as _;
use std::sync::Arc;

use dormouse::Dormouse;
use dormouse_mcp::Handler;
use dormouse_tools::Surface;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::io::AsyncReadExt as _;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let surface = Arc::new(Surface::new(Dormouse::new()?.manager().clone()));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let service = StreamableHttpService::new(
        move || Ok(Handler::new(surface.clone())),
        Arc::<LocalSessionManager>::default(),
        StreamableHttpServerConfig::default().with_allowed_origins([
            format!("http://{address}"),
            format!("http://localhost:{}", address.port()),
        ]),
    );
    writeln!(std::io::stdout(), "http://{address}/mcp")?;
    let router = axum::Router::new().nest_service("/mcp", service);
    let (mut input, mut ignored) = (tokio::io::stdin(), Vec::new());
    tokio::select! {
        ended = async { axum::serve(listener, router).await } => Ok(ended?),
        _ = input.read_to_end(&mut ignored) => Ok(()),
    }
}
