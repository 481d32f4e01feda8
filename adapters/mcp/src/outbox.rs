//! Writes messages in the order in which they were handed over, and knows how many bytes still wait.

use std::future::Future;
use std::io;

use rmcp::model::ServerJsonRpcMessage;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

/// Bytes that may wait for a slow reader before no further requests are read (4 MiB).
const MAX_WAITING: usize = 4 << 20;

struct Item {
    bytes: Vec<u8>,
    written: oneshot::Sender<()>,
}

/// The near end: takes messages. Dropping it ends the writer once everything is written.
pub(crate) struct Outbox {
    items: mpsc::UnboundedSender<Item>,
    waiting: watch::Sender<usize>,
}

/// The far end: writes until the outbox is gone, the stream fails, or it is told to stop.
pub(crate) struct Writer<W> {
    stream: W,
    items: mpsc::UnboundedReceiver<Item>,
    waiting: watch::Sender<usize>,
}

/// Both ends of a queue in front of `stream`.
pub(crate) fn outbox<W: AsyncWrite + Unpin>(stream: W) -> (Outbox, Writer<W>) {
    // The queue is bounded by `has_room`, on which reading waits: a sender never has to.
    let (items, receiver) = mpsc::unbounded_channel();
    let waiting = watch::Sender::new(0);
    (Outbox { items, waiting: waiting.clone() }, Writer { stream, items: receiver, waiting })
}

impl Outbox {
    /// Queues a message at once. The future resolves when it is written; dropping it does not take the message back.
    ///
    /// # Errors
    /// When the stream failed or the writer was stopped.
    pub(crate) fn push(
        &self,
        message: &ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + use<> {
        let (written, done) = oneshot::channel();
        let queued = serde_json::to_vec(message).map_err(io::Error::from).and_then(|mut bytes| {
            bytes.push(b'\n');
            let len = bytes.len();
            self.waiting.send_modify(|waiting| *waiting += len);
            self.items.send(Item { bytes, written }).map_err(|_| gone())
        });
        async move {
            queued?;
            done.await.map_err(|_| gone())
        }
    }

    /// Resolves when little enough waits to be written.
    pub(crate) async fn has_room(&self) {
        let mut waiting = self.waiting.subscribe();
        // The sender of the watch lives in `self`: waiting cannot fail.
        let _ = waiting.wait_for(|waiting| *waiting < MAX_WAITING).await;
    }
}

impl<W: AsyncWrite + Unpin> Writer<W> {
    /// Writes until the end. `failed` is cancelled when the stream can no longer be written.
    pub(crate) async fn run(mut self, stop: CancellationToken, failed: CancellationToken) {
        loop {
            let item = tokio::select! {
                () = stop.cancelled() => return,
                item = self.items.recv() => item,
            };
            let Some(item) = item else { return };
            let written = tokio::select! {
                () = stop.cancelled() => return,
                written = self.write(&item.bytes) => written,
            };
            self.waiting.send_modify(|waiting| *waiting = waiting.saturating_sub(item.bytes.len()));
            if let Err(error) = written {
                tracing::debug!(%error, "the output cannot be written");
                failed.cancel();
                return;
            }
            // Nobody may be waiting for it.
            let _ = item.written.send(());
        }
    }

    async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await?;
        self.stream.flush().await
    }
}

fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the client has left")
}
