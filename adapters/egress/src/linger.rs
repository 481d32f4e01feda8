//! The body of a guest's own HTTP. One that nobody takes any more is read on, so that a guest which writes before it reads still gets
//! to its answer: a stream that closed under its writing would be an error instead.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use hyper::{Request, header};
use tokio::runtime::Handle;

use crate::reason::{Reason, Refusal};

/// Most that is read of a body for nothing, in bytes. After it the stream closes.
const BYTES: usize = 64 << 20;
/// Longest time that is spent on it.
const TIME: Duration = Duration::from_secs(10);

/// The body of a request that came over a stream.
pub(crate) struct Lingering {
    inner: Option<Incoming>,
    /// The guest waits for a word (`Expect: 100-continue`) before it sends the body, so there may be nothing to read.
    is_asked_for: bool,
}

impl Lingering {
    /// A request with its body as this.
    pub(crate) fn of(request: Request<Incoming>) -> Request<Self> {
        let is_asked_for = request.headers().contains_key(header::EXPECT);
        request.map(|body| Self { inner: Some(body), is_asked_for })
    }
}

impl HttpBody for Lingering {
    type Data = Bytes;
    type Error = Refusal;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Refusal>>> {
        let Some(body) = &mut self.inner else { return Poll::Ready(None) };
        let frame = ready!(Pin::new(body).poll_frame(cx));
        if !matches!(frame, Some(Ok(_))) {
            self.inner = None;
        }
        let gone = |_| Refusal::new(Reason::Cancelled, "the request's body ended early");
        Poll::Ready(frame.map(|frame| frame.map_err(gone)))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.as_ref().map_or_else(|| SizeHint::with_exact(0), HttpBody::size_hint)
    }
}

impl Drop for Lingering {
    fn drop(&mut self) {
        let Some(body) = self.inner.take() else { return };
        if self.is_asked_for || body.is_end_stream() {
            return;
        }
        // It ends with the stream, whose run may be over long before.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(tokio::time::timeout(TIME, read(body)));
        }
    }
}

/// Reads a body for nothing.
async fn read(mut body: Incoming) {
    let mut left = BYTES;
    while let Some(Ok(frame)) = body.frame().await {
        let length = frame.data_ref().map_or(0, Bytes::len);
        match left.checked_sub(length) {
            Some(now) => left = now,
            None => return,
        }
    }
}
