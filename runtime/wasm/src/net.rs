//! Connections of a run (`wit/net.wit`): numbers in the guest, streams to the run's [`Door`] on the host.
//!
//! A connection is one task beside the guest, which ends with it. All of them end with the run.

mod pipe;

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use dormouse_core::network::{Door, NetworkRequest, NetworkUse, Pieces, Problem, Trouble};
use futures::StreamExt as _;
use tokio::io::{AsyncWriteExt as _, ReadHalf};
use tokio::task::JoinHandle;
use tokio_util::io::ReaderStream;

use crate::bindings::dormouse::sandbox::net as contract;
pub(crate) use pipe::{CAPACITY, GuestEnd};
use pipe::{HostEnd, Teller, pipe};

/// Connections of a run at one time; the network's budget is usually less.
const MOST: usize = 1_024;

/// Places that are named where a run was cut off while it waited for connections, and characters of each.
const NAMED: (usize, usize) = (3, 80);

/// The network of one run.
#[derive(Default)]
pub(crate) struct Net {
    door: Option<Arc<dyn Door>>,
    connections: HashMap<u64, Connection>,
    /// The number of the last connection: its upper half is drawn for each run, so that numbers of other runs are nobody's.
    last: u64,
    /// The connections that the program waits for, or waited for when it was cut off.
    waited_for: Vec<u64>,
}

/// A connection; dropping it ends it.
struct Connection {
    end: GuestEnd,
    /// Where a stream leads to.
    place: Option<String>,
    task: JoinHandle<()>,
}

impl Connection {
    /// Ends it, and all that its task holds.
    async fn end(mut self) {
        self.task.abort();
        let _ = (&mut self.task).await;
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Net {
    /// A run begins.
    pub(crate) fn begin(&mut self, door: Option<Arc<dyn Door>>) {
        self.end();
        self.door = door;
    }

    /// A run ends, and with it its connections.
    pub(crate) fn end(&mut self) {
        (self.door, self.last) = (None, 0);
        self.connections.clear();
        self.waited_for.clear();
    }

    /// The run's door, if it has one.
    pub(crate) fn given(&self) -> Option<Arc<dyn Door>> {
        self.door.clone()
    }

    /// What the run did so far, if it may do anything.
    pub(crate) fn used(&self) -> Option<NetworkUse> {
        self.door.as_ref().map(|door| door.used())
    }

    fn door(&self) -> Result<&Arc<dyn Door>, Problem> {
        let door = self.door.as_ref().ok_or_else(Problem::none)?;
        if self.connections.len() >= MOST {
            return Err(Problem::new(
                Trouble::Exhausted,
                format!("{MOST} connections are open, as many as may"),
            ));
        }
        Ok(door)
    }

    /// The program begins to wait for connections, or has waited: for none.
    pub(crate) fn waits_for(&mut self, interests: &[contract::Interest]) {
        self.waited_for.clear();
        self.waited_for.extend(interests.iter().map(|interest| interest.connection));
    }

    /// Where the streams lead to that the program waits for: some of the places, as text to show.
    pub(crate) fn waited_for(&self) -> Vec<String> {
        let (most, longest) = NAMED;
        let found = self.waited_for.iter().filter_map(|number| self.connections.get(number)?.place.as_ref());
        let mut places: Vec<String> =
            found.map(|place| place.escape_debug().take(longest).collect()).collect();
        places.sort();
        places.dedup();
        places.truncate(most);
        places
    }

    fn keep(&mut self, end: GuestEnd, task: JoinHandle<()>, place: Option<String>) -> Result<u64, Problem> {
        if self.last == 0 {
            let mut drawn = [0; 4];
            getrandom::fill(&mut drawn)
                .map_err(|_| Problem::new(Trouble::Reset, "the system has no randomness"))?;
            self.last = u64::from(u32::from_ne_bytes(drawn)) << 32;
        }
        self.last += 1;
        self.connections.insert(self.last, Connection { end, place, task });
        Ok(self.last)
    }

    /// Ends a connection: it has given its place back then.
    pub(crate) async fn close(&mut self, number: u64) {
        if let Some(connection) = self.connections.remove(&number) {
            connection.end().await;
        }
    }

    /// The guest's end of a connection.
    pub(crate) fn end_of(&self, number: u64) -> Result<&GuestEnd, Problem> {
        let told = || Problem::new(Trouble::Closed, "the connection is closed: it ends with its run");
        self.connections.get(&number).map(|connection| &connection.end).ok_or_else(told)
    }

    /// Opens a stream.
    pub(crate) fn open(&mut self, host: &str, port: u16) -> Result<u64, Problem> {
        let serve = self.door()?.open(host, port)?;
        let (guest, end, teller) = pipe();
        let task = tokio::spawn(async move {
            if let Err(problem) = serve(Box::new(end)).await {
                teller.fail(problem);
            }
        });
        self.keep(guest, task, Some(format!("{host}:{port}")))
    }

    /// Sends a request.
    pub(crate) fn exchange(&mut self, request: contract::Request) -> Result<u64, Problem> {
        let door = self.door()?.clone();
        let (guest, end, teller) = pipe();
        let contract::Request { method, url, headers, body } = request;
        if !body {
            guest.finish();
        }
        let task = tokio::spawn(async move {
            if let Err(problem) = exchange(&*door, (end, &teller), (method, url, headers, body)).await {
                teller.fail(problem);
            }
        });
        self.keep(guest, task, None)
    }

    /// Those of the interests that are ready; whoever polls is woken when that changes.
    pub(crate) fn poll_ready(
        &self,
        interests: &[contract::Interest],
        cx: &Context<'_>,
    ) -> Vec<contract::Ready> {
        let mut ready = Vec::new();
        for interest in interests {
            let connection = interest.connection;
            let (reads, writes) = match self.connections.get(&connection) {
                Some(connection) => connection.end.poll_ready(cx),
                None => (true, true),
            };
            let (reads, writes) = (reads && interest.reads, writes && interest.writes);
            if reads || writes {
                ready.push(contract::Ready { connection, reads, writes });
            }
        }
        ready
    }

    /// Those of the interests that are ready, when one is.
    pub(crate) async fn ready(&self, interests: &[contract::Interest]) -> Vec<contract::Ready> {
        poll_fn(|cx| match self.poll_ready(interests, cx) {
            ready if ready.is_empty() => Poll::Pending,
            ready => Poll::Ready(ready),
        })
        .await
    }
}

type Asked = (String, String, Vec<(String, Vec<u8>)>, bool);

/// Sends a request, and carries its answer to the guest.
async fn exchange(door: &dyn Door, (end, teller): (HostEnd, &Teller), asked: Asked) -> Result<(), Problem> {
    let (method, url, headers, has_body) = asked;
    let (reader, mut writer) = tokio::io::split(end);
    let body = has_body.then(|| sent(reader));
    let mut answer = door.exchange(NetworkRequest { method, url, headers, body }).await?;
    teller.answer((answer.status, answer.headers));
    while let Some(piece) = answer.body.next().await {
        if writer.write_all(&piece?).await.is_err() {
            // The guest has closed it.
            break;
        }
    }
    Ok(())
}

/// What a guest sends, in pieces.
fn sent(reader: ReadHalf<HostEnd>) -> Pieces {
    let broken = |_| Problem::new(Trouble::Reset, "the request's body broke off");
    ReaderStream::with_capacity(reader, CAPACITY)
        .map(move |piece: std::io::Result<Bytes>| piece.map_err(broken))
        .boxed()
}
