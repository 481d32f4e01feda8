//! The transport under the protocol: lines of JSON, bounded on both sides.
//!
//! It differs from the library's own in what a peer can do to it: a message that cannot come first does not end the
//! server, a long or malformed one is answered, a reader that does not read stops further requests from being read, requests
//! get their places in line as they are read, and messages are written in the order in which they were made.

use std::collections::HashSet;
use std::future::Future;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use dormouse_tools::incoming::AT_ONCE;
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, GetExtensions as _, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use tokio::io::AsyncRead;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::line::{Line, LineReader};
use crate::order::Order;
use crate::outbox::Outbox;
use crate::parse::{Parsed, parse, repeated, too_long};

/// Requests that are worked on at one time; then no further line is read. The library begins each request that it is given, and
/// reading is quicker than working: without this, thousands are begun before the first answers show that nobody reads them.
/// More than the runs that a server has places for, so that who asks for too much is told so and can cancel.
const MAX_REQUESTS: usize = 256;

/// Travels with a request and is gone when its handler is done.
#[derive(Clone)]
struct InWork(#[expect(dead_code, reason = "it is held")] Arc<Begun>);

/// A request that is worked on.
struct Begun {
    id: RequestId,
    ids: Ids,
    _place: OwnedSemaphorePermit,
}

/// The ids of the requests that are worked on.
type Ids = Arc<Mutex<HashSet<RequestId>>>;

impl Begun {
    /// None: another request of that id is worked on.
    fn new(id: &RequestId, ids: &Ids, place: OwnedSemaphorePermit) -> Option<Self> {
        let is_new = ids.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone());
        is_new.then(|| Self { id: id.clone(), ids: ids.clone(), _place: place })
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}

pub(crate) struct LineTransport<R> {
    reader: LineReader<R>,
    outbox: Outbox,
    requests: Arc<Semaphore>,
    ids: Ids,
    order: Order,
    most: usize,
    /// A long line that is being read. It is kept here because waiting for it may be given up and begun again.
    reading: Option<JoinHandle<Parsed>>,
    /// A request has been passed on. Before that, the library takes anything else for a broken handshake and quits.
    opened: bool,
    ended: CancellationToken,
}

impl<R: AsyncRead + Unpin> LineTransport<R> {
    /// `ended` is cancelled when the input ends; cancelling it from outside ends the input.
    pub(crate) fn new(
        reader: R,
        outbox: Outbox,
        order: Order,
        most: usize,
        ended: CancellationToken,
    ) -> Self {
        let requests = Arc::new(Semaphore::new(MAX_REQUESTS));
        let reader = LineReader::new(reader, most);
        Self {
            reader,
            outbox,
            requests,
            ids: Ids::default(),
            order,
            most,
            reading: None,
            opened: false,
            ended,
        }
    }

    /// The next message, once few enough requests are worked on. Given up half-way, it loses nothing.
    async fn counted(&mut self) -> Option<ClientJsonRpcMessage> {
        let mut place = self.requests.clone().acquire_owned().await.ok()?;
        loop {
            let mut message = self.next().await?;
            let JsonRpcMessage::Request(request) = &mut message else { return Some(message) };
            if let Some(begun) = Begun::new(&request.id, &self.ids, place) {
                self.order.place(&mut request.request);
                request.request.extensions_mut().insert(InWork(Arc::new(begun)));
                return Some(message);
            }
            self.answer(&repeated(&request.id));
            place = self.requests.clone().acquire_owned().await.ok()?;
        }
    }

    async fn next(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            match self.parsed().await? {
                Parsed::Message(message) if self.opened || matches!(*message, JsonRpcMessage::Request(_)) => {
                    self.opened = true;
                    return Some(*message);
                }
                Parsed::Message(_) => tracing::debug!("a message before the first request was ignored"),
                Parsed::Refused(error) => self.answer(&error),
                Parsed::Ignored => {}
            }
        }
    }

    /// The next line as what it is; none at the end.
    async fn parsed(&mut self) -> Option<Parsed> {
        if self.reading.is_none() {
            self.outbox.has_room().await;
            match self.reader.next().await {
                Line::Whole(line) if line.len() <= AT_ONCE => return Some(parse(&line)),
                Line::Whole(line) => self.reading = Some(tokio::task::spawn_blocking(move || parse(&line))),
                Line::TooLong => return Some(Parsed::Refused(Box::new(too_long(self.most)))),
                Line::End => return None,
            }
        }
        let read = self.reading.as_mut()?.await;
        self.reading = None;
        Some(read.unwrap_or(Parsed::Ignored))
    }

    /// Queues an answer that nobody waits for.
    fn answer(&self, message: &ServerJsonRpcMessage) {
        drop(self.outbox.push(message));
    }
}

impl<R: AsyncRead + Send + Unpin + 'static> Transport<RoleServer> for LineTransport<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.outbox.push(&message)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let ended = self.ended.clone();
        let message = tokio::select! {
            () = ended.cancelled() => None,
            message = self.counted() => message,
        };
        if message.is_none() {
            ended.cancel();
        }
        message
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}
