//! What a guest sends on a stream of bytes, on which no greeting passes: the server behind it would get a line that was meant for the gate.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

/// What a greeting begins with. A TLS handshake of a guest's own has a version in the second place.
const GREETING: [u8; 2] = *b"\x16{";

/// The guest's half of the stream. One that begins with a greeting breaks.
pub(crate) struct Plain<S> {
    inner: S,
    /// How many of the bytes that were read so far are a greeting's; none when it can be none any more.
    matched: Option<usize>,
}

impl<S> Plain<S> {
    pub(crate) fn new(inner: S) -> Self {
        Self { inner, matched: Some(0) }
    }

    /// Whether it began with a greeting.
    pub(crate) fn is_greeted(&self) -> bool {
        self.matched == Some(GREETING.len())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Plain<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Some(matched) = self.matched else { return Pin::new(&mut self.inner).poll_read(cx, into) };
        if into.remaining() < GREETING.len() {
            return Poll::Ready(Err(io::Error::other("no room for the first bytes")));
        }
        let mut matched = matched;
        while matched < GREETING.len() {
            let mut byte = [0];
            let mut one = ReadBuf::new(&mut byte);
            ready!(Pin::new(&mut self.inner).poll_read(cx, &mut one))?;
            let is_over = one.filled().is_empty();
            if !is_over && byte[0] == GREETING[matched] {
                matched += 1;
                self.matched = Some(matched);
                continue;
            }
            into.put_slice(&GREETING[..matched]);
            if !is_over {
                into.put_slice(&byte);
            }
            self.matched = None;
            return Poll::Ready(Ok(()));
        }
        Poll::Ready(Err(io::Error::from(io::ErrorKind::InvalidData)))
    }
}
