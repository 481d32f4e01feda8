//! A stream of which the first bytes were looked at.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};

/// A stream; what was read ahead is read again.
pub(crate) struct Ahead<S> {
    first: BytesMut,
    inner: S,
}

impl<S: AsyncRead + Unpin> Ahead<S> {
    pub(crate) fn new(inner: S) -> Self {
        Self { first: BytesMut::new(), inner }
    }

    /// What can be looked at, at least `count` bytes unless the stream ends before.
    pub(crate) async fn peek(&mut self, count: usize) -> io::Result<&[u8]> {
        while self.first.len() < count {
            if self.inner.read_buf(&mut self.first).await? == 0 {
                break;
            }
        }
        Ok(&self.first)
    }

    /// Takes the line that begins the stream, with its end; of at most `most` bytes.
    ///
    /// # Errors
    /// `UnexpectedEof` for one that does not end.
    pub(crate) async fn line(&mut self, most: usize) -> io::Result<BytesMut> {
        let mut looked = 0;
        loop {
            if let Some(end) = self.first[looked..].iter().position(|byte| *byte == b'\n') {
                return Ok(self.first.split_to(looked + end + 1));
            }
            looked = self.first.len();
            if looked >= most || self.peek(looked + 1).await?.len() == looked {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Ahead<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.first.is_empty() {
            return Pin::new(&mut self.inner).poll_read(cx, buffer);
        }
        let count = buffer.remaining().min(self.first.len());
        buffer.put_slice(&self.first[..count]);
        self.first.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Ahead<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
