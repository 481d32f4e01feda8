//! Reading a recording, and answering from it.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use dormouse_core::{Error, ErrorCode, Result};
use hyper::StatusCode;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};

use crate::cassette::asked::{About, Asked, Key};
use crate::cassette::line::{Line, MAX_FILE, MAX_REQUESTS, VERSION};
use crate::cassette::missing;
use crate::cassette::place::{to_read, unfinished};
use crate::cassette::record::is_of_network;
use crate::reason::{Reason, Refusal};

/// A recording that is played.
#[derive(Debug)]
pub(super) struct Player {
    answers: HashMap<Key, Turns>,
}

/// The answers to one request, and how many were given.
#[derive(Debug, Default)]
struct Turns {
    answers: Vec<Ended>,
    given: AtomicUsize,
}

/// How a request ended.
#[derive(Debug)]
enum Ended {
    Answered(Replayed),
    Failed(Refusal),
}

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct Replayed {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) pieces: Pieces,
}

/// The body of an answer.
#[derive(Clone, Debug)]
pub(crate) struct Pieces {
    all: Arc<[Bytes]>,
    next: usize,
    /// Whether it breaks off.
    cut: bool,
}

impl Pieces {
    /// Whether nothing comes any more.
    pub(crate) fn is_end(&self) -> bool {
        self.next == self.all.len() && !self.cut
    }

    /// The next one; none at the end.
    ///
    /// # Errors
    /// `reset` where the answer broke off.
    pub(crate) fn take(&mut self) -> Option<std::result::Result<Bytes, Refusal>> {
        let piece = self.all.get(self.next).cloned();
        self.next += usize::from(piece.is_some());
        match piece {
            Some(piece) => Some(Ok(piece)),
            None if self.cut => {
                Some(Err(Refusal::new(Reason::Reset, "the answer broke off when it was recorded")))
            }
            None => None,
        }
    }
}

impl Player {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let told = |told: String| {
            Error::args_invalid(format!("the recording `{}`: {told}", path.display()))
                .with_hint("record it again: a recording is played as it was written, or not at all")
        };
        let missing = |error: io::Error| {
            let told = format!("the recording `{}` cannot be read: {error}", path.display());
            let code = match error.kind() {
                io::ErrorKind::InvalidInput => ErrorCode::ArgsInvalid,
                _ => ErrorCode::NotFound,
            };
            let error = Error::new(code, told);
            unfinished(path).into_iter().fold(error, |error, hint| error.with_hint(hint))
        };
        let file = to_read(path).map_err(missing)?;
        if file.metadata().map_err(missing)?.len() > MAX_FILE {
            return Err(told(format!("it has more than {MAX_FILE} bytes")));
        }
        let (player, left_out) = Reading::all(BufReader::new(file)).map_err(|error| {
            let error = told(error);
            unfinished(path).into_iter().fold(error, |error, hint| error.with_hint(hint))
        })?;
        if let Some(played) = left_out {
            tracing::warn!(
                "the recording `{}` was not finished: what is whole in it is played (answers: {played}), and nothing else",
                path.display()
            );
        }
        Ok(player)
    }

    /// The next answer to a request.
    ///
    /// # Errors
    /// `not_recorded`, or why there was none when it was recorded.
    pub(super) fn answer(&self, asked: &Asked, body: &[u8]) -> std::result::Result<Replayed, Refusal> {
        let about = asked.about(body);
        let turns = self.answers.get(&about.key()).ok_or_else(|| missing(&format!("the request {about}")))?;
        let turn = turns.given.fetch_add(1, Ordering::Relaxed).min(turns.answers.len().saturating_sub(1));
        match turns.answers.get(turn) {
            Some(Ended::Answered(answer)) => Ok(answer.clone()),
            Some(Ended::Failed(refusal)) => Err(refusal.clone()),
            None => Err(missing(&format!("the request {about}"))),
        }
    }
}

/// A request while its lines are read.
struct Open {
    about: About,
    head: Option<(StatusCode, HeaderMap)>,
    pieces: Vec<Bytes>,
    ended: Option<Ended>,
    /// Whether a hash says that it ended so.
    is_kept: bool,
}

/// A recording while it is read.
#[derive(Default)]
struct Reading {
    /// By the numbers of the requests, from 1 on.
    requests: Vec<Open>,
    /// Numbers of those that ended since the last hash.
    fresh: Vec<u64>,
    is_whole: bool,
}

impl Reading {
    /// What is played; of a recording that was not finished, with how many answers those are.
    fn all(mut file: impl BufRead) -> std::result::Result<(Player, Option<usize>), String> {
        let mut reading = Self::default();
        let mut hash = blake3::Hasher::new();
        let mut bytes = Vec::new();
        let mut at = 0_u64;
        loop {
            bytes.clear();
            // The file has a bound, so a line has.
            let read = file.by_ref().take(MAX_FILE).read_until(b'\n', &mut bytes);
            if read.map_err(|error| format!("it cannot be read: {error}"))? == 0 {
                break;
            }
            at += 1;
            let wrong = |told: &str| format!("line {at}: {told}");
            if reading.is_whole {
                return Err(wrong("something stands behind its end"));
            }
            if !bytes.ends_with(b"\n") {
                // Whoever wrote it was killed meanwhile.
                break;
            }
            let line: Line<'_> =
                serde_json::from_slice(&bytes).map_err(|_| wrong("it is no line of a recording"))?;
            let is_first = matches!(line, Line::Cassette { version: 1..=VERSION });
            if is_first != (at == 1) {
                return Err(wrong(&format!("it is no recording of a version from 1 to {VERSION}")));
            }
            if let Line::Whole { blake3, requests } = &line {
                if *blake3 != hash.finalize().to_hex().as_str() || *requests != reading.requests.len() as u64
                {
                    return Err(wrong("it was changed after it had been recorded"));
                }
                reading.is_whole = true;
            }
            if let Line::Kept { blake3 } = &line {
                if *blake3 != hash.finalize().to_hex().as_str() {
                    return Err(wrong("it was changed after it had been recorded"));
                }
                reading.keep();
            }
            hash.update(&bytes);
            reading.line(line).map_err(wrong)?;
        }
        if reading.is_whole {
            return Ok((reading.player(), None));
        }
        reading.requests.retain(|open| open.is_kept);
        match reading.requests.len() {
            0 => Err("it was cut, or is not finished, and no answer in it is whole".into()),
            played => Ok((reading.player(), Some(played))),
        }
    }

    /// What ended so far is as it was written.
    fn keep(&mut self) {
        for number in std::mem::take(&mut self.fresh) {
            let at = usize::try_from(number - 1).ok();
            if let Some(open) = at.and_then(|at| self.requests.get_mut(at)) {
                open.is_kept = true;
            }
        }
    }

    fn line(&mut self, line: Line<'_>) -> std::result::Result<(), &'static str> {
        match line {
            Line::Cassette { .. } | Line::Kept { .. } | Line::Whole { .. } => {}
            Line::Request { number, about } => {
                if number != self.requests.len() as u64 + 1 || self.requests.len() >= MAX_REQUESTS {
                    return Err("there are too many requests, or they are out of order");
                }
                let about = about.into_owned();
                self.requests.push(Open {
                    about,
                    head: None,
                    pieces: Vec::new(),
                    ended: None,
                    is_kept: false,
                });
            }
            Line::Answer { number, status, headers } => {
                let open = self
                    .open(number)
                    .filter(|open| open.head.is_none())
                    .ok_or("it is no request's answer")?;
                let status = StatusCode::from_u16(status).map_err(|_| "it has no status")?;
                let mut map = HeaderMap::new();
                for (name, value) in headers {
                    let value = value.bytes().and_then(|value| HeaderValue::from_bytes(&value).ok());
                    let name = HeaderName::try_from(&*name).ok();
                    let (name, value) = name.zip(value).ok_or("it has no headers")?;
                    map.append(name, value);
                }
                open.head = Some((status, map));
            }
            Line::Piece { number, bytes } => {
                let open =
                    self.open(number).filter(|open| open.head.is_some()).ok_or("it is no answer's piece")?;
                open.pieces.push(bytes.bytes().ok_or("it is no base64")?.into());
            }
            Line::End { number, cut } => {
                let open = self.open(number).ok_or("it is no request's end")?;
                open.end(cut);
                self.fresh.push(number);
            }
            Line::Failed { number, reason, message } => {
                let reason = Reason::of(&reason)
                    .filter(|reason| is_of_network(*reason))
                    .ok_or("there is no such reason")?;
                let open =
                    self.open(number).filter(|open| open.head.is_none()).ok_or("it is no request's end")?;
                open.ended = Some(Ended::Failed(Refusal::new(reason, message)));
                self.fresh.push(number);
            }
        }
        Ok(())
    }

    /// A request that has not ended.
    fn open(&mut self, number: u64) -> Option<&mut Open> {
        let at = usize::try_from(number.checked_sub(1)?).ok()?;
        self.requests.get_mut(at).filter(|open| open.ended.is_none())
    }

    fn player(self) -> Player {
        let mut answers: HashMap<Key, Turns> = HashMap::new();
        for mut open in self.requests {
            // One that was not over when the recording was finished.
            open.end(true);
            if let Some(ended) = open.ended {
                answers.entry(open.about.key()).or_default().answers.push(ended);
            }
        }
        Player { answers }
    }
}

impl Open {
    /// An answer that has a head ends; without one there was none.
    fn end(&mut self, cut: bool) {
        if let (None, Some((status, headers))) = (&self.ended, self.head.take()) {
            let pieces = Pieces { all: std::mem::take(&mut self.pieces).into(), next: 0, cut };
            self.ended = Some(Ended::Answered(Replayed { status, headers, pieces }));
        }
    }
}
