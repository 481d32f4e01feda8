//! The stream to a program in a pod: Kubernetes' WebSocket protocol for `pods/exec`, in version 5, and in version 4, which servers before
//! 1.30 have.
//!
//! Owns: the frames, and that a stream on which nothing comes any more is given up. Does not own: which program it is
//! ([`crate::exec`]). The two directions wait for nothing of each other's.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use dormouse_core::Stream;
use futures::{Sink, SinkExt as _, StreamExt as _};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use kube::client::Connection;
use tokio::io::AsyncWrite;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tokio_tungstenite::tungstenite::{Error as Fault, Message};
use tokio_util::sync::PollSender;

/// Numbers of the streams, as the first byte of a frame says them.
const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const STATUS: u8 = 3;
/// What ends the stream that follows; version 5 alone has it.
const CLOSE: u8 = 255;
/// Most bytes of a frame that is sent: 32 KiB.
const PIECE: usize = 32 << 10;
/// Frames on their way in each direction.
const UNDER_WAY: usize = 8;
/// When it is asked first whether the other side is still there; a short program has ended by then.
const FIRST: Duration = Duration::from_secs(1);
/// How often it is asked in vain whether the other side is still there.
const IN_VAIN: u32 = 6;

/// A stream that was opened.
pub(crate) struct Opened {
    /// What the program writes. It ends with the stream.
    pub(crate) output: mpsc::Receiver<(Stream, Bytes)>,
    /// What the program reads.
    pub(crate) input: Pipe,
    /// What the server says at the end; an error: the stream broke off.
    pub(crate) status: oneshot::Receiver<Status>,
    /// Dropped, the stream is closed.
    pub(crate) open: Open,
}

/// Holds a stream open.
pub(crate) struct Open(JoinHandle<()>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A program's input. Dropped before it was shut down, the program is not told that this was all.
pub(crate) struct Pipe(PollSender<Option<Bytes>>);

impl AsyncWrite for Pipe {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if bytes.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
        ready!(self.0.poll_reserve(context)).map_err(gone)?;
        let piece = bytes.get(..PIECE).unwrap_or(bytes);
        self.0.send_item(Some(Bytes::copy_from_slice(piece))).map_err(gone)?;
        Poll::Ready(Ok(piece.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
        ready!(self.0.poll_reserve(context)).map_err(gone)?;
        Poll::Ready(self.0.send_item(None).map_err(gone))
    }
}

/// Speaks on a connection. `head` is sent first; what follows of the input is `counted` where its end cannot be said otherwise: before
/// each piece its bytes stand on a line, and `0` at the end. Every `pause` it is asked whether the other side is still there.
pub(crate) fn speak(connection: Connection, head: Vec<u8>, counted: bool, pause: Duration) -> Opened {
    let (sender, input) = mpsc::channel(UNDER_WAY);
    let (heard, output) = mpsc::channel(UNDER_WAY);
    let (told, status) = oneshot::channel();
    let task = tokio::spawn(async move {
        let (to, from) = connection.into_stream().split();
        let known = Known::default();
        tokio::select! {
            _ = hear(from, heard, told, &known) => {}
            () = tell(to, (head, input), counted, (pause, &known)) => {}
        }
    });
    Opened { output, input: Pipe(PollSender::new(sender)), status, open: Open(task) }
}

/// What both directions know of the other side.
#[derive(Default)]
struct Known {
    /// How many frames of input were sent.
    sent: AtomicU64,
    /// Whether it has read all of them: one that does not read, because the program does not, answers nothing either.
    read: AtomicBool,
    /// How often it was asked since it said something.
    asked: AtomicU32,
}

/// Reads until the server says how the program ended, which is told before the output ends; none: it does not say.
async fn hear(
    mut from: impl futures::Stream<Item = Result<Message, Fault>> + Unpin,
    output: mpsc::Sender<(Stream, Bytes)>,
    status: oneshot::Sender<Status>,
    known: &Known,
) -> Option<()> {
    loop {
        let message = from.next().await?.ok()?;
        known.asked.store(0, Ordering::Relaxed);
        match message {
            Message::Binary(frame) => {
                let Some(number) = frame.first() else { continue };
                let said = frame.slice(1..);
                let stream = match *number {
                    STDOUT => Stream::Stdout,
                    STDERR => Stream::Stderr,
                    STATUS => return status.send(serde_json::from_slice(&said).ok()?).ok(),
                    _ => continue,
                };
                if !said.is_empty() {
                    output.send((stream, said)).await.ok()?;
                }
            }
            Message::Pong(number) if *number == known.sent.load(Ordering::Relaxed).to_be_bytes() => {
                known.read.store(true, Ordering::Relaxed);
            }
            _ => {}
        }
    }
}

/// Sends what there is, for as long as the other side is there.
async fn tell(
    mut to: impl Sink<Message, Error = Fault> + Unpin,
    (head, mut input): (Vec<u8>, mpsc::Receiver<Option<Bytes>>),
    counted: bool,
    (pause, known): (Duration, &Known),
) {
    let frame = |words: &[&[u8]]| Message::binary(words.concat());
    for piece in head.chunks(PIECE) {
        if to.send(frame(&[&[STDIN], piece])).await.is_err() {
            // A program that ended at once; what it said is heard.
            return std::future::pending().await;
        }
    }
    // A pause of nothing is none.
    let pause = pause.max(Duration::from_millis(1));
    let (mut goes_on, mut pauses) = (true, interval_at(Instant::now() + pause.min(FIRST), pause));
    pauses.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let message = tokio::select! {
            _ = pauses.tick() => {
                if known.read.load(Ordering::Relaxed) && known.asked.load(Ordering::Relaxed) >= IN_VAIN {
                    return;
                }
                known.asked.fetch_add(1, Ordering::Relaxed);
                Message::Ping(known.sent.load(Ordering::Relaxed).to_be_bytes().to_vec().into())
            }
            piece = input.recv(), if goes_on => {
                known.read.store(false, Ordering::Relaxed);
                known.sent.fetch_add(1, Ordering::Relaxed);
                match piece {
                    Some(Some(piece)) if counted => frame(&[&[STDIN], format!("{}\n", piece.len()).as_bytes(), &piece]),
                    Some(Some(piece)) => frame(&[&[STDIN], &piece]),
                    Some(None) => {
                        goes_on = false;
                        if counted { frame(&[&[STDIN], b"0\n"]) } else { frame(&[&[CLOSE, STDIN]]) }
                    }
                    None => {
                        goes_on = false;
                        continue;
                    }
                }
            }
        };
        if to.send(message).await.is_err() {
            return std::future::pending().await;
        }
    }
}
