//! The standard streams of a run: output is bounded, drained and counted; input is a buffer.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use dormouse_core::{Captured, OutputSink, Stream};
use dormouse_files::{Errno, Handle};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use wasmtime_wasi::cli::{IsTerminal, StdinStream, StdoutStream};
use wasmtime_wasi::p2::{InputStream, OutputStream, Pollable, StreamError, StreamResult};

/// Bytes that a guest may write in one call.
const PERMIT: usize = 64 << 10;

/// Standard input of one instance. Clones share it, because a guest keeps the stream it has once asked for.
#[derive(Clone, Default)]
pub(crate) struct Input {
    left: Arc<Mutex<Bytes>>,
}

impl Input {
    /// Begins a run: what the last one has not read is gone.
    pub(crate) fn begin(&self, bytes: &[u8]) {
        *self.lock() = Bytes::copy_from_slice(bytes);
    }

    fn take(&self, most: usize) -> Bytes {
        let mut left = self.lock();
        let most = most.min(left.len());
        left.split_to(most)
    }

    fn lock(&self) -> MutexGuard<'_, Bytes> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IsTerminal for Input {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdinStream for Input {
    fn async_stream(&self) -> Box<dyn AsyncRead + Send + Sync> {
        Box::new(self.clone())
    }

    fn p2_stream(&self) -> Box<dyn InputStream> {
        Box::new(self.clone())
    }
}

impl InputStream for Input {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        let bytes = self.take(size);
        if bytes.is_empty() && size > 0 { Err(StreamError::Closed) } else { Ok(bytes) }
    }
}

#[async_trait::async_trait]
impl Pollable for Input {
    async fn ready(&mut self) {}
}

impl AsyncRead for Input {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        buffer.put_slice(&self.take(buffer.remaining()));
        Poll::Ready(Ok(()))
    }
}

/// One output stream of one instance. Clones share it, because a guest keeps the stream it has once asked for.
#[derive(Clone)]
pub(crate) struct Output {
    stream: Stream,
    written: Arc<Mutex<Written>>,
}

/// Where the output of a program goes while it runs.
#[derive(Clone, Default)]
pub(crate) enum Outlet {
    /// It is kept until the run has ended.
    #[default]
    Kept,
    /// It is output of another instance's: the limit and the sink are that one's.
    Of(Output),
    /// To the end of a file.
    File(Arc<Handle>),
}

impl Outlet {
    /// Writes bytes to it. One that keeps leaves them to the caller.
    ///
    /// # Errors
    /// What the file says.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), Errno> {
        match self {
            Self::Kept => {}
            Self::Of(output) => output.append(bytes)?,
            Self::File(handle) => drop(handle.append(bytes)?),
        }
        Ok(())
    }

    /// Whether it keeps what is written.
    pub(crate) fn keeps(&self) -> bool {
        matches!(self, Self::Kept)
    }
}

/// What the current run has written.
#[derive(Default)]
struct Written {
    limit: usize,
    sink: Option<Arc<dyn OutputSink>>,
    outlet: Outlet,
    kept: Vec<u8>,
    total: u64,
}

impl Output {
    /// A stream that keeps nothing yet.
    pub(crate) fn new(stream: Stream) -> Self {
        Self { stream, written: Arc::default() }
    }

    /// Begins a run: forgets what the last one wrote, and keeps `limit` bytes of this one.
    pub(crate) fn begin(&self, limit: u64, sink: Option<Arc<dyn OutputSink>>) {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut written = self.lock();
        let outlet = std::mem::take(&mut written.outlet);
        *written = Written { limit, sink, outlet, ..Written::default() };
    }

    /// Lets what the next run writes go elsewhere; it is neither limited nor counted here then.
    pub(crate) fn lead(&self, outlet: Outlet) {
        self.lock().outlet = outlet;
    }

    /// What the run has written.
    pub(crate) fn captured(&self) -> Captured {
        let written = self.lock();
        Captured::from_bytes(&written.kept, written.total)
    }

    /// The bytes that were kept.
    pub(crate) fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.lock().kept)
    }

    fn append(&self, bytes: &[u8]) -> Result<(), Errno> {
        let (fresh, sink) = {
            let mut written = self.lock();
            if !written.outlet.keeps() {
                let outlet = written.outlet.clone();
                drop(written);
                return outlet.write(bytes);
            }
            let room = (written.limit as u64).saturating_sub(written.total);
            let room = usize::try_from(room).unwrap_or(usize::MAX).min(bytes.len());
            written.total = written.total.saturating_add(bytes.len() as u64);
            if written.sink.as_ref().is_none_or(|sink| !sink.keeps()) {
                written.kept.extend_from_slice(&bytes[..room]);
            }
            (&bytes[..room], written.sink.clone())
        };
        if let Some(sink) = sink
            && !fresh.is_empty()
        {
            sink.write(self.stream, fresh);
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IsTerminal for Output {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Output {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[async_trait::async_trait]
impl Pollable for Output {
    async fn ready(&mut self) {}
}

impl OutputStream for Output {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        // `filesystem-error-code` finds the reason in it.
        self.append(&bytes).map_err(|errno| StreamError::LastOperationFailed(errno.into()))
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(PERMIT)
    }
}

impl AsyncWrite for Output {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        Poll::Ready(self.append(bytes).map(|()| bytes.len()).map_err(std::io::Error::other))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_kept_to_the_limit_and_counted_past_it() {
        let output = Output::new(Stream::Stdout);
        output.begin(5, None);
        for _ in 0..1000 {
            output.append(b"abc").unwrap();
        }
        let captured = output.captured();
        assert_eq!((captured.text.as_str(), captured.total_bytes), ("abcab", 3000));
        assert_eq!(captured.dropped_bytes, 2995);
    }
}
