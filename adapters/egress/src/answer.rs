//! Bodies on their way back: counted, washed, and their connection kept when they are over.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use futures::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Body as _, Frame, Incoming};

use crate::budget::Held;
use crate::cassette::{Pieces, Tape};
use crate::gate::Door;
use crate::note::Note;
use crate::reason::{Reason, Refusal};
use crate::secrets::Washer;
use crate::upstream::{Body, Place, Wire, broken};

/// Longest silence of a server within an answer.
const SILENCE: Duration = Duration::from_secs(120);
/// Time for a connection to be ready for another request, after an answer.
const READY: Duration = Duration::from_millis(500);

/// Where an answer's body comes from.
pub(crate) enum Source {
    Server(Incoming),
    Recording(Pieces),
}

impl Source {
    /// Whether nothing comes any more, as far as is known.
    fn is_end(&self) -> bool {
        match self {
            Self::Server(body) => body.is_end_stream(),
            Self::Recording(pieces) => pieces.is_end(),
        }
    }

    /// Bytes, and empty ones for trailers, which are not passed on. None at the end.
    async fn next(&mut self, place: &Place) -> Option<Result<Bytes, Refusal>> {
        match self {
            Self::Recording(pieces) => pieces.take(),
            Self::Server(body) => Some(match body.frame().await? {
                Ok(frame) => Ok(frame.into_data().unwrap_or_default()),
                Err(_) => Err(broken(&place.host)),
            }),
        }
    }
}

/// An answer's body, and what belongs to it while it lasts.
pub(crate) struct Answering {
    pub(crate) body: Source,
    /// What writes it down.
    pub(crate) tape: Option<Tape>,
    pub(crate) washer: Option<Washer>,
    pub(crate) wire: Option<Wire>,
    pub(crate) place: Place,
    pub(crate) held: Option<Held>,
    pub(crate) door: Door,
    pub(crate) note: Note,
    /// Whether it is over.
    pub(crate) over: bool,
}

impl Answering {
    /// As a body for whoever asked.
    pub(crate) async fn into_body(mut self) -> Body {
        if self.body.is_end() {
            self.finish().await;
            return crate::body::empty();
        }
        let pieces = stream::unfold(self, |mut answering| async move {
            let piece = answering.next().await?;
            Some((piece, answering))
        });
        BodyExt::boxed_unsync(StreamBody::new(pieces))
    }

    async fn next(&mut self) -> Option<Result<Frame<Bytes>, Refusal>> {
        while !self.over {
            let until = self.door.until(SILENCE);
            let piece = match tokio::time::timeout_at(until, self.body.next(&self.place)).await {
                Err(_) => {
                    let told = format!("`{}` was silent for too long within its answer", self.place.host);
                    Err(Refusal::new(Reason::TimedOut, told))
                }
                Ok(Some(Err(refusal))) => Err(refusal),
                Ok(Some(Ok(data))) => self.take(data).await,
                Ok(None) => {
                    let rest = self.washer.as_mut().map(Washer::end).unwrap_or_default();
                    self.record(&rest);
                    self.finish().await;
                    Ok(rest.into())
                }
            };
            match piece {
                Ok(piece) if piece.is_empty() => {}
                Ok(piece) => return Some(Ok(Frame::data(piece))),
                Err(refusal) => {
                    self.over = true;
                    self.tape = None;
                    self.wire = None;
                    self.held = None;
                    return Some(Err(self.note.refused(refusal)));
                }
            }
        }
        None
    }

    async fn take(&mut self, data: Bytes) -> Result<Bytes, Refusal> {
        let length = data.len() as u64;
        self.door.0.account.spend(Reason::BytesIn, length)?;
        self.note.traffic.came.fetch_add(length, Ordering::Relaxed);
        // A body of known length is not asked for its end.
        let is_last = self.body.is_end();
        let passed: Bytes = match &mut self.washer {
            None => data,
            Some(washer) => {
                let before = washer.found;
                let mut passed = washer.push(&data);
                self.note.masked += washer.found - before;
                if is_last {
                    passed.extend(washer.end());
                }
                passed.into()
            }
        };
        self.record(&passed);
        if is_last {
            self.finish().await;
        }
        Ok(passed)
    }

    fn record(&mut self, passed: &[u8]) {
        if let Some(tape) = &mut self.tape {
            tape.piece(passed);
        }
    }

    /// Keeps the connection before whoever asked has the last byte: the next request is to find it.
    async fn finish(&mut self) {
        self.over = true;
        if let Some(mut tape) = self.tape.take() {
            tape.end();
        }
        self.held = None;
        if let Some(mut wire) = self.wire.take()
            && tokio::time::timeout(READY, wire.sender.ready()).await.is_ok_and(|ready| ready.is_ok())
        {
            self.door.0.way.keep(self.place.clone(), wire);
        }
        self.note.ended();
    }
}
