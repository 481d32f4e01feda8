//! The same handler behind Streamable HTTP: one POST is one message and its answer.
//!
//! There are no sessions in either era. A client of before 2026 that says `initialize` gets an answer and no session id, so
//! there is none to guess, to take over or to keep; state is a sandbox's handle, never the connection. GET and DELETE, which
//! only sessions have, are answered with 405. A client that leaves in the middle of a call ends it.

use std::sync::Arc;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post_service;
use axum::{Json, Router};
use dormouse_tools::Surface;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{Handler, MAX_LINE, long};

/// Where the protocol is spoken.
pub const PATH: &str = "/mcp";

/// The protocol at [`PATH`]. Cancelling `closing` gives up every call in progress, each with an answer.
///
/// It asks nobody who they are and does not look at `Host` and `Origin`: the front door does, and puts the caller's
/// [`Owner`](dormouse_core::sandbox::Owner) into the request's extensions. Without one it is the local owner.
pub fn http(surface: Arc<Surface>, closing: &CancellationToken) -> Router {
    let owners = surface.owners().clone();
    let handler = Handler::new(surface).ending_with(closing.clone());
    // The library is not told of `closing`: it would answer with a status 500 before the handler has.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(MAX_LINE)
        .disable_allowed_hosts()
        .disable_allowed_origins();
    let service = StreamableHttpService::new(
        move || Ok(handler.clone()),
        Arc::<NeverSessionManager>::default(),
        config,
    );
    let methods = post_service(service).fallback(async || only_post());
    long::before(Router::new().route(PATH, methods), owners)
}

/// What a client of another method is told, in the form of this protocol.
fn only_post() -> Response {
    let told = json!({
        "jsonrpc": "2.0",
        "id": null,
        "error": {"code": -32000, "message": "there are no sessions here: each message is one POST, and has its answer"},
    });
    (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "POST")], Json(told)).into_response()
}
