//! Connections: bounded in number, in the time they take, and at their end.

use std::convert::Infallible;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderValue, Response, StatusCode, header};
use dormouse_core::{Error, ErrorCode};
use hyper::Request;
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;

use super::connections::{Client, Connections, InProgress};
use crate::status;

/// Bytes of the head of a request (64 KiB).
const MAX_HEAD: usize = 64 << 10;
/// Bytes that are read or written ahead for a connection. A head that is a little too long is read, so that it gets an answer in words.
const BUFFER: usize = MAX_HEAD + (8 << 10);
/// Headers of a request.
const MAX_HEADERS: usize = 64;
/// Pause after a connection could not be taken, as when descriptors are short.
const PAUSE: Duration = Duration::from_millis(50);

/// How long things may take.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// From the first byte of a connection, or the end of the answer before, to the end of a request's head. Default 10 s.
    pub head: Duration,
    /// A reader may take nothing for this long. Default 30 s.
    pub write: Duration,
    /// At the end, calls in progress have this long; then they are cancelled. Default 10 s.
    pub grace: Duration,
    /// After that, answers have this long to be written. Default 1 s.
    pub last: Duration,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            head: Duration::from_secs(10),
            write: Duration::from_secs(30),
            grace: Duration::from_secs(10),
            last: Duration::from_secs(1),
        }
    }
}

/// Serves the routes until `stop` is over. Then no connection is taken any more, calls in progress get [`Times::grace`],
/// `closing` is cancelled, and what is left after [`Times::last`] is dropped with all that it runs.
pub async fn serve(
    listener: TcpListener,
    routes: Router,
    times: Times,
    stop: impl Future<Output = ()>,
    closing: &CancellationToken,
) {
    let (connections, ending, mut tasks) = (Connections::default(), CancellationToken::new(), JoinSet::new());
    let mut stop = pin!(stop);
    loop {
        let (stream, client) = tokio::select! {
            biased;
            () = &mut stop => break,
            taken = accept(&listener, &connections) => taken,
        };
        while tasks.try_join_next().is_some() {}
        tasks.spawn(serve_connection(stream, client, routes.clone(), times, ending.clone()));
    }
    drop(listener);
    ending.cancel();
    if tokio::time::timeout(times.grace, all(&mut tasks)).await.is_err() {
        tracing::warn!("calls in progress are cancelled");
        closing.cancel();
        let _ = tokio::time::timeout(times.last, all(&mut tasks)).await;
    }
    closing.cancel();
    tasks.shutdown().await;
}

async fn all(tasks: &mut JoinSet<()>) {
    while tasks.join_next().await.is_some() {}
}

/// The next connection, when there is room for it.
async fn accept(listener: &TcpListener, connections: &Connections) -> (TcpStream, Client) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => return (stream, connections.admit(peer.ip()).await),
            Err(error) => {
                tracing::warn!(%error, "a connection cannot be taken");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// Serves one connection to its end, or until it is to go. A request that was let in is answered before.
async fn serve_connection(
    stream: TcpStream,
    client: Client,
    routes: Router,
    times: Times,
    ending: CancellationToken,
) {
    // Small answers are not held back for more.
    let _ = stream.set_nodelay(true);
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(times.write));
    let routes = TowerToHyperService::new(routes);
    let service = service_fn(|request| answer(request, client.clone(), routes.clone()));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(times.head)
        .max_buf_size(BUFFER)
        .max_headers(MAX_HEADERS)
        .serve_connection(TokioIo::new(Box::pin(stream)), service);
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = async { tokio::select! { () = client.asked_to_leave() => {}, () = ending.cancelled() => {} } } => {
            if client.is_stranger() {
                return;
            }
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

async fn answer(
    mut request: Request<Incoming>,
    client: Client,
    routes: TowerToHyperService<Router>,
) -> Result<Response<Body>, Infallible> {
    let Some(in_progress) = client.begin() else { return Ok(too_late()) };
    request.extensions_mut().insert(client);
    let response = if head(&request) > MAX_HEAD { long_head() } else { routes.call(request).await? };
    Ok(response.map(|body| Body::new(Answer { body, _in_progress: in_progress })))
}

/// Bytes of a request's head, as it is usually written.
fn head<T>(request: &Request<T>) -> usize {
    let line = request.method().as_str().len() + request.uri().to_string().len() + "  HTTP/1.1\r\n\r\n".len();
    let fields = request.headers().iter();
    fields.map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len()).sum::<usize>() + line
}

/// To a request whose head is too long. The library reads somewhat more than it was told to, and says nothing then.
fn long_head() -> Response<Body> {
    let error = Error::new(ErrorCode::TooLarge, format!("the head is larger than {MAX_HEAD} bytes"))
        .with_hint("send fewer or shorter headers, and what is long in the body");
    let mut response = status::refusal_as(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, &error);
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

/// To a request that comes over a connection that is being closed for another.
fn too_late() -> Response<Body> {
    let error = Error::new(ErrorCode::Busy, "the connection was idle and is closed for others")
        .with_hint("connect again");
    let mut response = status::refusal(&error);
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

/// The body of an answer. The request ends with it.
struct Answer {
    body: Body,
    _in_progress: InProgress,
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
#[path = "listen_tests.rs"]
mod tests;
