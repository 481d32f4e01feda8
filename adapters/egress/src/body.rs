//! Bodies on their way out: counted, and as long as was said.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures::{Stream, TryStreamExt as _};
use http_body_util::{BodyExt, Empty, Full, StreamBody};
use hyper::body::{Body as HttpBody, Frame, SizeHint};

use crate::budget::Account;
use crate::note::Traffic;
use crate::reason::{Reason, Refusal};
use crate::upstream::Body;

/// A body without bytes.
pub fn empty() -> Body {
    Empty::new().map_err(|never| match never {}).boxed_unsync()
}

/// A body that is there as a whole.
pub fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// A body that comes in pieces. An error ends it, and with it the request.
pub fn streamed(pieces: impl Stream<Item = Result<Bytes, Refusal>> + Send + 'static) -> Body {
    BodyExt::boxed_unsync(StreamBody::new(pieces.map_ok(Frame::data)))
}

/// The next piece of a body. None: it is at its end, or was after an error.
pub async fn piece(body: &mut Body) -> Option<Result<Bytes, Refusal>> {
    loop {
        match body.frame().await? {
            Err(refusal) => return Some(Err(refusal)),
            Ok(frame) => {
                if let Ok(data) = frame.into_data() {
                    return Some(Ok(data));
                }
            }
        }
    }
}

/// A body that is sent.
pub(crate) struct Outgoing {
    inner: Body,
    /// What is left of the length that was said.
    left: Option<u64>,
    account: Account,
    traffic: Arc<Traffic>,
}

impl Outgoing {
    /// Of at most what may be spent. `length` is what the request says; another is an error.
    pub(crate) fn boxed(inner: Body, length: Option<u64>, account: Account, traffic: Arc<Traffic>) -> Body {
        BodyExt::boxed_unsync(Self { inner, left: length, account, traffic })
    }

    fn take(&mut self, data: Bytes) -> Result<Frame<Bytes>, Refusal> {
        let length = data.len() as u64;
        if let Some(left) = &mut self.left {
            *left = left.checked_sub(length).ok_or_else(|| other_length("longer"))?;
        }
        self.account.spend(Reason::BytesOut, length)?;
        self.traffic.sent.fetch_add(length, Ordering::Relaxed);
        Ok(Frame::data(data))
    }
}

fn other_length(what: &str) -> Refusal {
    Refusal::new(Reason::Form, format!("the request's body is {what} than it says"))
}

impl HttpBody for Outgoing {
    type Data = Bytes;
    type Error = Refusal;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Refusal>>> {
        let made = loop {
            match ready!(Pin::new(&mut self.inner).poll_frame(cx)) {
                None if self.left.is_none_or(|left| left == 0) => return Poll::Ready(None),
                None => break Err(other_length("shorter")),
                Some(Err(refusal)) => break Err(refusal),
                // Trailers are not passed on.
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        break self.take(data);
                    }
                }
            }
        };
        if let Err(refusal) = &made {
            let _ = self.traffic.trouble.set(refusal.clone());
        }
        Poll::Ready(Some(made))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream() && self.left.is_none_or(|left| left == 0)
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(|| self.inner.size_hint(), SizeHint::with_exact)
    }
}
