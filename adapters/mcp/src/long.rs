//! A long message is taken apart: the arguments of its call, which may be long, and the rest, which is short.
//!
//! The library buffers a message and tries several forms on the buffer, which copies long texts each time. It is given
//! the rest; the arguments, read once, are put back where the call begins.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::{Body, HttpBody as _, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use dormouse_core::sandbox::Owner;
use dormouse_core::{Error, ErrorCode};
use dormouse_tools::incoming::{self, AT_ONCE};
use dormouse_tools::{Owners, places::Places};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode as RpcCode, ErrorData, JsonObject, JsonRpcMessage,
    RequestId, ServerJsonRpcMessage,
};
use serde::Deserialize;
use serde_json::Value as Json;

use crate::MAX_LINE;
use crate::handler::refusal;
use crate::parse;

/// Takes the arguments out of a call of a tool. A call that wants no answer is none.
pub(crate) fn take(message: &mut Json) -> Option<JsonObject> {
    if message.get("method")? != "tools/call" || message.get("id").is_none() {
        return None;
    }
    let arguments = message.get_mut("params")?.as_object_mut()?.get_mut("arguments")?.as_object_mut()?;
    Some(std::mem::take(arguments))
}

/// Puts them back.
pub(crate) fn put(message: &mut ClientJsonRpcMessage, arguments: JsonObject) {
    let JsonRpcMessage::Request(request) = message else { return };
    match &mut request.request {
        ClientRequest::CallToolRequest(call) => call.params.arguments = Some(arguments),
        // What lacks something that a call needs is a request of an unknown kind to the library.
        ClientRequest::CustomRequest(other) => {
            if let Some(place) = other.params.as_mut().and_then(|params| params.get_mut("arguments")) {
                *place = arguments.into();
            }
        }
        _ => {}
    }
}

/// The id of a request whose message is not read.
#[derive(Deserialize)]
struct Head {
    id: Option<RequestId>,
}

/// The error for a message that is not read, with the request's id where it has one.
pub(crate) fn unread(text: &[u8], error: &Error) -> ServerJsonRpcMessage {
    let id = serde_json::from_slice::<Head>(text).ok().and_then(|head| head.id);
    ServerJsonRpcMessage::error(refusal(error), id)
}

/// Arguments that have come with a request of HTTP and are not in its body any more.
#[derive(Clone)]
pub(crate) struct Apart(Arc<Mutex<Option<JsonObject>>>);

impl Apart {
    /// The arguments, once.
    pub(crate) fn take(&self) -> Option<JsonObject> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Refuses calls that give an argument twice, and takes long bodies apart before the routes, away from the threads that serve everybody, and counts them against their
/// owner meanwhile.
pub(crate) fn before(routes: Router, owners: Arc<Owners>) -> Router {
    routes.layer(from_fn_with_state(owners, shortened))
}

async fn shortened(State(owners): State<Arc<Owners>>, request: Request, next: Next) -> Response {
    let is_short = request.body().size_hint().exact().is_some_and(|size| size <= AT_ONCE as u64);
    let (mut parts, body) = request.into_parts();
    let Ok(bytes) = to_bytes(body, MAX_LINE).await else {
        let error = Error::new(ErrorCode::TooLarge, "the body is too large or broke off")
            .with_hint("send it again, in smaller parts");
        return answer(StatusCode::PAYLOAD_TOO_LARGE, &ServerJsonRpcMessage::error(refusal(&error), None));
    };
    if is_short {
        return match parse::parse(&bytes) {
            parse::Parsed::Refused(refusal) if !bytes.is_empty() => answer(StatusCode::BAD_REQUEST, &refusal),
            _ => next.run(Request::from_parts(parts, Body::from(bytes))).await,
        };
    }
    let owner = parts.extensions.get::<Owner>().cloned().unwrap_or_else(Owner::local);
    let places = owners.of(&owner);
    let split = tokio::task::spawn_blocking(move || split(&bytes, &places)).await;
    let (rest, arguments) = match split {
        Ok(Ok(parts)) => parts,
        Ok(Err(refused)) => return answer(refused.0, &refused.1),
        Err(error) => {
            let error = Error::internal("the message was not read", error);
            let error = ServerJsonRpcMessage::error(refusal(&error), None);
            return answer(StatusCode::INTERNAL_SERVER_ERROR, &error);
        }
    };
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.extensions.insert(Apart(Arc::new(Mutex::new(arguments))));
    next.run(Request::from_parts(parts, Body::from(rest))).await
}

/// The answer to a message that is not read.
type Refused = Box<(StatusCode, ServerJsonRpcMessage)>;

/// The rest as bytes, and the arguments.
fn split(text: &[u8], places: &Places) -> Result<(Vec<u8>, Option<JsonObject>), Refused> {
    let _room = incoming::measured(text).and_then(|size| places.room(size)).map_err(|error| {
        let busy = error.code() == ErrorCode::Busy;
        let status = if busy { StatusCode::TOO_MANY_REQUESTS } else { StatusCode::PAYLOAD_TOO_LARGE };
        Box::new((status, unread(text, &error)))
    })?;
    let mut message: Json = serde_json::from_slice(text).map_err(|error| {
        let told = ErrorData::new(RpcCode::PARSE_ERROR, parse::unreadable(text, "body", &error), None);
        Box::new((StatusCode::BAD_REQUEST, ServerJsonRpcMessage::error(told, None)))
    })?;
    if let Some(refusal) = parse::repeated_argument(text) {
        return Err(Box::new((StatusCode::BAD_REQUEST, refusal)));
    }
    let arguments = take(&mut message);
    let mut rest = Short(Vec::new());
    if serde_json::to_writer(&mut rest, &message).is_err() {
        let told = format!("the message has more than {AT_ONCE} bytes beside the arguments of a call");
        let error =
            Error::new(ErrorCode::TooLarge, told).with_hint("send what is long as an argument of a tool");
        return Err(Box::new((StatusCode::PAYLOAD_TOO_LARGE, unread(text, &error))));
    }
    Ok((rest.0, arguments))
}

/// Takes [`AT_ONCE`] bytes and no more.
struct Short(Vec<u8>);

impl io::Write for Short {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > AT_ONCE {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn answer(status: StatusCode, message: &ServerJsonRpcMessage) -> Response {
    let bytes = serde_json::to_vec(message).unwrap_or_default();
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
