//! A file of a sandbox as it is, piece by piece: neither it nor its base64 is ever whole in memory.

use std::io;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use data_encoding::BASE64;
use dormouse_core::sandbox::Owner;
use dormouse_core::{Error, Result};
use dormouse_tools::Reply;
use futures::stream;
use serde_json::{Map, Value as Json};

use crate::call::{self, in_path, in_query};
use crate::route::{Route, Source};
use crate::router::Shared;
use crate::status::{self, set};

/// Bytes of a piece: the most that the tool shows at once.
const PIECE: u64 = 64 << 10;

/// A file that is being sent.
struct Sending {
    shared: Arc<Shared>,
    tool: &'static str,
    arguments: Map<String, Json>,
    owner: Owner,
    /// Bytes of the whole, and when they were changed.
    version: (u64, Json),
    sent: u64,
}

/// Answers with the bytes of the file. When it changes meanwhile, or cannot be read on, the connection breaks off before the
/// promised length, so that no reader takes a part for the whole.
pub(crate) async fn answer(shared: Arc<Shared>, route: &'static Route, request: Request) -> Response {
    let (mut parts, _) = request.into_parts();
    let mut arguments = match in_path(&mut parts).await {
        Ok(arguments) => arguments,
        Err(error) => return call::refused(&shared, route, &error),
    };
    match in_query(&parts) {
        Ok(pairs) => {
            for (name, text) in pairs {
                if route.source(&name) != Source::Query {
                    let error = Error::args_invalid("this address takes the query field `path` only")
                        .with_hint("look at `/openapi.json`");
                    return call::refused(&shared, route, &error);
                }
                arguments.insert(name, text.into());
            }
        }
        Err(error) => return call::refused(&shared, route, &error),
    }
    arguments.insert("encoding".into(), "base64".into());
    arguments.insert("max_bytes".into(), PIECE.into());
    let owner = call::owner(&parts);
    let mut sending =
        Sending { shared, tool: route.tool, arguments, owner, version: (0, Json::Null), sent: 0 };
    let (first, version) = match sending.read().await {
        Ok(reply) if reply.is_error => return status::answer(reply),
        Ok(reply) => match piece(&reply) {
            Ok(piece) => piece,
            Err(error) => return status::refusal(&error),
        },
        Err(error) => return status::refusal(&error),
    };
    (sending.version, sending.sent) = (version, first.len() as u64);
    respond(sending, first)
}

fn respond(sending: Sending, first: Bytes) -> Response {
    let size = sending.version.0;
    let rest = stream::try_unfold(sending, async |mut sending| {
        if sending.sent >= sending.version.0 {
            return Ok(None);
        }
        let next = sending.next().await.map_err(|error| {
            tracing::warn!(%error, "a file could not be sent to its end");
            io::Error::other("the file changed or cannot be read on")
        })?;
        Ok(Some((next, sending)))
    });
    use futures::StreamExt as _;
    let pieces = stream::iter([Ok::<Bytes, io::Error>(first)]).chain(rest);
    let mut response = Response::new(Body::from_stream(pieces));
    response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(size));
    set(&mut response, header::CONTENT_TYPE, "application/octet-stream");
    set(&mut response, header::CONTENT_DISPOSITION, "attachment");
    response
}

impl Sending {
    async fn read(&self) -> Result<Reply> {
        let mut arguments = self.arguments.clone();
        arguments.insert("offset".into(), self.sent.into());
        call::call(&self.shared, self.tool, arguments, &self.owner).await
    }

    async fn next(&mut self) -> Result<Bytes> {
        let reply = self.read().await?;
        let (bytes, version) = piece(&reply)?;
        if version != self.version || bytes.is_empty() {
            return Err(Error::internal("the file changed", "its size or its time is another"));
        }
        self.sent += bytes.len() as u64;
        Ok(bytes)
    }
}

/// The bytes of an answer, and of the whole file its size and when it was changed.
fn piece(reply: &Reply) -> Result<(Bytes, (u64, Json))> {
    let told = &reply.structured;
    let read = || {
        let bytes = BASE64.decode(told["content"].as_str()?.as_bytes()).ok()?;
        Some((Bytes::from(bytes), (told["size_bytes"].as_u64()?, told["modified_at"].clone())))
    };
    read().ok_or_else(|| Error::internal("a piece of a file cannot be read", told["error"].to_string()))
}
