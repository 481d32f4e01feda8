//! Requests and answers of the API server of the tests, as HTTP has them.

use std::convert::Infallible;
use std::sync::Mutex;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame};
use hyper::header::{CONTENT_TYPE, RETRY_AFTER};
use hyper::{Response, StatusCode};
use serde_json::{Value as Json, json};

pub(crate) type Body = BoxBody<Bytes, Infallible>;

/// A request's place.
pub(crate) struct Place {
    pub(crate) group: String,
    pub(crate) plural: String,
    pub(crate) name: Option<String>,
    pub(crate) part: Option<String>,
}

pub(crate) fn text(body: &Json) -> Response<Body> {
    answer(200, body)
}

pub(crate) fn answer(status: u16, body: &Json) -> Response<Body> {
    let mut response = Response::new(Full::new(Bytes::from(body.to_string())).boxed());
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    response.headers_mut().insert(CONTENT_TYPE, "application/json".parse().unwrap());
    response
}

pub(crate) fn failure(status: u16, reason: &str, message: &str) -> Response<Body> {
    answer(
        status,
        &json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message,
            "reason": reason, "code": status}),
    )
}

pub(crate) fn place(path: &str) -> Option<Place> {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let (group, rest) = match parts.as_slice() {
        ["api", "v1", rest @ ..] => ("", rest),
        ["apis", group, _, rest @ ..] => (*group, rest),
        _ => return None,
    };
    let rest = match rest {
        ["namespaces", _, rest @ ..] => rest,
        rest => rest,
    };
    let own = |at: usize| rest.get(at).map(|text| (*text).to_owned());
    Some(Place { group: group.to_owned(), plural: own(0)?, name: own(1), part: own(2) })
}

pub(crate) fn matches(object: &Json, selector: Option<&str>) -> bool {
    selector.is_none_or(|selector| {
        selector.split(',').all(|one| {
            let labels = &object["metadata"]["labels"];
            one.split_once('=').map_or(labels[one].is_string(), |(name, value)| labels[name] == value)
        })
    })
}

/// An answer that goes on for as long as there is something to say.
pub(crate) fn streamed(
    lines: impl futures::Stream<Item = Result<Frame<Bytes>, Infallible>> + Send + 'static,
) -> Response<Body> {
    Response::new(BodyExt::boxed(StreamBody::new(Box::pin(SyncStream(Mutex::new(Box::pin(lines)))))))
}

/// What a server says that has too much to do for so many seconds.
pub(crate) fn busy(seconds: u64) -> Response<Body> {
    let mut response = failure(429, "TooManyRequests", "slow down");
    response.headers_mut().insert(RETRY_AFTER, seconds.into());
    response
}

type Frames = dyn futures::Stream<Item = Result<Frame<Bytes>, Infallible>> + Send;

/// A stream that may be shared, as a boxed body has to be: it is polled by one alone.
struct SyncStream(Mutex<std::pin::Pin<Box<Frames>>>);

impl futures::Stream for SyncStream {
    type Item = Result<Frame<Bytes>, Infallible>;

    fn poll_next(
        self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        self.0.lock().unwrap().as_mut().poll_next(context)
    }
}

/// Text of a query.
pub(crate) fn decoded(text: &str) -> String {
    let spaced = text.replace('+', " ");
    percent_encoding::percent_decode_str(&spaced).decode_utf8().unwrap().into_owned()
}
