//! The door that every request comes through: by which name, from where, who, and how much.

mod connections;
mod guard;
mod listen;
mod tokens;

pub use connections::{MAX_CONNECTIONS, MAX_OF_OWNER, MAX_REQUESTS};
pub use guard::{Hosts, Origins};
pub use listen::{Times, serve};
pub use tokens::Tokens;

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, HttpBody as _};
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use dormouse_core::sandbox::Owner;
use dormouse_core::{Error, ErrorCode, Result};
use dormouse_tools::Owners;
use http_body_util::BodyExt as _;

use self::connections::Client;
use crate::status::{self, set};

/// Largest body of a request, in bytes (64 MiB).
pub const MAX_BODY: usize = 64 << 20;

/// Addresses that need no token and take no body: they tell nothing.
const OPEN: [&str; 2] = ["/", "/health"];

/// What the operator decided about requests.
pub struct Door {
    /// Names by which the server may be called.
    pub hosts: Hosts,
    /// Other sites whose pages may call it.
    pub origins: Origins,
    /// Who has which token. None: every caller is the local owner.
    pub tokens: Option<Tokens>,
    /// Counts what each owner has in progress.
    pub owners: Arc<Owners>,
    /// How long the body of a request may take. Default 60 s.
    pub body_time: Duration,
}

impl Door {
    /// How long the body of a request may take unless something else is said.
    pub const BODY_TIME: Duration = Duration::from_secs(60);

    /// Puts the door before the routes.
    pub fn before(self, routes: Router) -> Router {
        routes.layer(from_fn_with_state(Arc::new(self), enter))
    }

    /// Who calls, if they may.
    fn admit(&self, request: &Request) -> Result<Owner> {
        self.hosts.check(request)?;
        self.origins.check(request)?;
        match &self.tokens {
            Some(tokens) if !OPEN.contains(&request.uri().path()) => tokens.owner(request.headers()).cloned(),
            _ => Ok(Owner::local()),
        }
    }
}

/// One request. The log has its method, path and status; never its query, its headers and its body.
async fn enter(State(door): State<Arc<Door>>, request: Request, next: Next) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let begin = Instant::now();
    let mut response = match pass(&door, request, next).await {
        Ok(response) => response,
        Err(error) => status::refusal(&error),
    };
    set(&mut response, header::CACHE_CONTROL, "no-store");
    set(&mut response, header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    let (status, ms) = (response.status().as_u16(), begin.elapsed().as_millis());
    tracing::info!(%method, path, status, ms, "answered");
    response
}

async fn pass(door: &Door, mut request: Request, next: Next) -> Result<Response> {
    let owner = door.admit(&request)?;
    request.headers_mut().remove(header::AUTHORIZATION);
    if OPEN.contains(&request.uri().path()) {
        // Nothing that somebody without a token sends is kept.
        return Ok(next.run(request.map(|_| Body::empty())).await);
    }
    if let Some(client) = request.extensions_mut().remove::<Client>() {
        client.admitted(&owner).await?;
    }
    let (parts, body) = request.into_parts();
    let hint = body.size_hint();
    let size = hint.upper().map_or(MAX_BODY, |most| usize::try_from(most).unwrap_or(usize::MAX));
    if hint.lower() > MAX_BODY as u64 {
        return Err(too_large());
    }
    let places = door.owners.of(&owner);
    let _room = places.room(size)?;
    let announced = usize::try_from(hint.lower()).unwrap_or(MAX_BODY);
    let bytes = match tokio::time::timeout(door.body_time, received(body, announced)).await {
        Ok(received) => received?,
        // The only refusal that is about the request's own time.
        Err(_) => return Ok(status::refusal_as(StatusCode::REQUEST_TIMEOUT, &too_slow(door.body_time))),
    };
    let mut request = Request::from_parts(parts, Body::from(bytes));
    request.extensions_mut().insert(owner);
    Ok(next.run(request).await)
}

/// The whole body, of bounded size, so that a slow sender holds nothing but a connection. It is kept once, in one piece
/// of the size that was announced.
async fn received(mut body: Body, announced: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(announced.min(MAX_BODY));
    while let Some(frame) = body.frame().await {
        let frame =
            frame.map_err(|_| Error::args_invalid("the body broke off").with_hint("send it again"))?;
        let Ok(part) = frame.into_data() else { continue };
        if part.len() > MAX_BODY - bytes.len() {
            return Err(too_large());
        }
        bytes.extend_from_slice(&part);
    }
    Ok(bytes)
}

fn too_slow(time: Duration) -> Error {
    let message = format!("the body did not come within {} s", time.as_secs());
    Error::new(ErrorCode::Cancelled, message).with_hint("send it faster, or in smaller parts")
}

fn too_large() -> Error {
    Error::new(ErrorCode::TooLarge, format!("the body is larger than {MAX_BODY} bytes")).with_hint(
        "send a large file in pieces, or put it into a folder that the operator allows and use `host_path`",
    )
}
