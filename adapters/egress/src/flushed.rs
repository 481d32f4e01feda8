//! An answer that breaks off, over a stream: its head and what came of its body are on their way before it does.
//!
//! hyper's server closes a connection at once where a body ends with an error, and what it had not written yet is gone. So the error
//! waits until the stream has taken everything that came before it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures::task::AtomicWaker;
use http_body_util::BodyExt as _;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::reason::Refusal;
use crate::upstream::Body;

/// How often a stream had taken everything, and who waits for that.
#[derive(Debug, Default)]
pub(crate) struct Flushes {
    count: AtomicU64,
    waiting: AtomicWaker,
}

/// A stream that counts them.
pub(crate) struct Flushed<S> {
    inner: S,
    flushes: Arc<Flushes>,
}

impl<S> Flushed<S> {
    pub(crate) fn new(inner: S) -> (Self, Arc<Flushes>) {
        let flushes: Arc<Flushes> = Arc::default();
        (Self { inner, flushes: flushes.clone() }, flushes)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Flushed<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Flushed<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // hyper asks for it when it has nothing left to write.
        ready!(Pin::new(&mut self.inner).poll_flush(cx))?;
        self.flushes.count.fetch_add(1, Ordering::Release);
        self.flushes.waiting.wake();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

/// A body whose error comes when what was before it is written.
struct Breaking {
    inner: Body,
    flushes: Arc<Flushes>,
    /// Its error, and how many flushes there had been.
    broken: Option<(Refusal, u64)>,
}

/// An answer's body, for a stream.
pub(crate) fn breaking(inner: Body, flushes: &Arc<Flushes>) -> Body {
    Breaking { inner, flushes: flushes.clone(), broken: None }.boxed_unsync()
}

impl HttpBody for Breaking {
    type Data = Bytes;
    type Error = Refusal;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Refusal>>> {
        if self.broken.is_none() {
            match ready!(Pin::new(&mut self.inner).poll_frame(cx)) {
                Some(Err(refusal)) => {
                    let seen = self.flushes.count.load(Ordering::Acquire);
                    self.broken = Some((refusal, seen));
                }
                frame => return Poll::Ready(frame),
            }
        }
        self.flushes.waiting.register(cx.waker());
        let count = self.flushes.count.load(Ordering::Acquire);
        match self.broken.take_if(|(_, seen)| *seen < count) {
            Some((refusal, _)) => Poll::Ready(Some(Err(refusal))),
            None => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.broken.is_none() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
