//! Connections: bounded in number, in the time they take, and at their end.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;

/// Connections at one time; further ones wait until one ends.
pub const MAX_CONNECTIONS: usize = 256;
/// Bytes that are read or written ahead for a connection (64 KiB); the head of a request is no longer.
const BUFFER: usize = 64 << 10;
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
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    tokio::pin!(stop);
    loop {
        let (stream, place) = tokio::select! {
            biased;
            () = &mut stop => break,
            taken = accept(&listener, &places) => taken,
        };
        while connections.try_join_next().is_some() {}
        let connection = graceful.watch(connection(stream, routes.clone(), times));
        connections.spawn(async move {
            let _place = place;
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended early");
            }
        });
    }
    drop(listener);
    let drained = graceful.shutdown();
    tokio::pin!(drained);
    if tokio::time::timeout(times.grace, &mut drained).await.is_err() {
        tracing::warn!("calls in progress are cancelled");
        closing.cancel();
        let _ = tokio::time::timeout(times.last, drained).await;
    }
    closing.cancel();
    connections.shutdown().await;
}

/// The next connection, when there is a place for it.
async fn accept(listener: &TcpListener, places: &Arc<Semaphore>) -> (TcpStream, OwnedSemaphorePermit) {
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { continue };
        match listener.accept().await {
            Ok((stream, _)) => return (stream, place),
            Err(error) => {
                tracing::warn!(%error, "a connection cannot be taken");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

type Io = TokioIo<std::pin::Pin<Box<TimeoutStream<TcpStream>>>>;

fn connection(
    stream: TcpStream,
    routes: Router,
    times: Times,
) -> http1::Connection<Io, TowerToHyperService<Router>> {
    // Small answers are not held back for more.
    let _ = stream.set_nodelay(true);
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(times.write));
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(times.head)
        .max_buf_size(BUFFER)
        .max_headers(MAX_HEADERS)
        .serve_connection(TokioIo::new(Box::pin(stream)), TowerToHyperService::new(routes))
}

#[cfg(test)]
#[path = "listen_tests.rs"]
mod tests;
