//! `wasi:http` of users' own components: what is asked for in its words goes through the run's [`Door`], and nothing goes past it.
//!
//! Linked only for components that import it ([`crate::linker`]).

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use dormouse_core::network::{Door, NetworkAnswer, NetworkRequest, Pieces, Problem, Trouble};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use http::{HeaderName, HeaderValue, Request, Response, StatusCode};
use http_body::{Body as _, Frame};
use http_body_util::{BodyDataStream, BodyExt as _, StreamBody};
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpCtx, WasiHttpHooks};

use crate::net::CAPACITY;

/// Resources that a run with `wasi:http` may hold at one time: each of them may have headers.
pub(crate) const MAX_RESOURCES: usize = 1_024;
/// Bytes of the headers of one request, with what their table takes. The gate takes no more.
const MAX_FIELDS: usize = 64 << 10;

/// The context of `wasi:http` in one store.
pub(crate) struct Http {
    pub(crate) context: WasiHttpCtx,
    pub(crate) sender: Sender,
}

impl Http {
    /// Over the door of a run. Without one every request is denied.
    pub(crate) fn new(door: Option<Arc<dyn Door>>) -> Self {
        let mut context = WasiHttpCtx::new();
        context.set_field_size_limit(MAX_FIELDS);
        Self { context, sender: Sender { door, is_missed: false } }
    }
}

/// Sends requests through the door.
pub(crate) struct Sender {
    door: Option<Arc<dyn Door>>,
    /// Whether a request was denied because there is no door.
    pub(crate) is_missed: bool,
}

type Reply = Result<(Response<WasiBody>, Later), Error>;
type Later = Box<dyn Future<Output = Result<(), Error>> + Send>;

impl WasiHttpHooks for Sender {
    /// The gate writes it.
    fn set_host_header(&mut self) -> bool {
        false
    }

    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        CAPACITY
    }

    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _: Later,
    ) -> Box<dyn Future<Output = Reply> + Send> {
        self.is_missed |= self.door.is_none();
        let door = self.door.clone();
        let options = options.unwrap_or_default();
        Box::new(async move {
            let door = door.ok_or(Error::HttpRequestDenied)?;
            let asked = door.exchange(asked(request));
            let answered = match head_time(&options) {
                Some(limit) => {
                    tokio::time::timeout(limit, asked).await.map_err(|_| Error::ConnectionReadTimeout)?
                }
                None => asked.await,
            };
            let answer = answered.map_err(error)?;
            let later: Later = Box::new(std::future::ready(Ok(())));
            Ok((given(answer, options.between_bytes_timeout)?, later))
        })
    }
}

/// Time to the head of an answer. The door connects and sends in one, so the time to connect counts with that to the first byte; alone
/// it bounds nothing.
fn head_time(options: &RequestOptions) -> Option<Duration> {
    let first = options.first_byte_timeout?;
    Some(first.saturating_add(options.connect_timeout.unwrap_or_default()))
}

/// A request as the door takes it.
fn asked(request: Request<WasiBody>) -> NetworkRequest {
    let (head, body) = request.into_parts();
    let headers = head.headers.iter().map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()));
    let broken =
        |error: Error| Problem::new(Trouble::Closed, format!("the request's body broke off: {error}"));
    let body = (!body.is_end_stream()).then(|| sent(body.map_err(broken)));
    NetworkRequest {
        method: head.method.to_string(),
        url: head.uri.to_string(),
        headers: headers.collect(),
        body,
    }
}

/// A body in pieces.
fn sent(body: impl http_body::Body<Data = Bytes, Error = Problem> + Send + 'static) -> Pieces {
    BodyDataStream::new(body).boxed()
}

/// An answer as the program gets it.
fn given(answer: NetworkAnswer, between: Option<Duration>) -> Result<Response<WasiBody>, Error> {
    let NetworkAnswer { status, headers, body } = answer;
    let pieces = stream::try_unfold(body, move |mut body| async move {
        let next = match between {
            Some(limit) => {
                tokio::time::timeout(limit, body.next()).await.map_err(|_| Error::ConnectionReadTimeout)?
            }
            None => body.next().await,
        };
        Ok(next.transpose().map_err(body_error)?.map(|piece: Bytes| (piece, body)))
    });
    let mut response = Response::new(StreamBody::new(pieces.map_ok(Frame::data)).boxed_unsync());
    *response.status_mut() = StatusCode::from_u16(status).map_err(|_| Error::HttpProtocolError)?;
    for (name, value) in headers {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| Error::HttpProtocolError)?;
        let value = HeaderValue::from_bytes(&value).map_err(|_| Error::HttpProtocolError)?;
        response.headers_mut().try_append(name, value).map_err(|_| Error::HttpProtocolError)?;
    }
    Ok(response)
}

/// A problem in the words of `wasi:http`.
fn error(problem: Problem) -> Error {
    tracing::debug!(trouble = ?problem.trouble, "a request of a program failed: {}", problem.text);
    match problem.trouble {
        Trouble::Denied => Error::HttpRequestDenied,
        Trouble::UnknownName => Error::DnsError { rcode: Some(problem.text), info_code: None },
        Trouble::Refused => Error::ConnectionRefused,
        Trouble::Reset | Trouble::Closed => Error::ConnectionTerminated,
        Trouble::TimedOut => Error::ConnectionTimeout,
        Trouble::Untrusted => Error::TlsCertificateError,
        Trouble::Protocol => Error::HttpProtocolError,
        Trouble::Exhausted => Error::ConnectionLimitReached,
    }
}

/// The same, within an answer.
fn body_error(problem: Problem) -> Error {
    match problem.trouble {
        Trouble::Exhausted => Error::HttpResponseBodySize(None),
        Trouble::TimedOut => Error::ConnectionReadTimeout,
        _ => error(problem),
    }
}

/// What broke an answer off, as a program is told of it.
pub(crate) fn code(error: &Error) -> ErrorCode {
    match error {
        Error::HttpResponseBodySize(size) => ErrorCode::HttpResponseBodySize(*size),
        Error::ConnectionReadTimeout => ErrorCode::ConnectionReadTimeout,
        Error::ConnectionTerminated => ErrorCode::ConnectionTerminated,
        Error::HttpRequestDenied => ErrorCode::HttpRequestDenied,
        _ => ErrorCode::HttpProtocolError,
    }
}
