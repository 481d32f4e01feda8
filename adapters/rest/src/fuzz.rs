//! Private readers for the fuzz targets of `tests/fuzz`. No part of the crate's interface: it changes with them.

use axum::body::Body;
use axum::extract::Request;
use axum::http::header;
use dormouse_core::Result;
use serde_json::{Map, Value as Json};

use crate::call;
use crate::door::{Hosts, Origins};

/// A request without a body; none when it has not the form of one.
pub fn request(target: &str, headers: &[(&str, &[u8])]) -> Option<Request> {
    let start = Request::builder().uri(target);
    headers
        .iter()
        .fold(start, |request, (name, value)| request.header(*name, *value))
        .body(Body::empty())
        .ok()
}

/// Whether the server is called by a name of its own, from a page that may.
///
/// # Errors
/// `forbidden`.
pub fn guard(request: &Request, hosts: &Hosts, origins: &Origins) -> Result<()> {
    hosts.check(request)?;
    origins.check(request)
}

/// The first `Host` header, and the authority of the target.
pub fn called(request: &Request) -> (Option<&[u8]>, Option<&str>) {
    let host = request.headers().get(header::HOST).map(|host| host.as_bytes());
    (host, request.uri().authority().map(|authority| authority.as_str()))
}

/// The fields of the query.
///
/// # Errors
/// `args_invalid`.
pub fn query(request: Request) -> Result<Vec<(String, String)>> {
    call::in_query(&request.into_parts().0)
}

/// A field of a query as a tool's schema wants it.
pub fn typed(kind: &str, text: String) -> Json {
    call::typed(kind, text)
}

/// The fields of a body.
///
/// # Errors
/// `args_invalid`, which says where the mistake is.
pub fn body(text: &[u8]) -> Result<Map<String, Json>> {
    call::fields(text)
}
