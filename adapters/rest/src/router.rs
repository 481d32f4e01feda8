//! The table of routes as a router.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter, get, on, post};
use axum::{Json as JsonBody, Router};
use dormouse_core::{Error, ErrorCode};
use dormouse_tools::Surface;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::route::{Form, Method, ROUTES, Route};
use crate::{call, decision, openapi, raw, status};

/// What all routes share.
pub(crate) struct Shared {
    pub(crate) surface: Arc<Surface>,
    /// Calls in progress end when it is cancelled.
    pub(crate) closing: CancellationToken,
}

/// The routes of the tools that the surface offers, `/openapi.json`, `/health` and `/`. `with_tokens`: whether the document
/// says that a token is needed. Cancelling `closing` ends every call in progress, each with an answer.
///
/// It asks nobody who they are: see [`Door`](crate::Door). Without an owner in a request's extensions it is the local one.
pub fn router(surface: Arc<Surface>, with_tokens: bool, closing: &CancellationToken) -> Router {
    let document = Arc::new(openapi::document(&surface, with_tokens));
    let shared = Arc::new(Shared { surface: surface.clone(), closing: closing.clone() });
    let mut paths: BTreeMap<&str, MethodRouter> = BTreeMap::new();
    for route in ROUTES.iter().filter(|route| route.tool(&shared.surface).is_some()) {
        let known = paths.remove(route.path).unwrap_or_default();
        paths.insert(route.path, known.merge(method(route, &shared)));
    }
    let mut router = Router::new();
    for (path, methods) in paths {
        router = router.route(path, methods);
    }
    let deciding = shared.clone();
    router
        .route(decision::PATH, post(async move |request: Request| decision::answer(&deciding, request).await))
        .route("/openapi.json", get(async move || JsonBody(document.as_ref().clone())))
        .route("/health", get(async move || JsonBody(health(&surface))))
        .route("/", get(async || JsonBody(front())))
        .fallback(async || refuse(StatusCode::NOT_FOUND, "there is nothing at this address"))
        .method_not_allowed_fallback(async || {
            refuse(StatusCode::METHOD_NOT_ALLOWED, "this address does not have that method")
        })
}

fn method(route: &'static Route, shared: &Arc<Shared>) -> MethodRouter {
    let filter = match route.method {
        Method::Get => MethodFilter::GET,
        Method::Post => MethodFilter::POST,
        Method::Put => MethodFilter::PUT,
        Method::Delete => MethodFilter::DELETE,
    };
    let shared = shared.clone();
    on(filter, move |request: Request| {
        let shared = shared.clone();
        async move {
            match route.form {
                Form::BytesOut => raw::answer(shared, route, request).await,
                Form::Json | Form::BytesIn => call::answer(&shared, route, request).await,
            }
        }
    })
}

/// How it is. Names no folder: whoever looks after servers asks this, and need not be an owner.
fn health(surface: &Surface) -> serde_json::Value {
    match surface.trouble() {
        None => json!({"status": "ok"}),
        Some(error) => {
            json!({"status": "degraded", "reason": {"code": error.code().as_str(), "message": error.message()}})
        }
    }
}

/// What a visitor of `/` is told.
fn front() -> serde_json::Value {
    json!({
        "name": "dormouse",
        "version": env!("CARGO_PKG_VERSION"),
        "mcp": "/mcp",
        "api": "/api",
        "openapi": "/openapi.json",
    })
}

fn refuse(status: StatusCode, problem: &str) -> Response {
    let error = Error::new(ErrorCode::NotFound, problem).with_hint("look at `/openapi.json`");
    status::refusal_as(status, &error)
}

#[cfg(test)]
#[path = "router_tests.rs"]
mod tests;
