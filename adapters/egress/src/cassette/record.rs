//! Writing a recording, line by line as things happen.
//!
//! When a request is over, what was written so far is passed to the system with its hash: whoever is killed leaves a `.part` that can be
//! played as far as it goes.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dormouse_core::{Error, ErrorCode, Result};
use hyper::StatusCode;
use hyper::header::HeaderMap;

use crate::cassette::asked::Asked;
use crate::cassette::line::{Line, MAX_FILE, MAX_PIECE, MAX_REQUESTS, Octets, VERSION};
use crate::cassette::place::Place;
use crate::reason::{Reason, Refusal};
use crate::secrets::Washer;

/// Bytes that are left for the last line.
const LAST: u64 = 1 << 10;

/// A recording that is made. It is whole when this is dropped.
#[derive(Debug)]
pub(super) struct Recorder {
    place: Place,
    lines: Arc<Mutex<Lines>>,
}

#[derive(Debug)]
struct Lines {
    /// None: it is finished, or could not be written.
    file: Option<BufWriter<File>>,
    hash: blake3::Hasher,
    size: u64,
    requests: u64,
    /// What went wrong.
    trouble: Option<String>,
}

impl Recorder {
    pub(super) fn create(path: &Path) -> Result<Self> {
        let (place, file) = Place::take(path)?;
        let file = Some(BufWriter::new(file));
        let mut lines = Lines { file, hash: blake3::Hasher::new(), size: 0, requests: 0, trouble: None };
        lines.write(&Line::Cassette { version: VERSION });
        lines.keep();
        Ok(Self { place, lines: Arc::new(Mutex::new(lines)) })
    }

    /// Gets ready to end without the right to put one file in the place of another.
    pub(super) fn hold(&mut self) -> Result<()> {
        self.place.hold().map_err(|error| {
            let told = format!("the recording `{}` cannot be written: {error}", self.place.path().display());
            Error::new(ErrorCode::StateUnavailable, told)
        })
    }

    /// Writes a request down. Its answer goes to what is returned.
    pub(super) fn begin(&self, asked: &Asked, body: &[u8]) -> Tape {
        let about = asked.written(body);
        let mut lines = self.lines();
        lines.requests += 1;
        let number = lines.requests;
        lines.write(&Line::Request { number, about: std::borrow::Cow::Owned(about) });
        if lines.requests >= MAX_REQUESTS as u64 {
            lines.stop("it has as many requests as there may be");
        }
        drop(lines);
        Tape { lines: self.lines.clone(), number, is_open: true, washer: asked.values() }
    }

    /// Writes the last line, and puts the recording in its place. One without a request takes the place of none.
    pub(super) fn finish(&self) -> Result<()> {
        let mut lines = self.lines();
        let (path, part) = (self.place.path().display(), self.place.part().display());
        if lines.requests == 0 && self.place.is_taken() {
            if let Some(file) = lines.file.take() {
                tracing::warn!("nothing was asked of the network, so the recording `{path}` is as it was");
                let _ = self.place.discard(file.get_ref());
            }
            return Ok(());
        }
        if let Some(file) = lines.seal()
            && let Err(error) = self.place.settle(&file)
        {
            lines.stop(&error.to_string());
        }
        match &lines.trouble {
            None => Ok(()),
            Some(told) => {
                let told = format!(
                    "the recording `{path}` is not whole: {told}; what there is of it is in `{part}`"
                );
                Err(Error::new(ErrorCode::StateUnavailable, told))
            }
        }
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if let Err(error) = self.finish() {
            tracing::error!("{error}");
        }
    }
}

impl Lines {
    fn write(&mut self, line: &Line<'_>) {
        let Some(file) = &mut self.file else { return };
        let written = serde_json::to_vec(line).map_err(io::Error::from).and_then(|mut bytes| {
            bytes.push(b'\n');
            self.size += bytes.len() as u64;
            self.hash.update(&bytes);
            file.write_all(&bytes)
        });
        match written {
            Err(error) => self.stop(&error.to_string()),
            Ok(()) if self.size > MAX_FILE - LAST => self.stop("it is as large as one may be"),
            Ok(()) => {}
        }
    }

    /// Writes no more.
    fn stop(&mut self, told: &str) {
        tracing::error!("the recording of the network ends here: {told}");
        self.file = None;
        self.trouble = Some(told.to_owned());
    }

    /// Passes what was written to the system, with the hash of it.
    fn keep(&mut self) {
        let blake3 = self.hash.finalize().to_hex();
        self.write(&Line::Kept { blake3: blake3.as_str().into() });
        if let Some(Err(error)) = self.file.as_mut().map(BufWriter::flush) {
            self.stop(&error.to_string());
        }
    }

    /// Writes the last line; the file.
    fn seal(&mut self) -> Option<File> {
        let blake3 = self.hash.finalize().to_hex();
        self.write(&Line::Whole { requests: self.requests, blake3: blake3.as_str().into() });
        match self.file.take()?.into_inner() {
            Ok(file) => Some(file),
            Err(error) => {
                self.stop(&error.error().to_string());
                None
            }
        }
    }
}

/// Takes the answer to one request. It is `cut` when this is dropped before its end.
pub(crate) struct Tape {
    lines: Arc<Mutex<Lines>>,
    number: u64,
    is_open: bool,
    /// What finds values of secrets, where a server was not washed of them: it may repeat what a program wrote itself.
    washer: Option<Washer>,
}

impl Tape {
    /// The head of the answer, as the guest sees it.
    pub(crate) fn head(&self, status: StatusCode, headers: &HeaderMap) {
        let washed = self.washer.as_ref().map(|washer| {
            let mut headers = headers.clone();
            washer.headers(&mut headers);
            headers
        });
        let headers = washed.as_ref().unwrap_or(headers).iter();
        let headers =
            headers.map(|(name, value)| (name.as_str().into(), Octets::of(value.as_bytes()))).collect();
        self.write(&Line::Answer { number: self.number, status: status.as_u16(), headers });
    }

    /// Bytes of its body, as the guest sees them.
    pub(crate) fn piece(&mut self, bytes: &[u8]) {
        match self.washer.as_mut().map(|washer| washer.push(bytes)) {
            Some(washed) => self.pieces(&washed),
            None => self.pieces(bytes),
        }
    }

    fn pieces(&self, bytes: &[u8]) {
        for bytes in bytes.chunks(MAX_PIECE) {
            self.write(&Line::Piece { number: self.number, bytes: Octets::of(bytes) });
        }
    }

    /// It is at its end.
    pub(crate) fn end(&mut self) {
        self.close(false);
    }

    /// There was none, because of the network. What the gate itself refuses, it refuses again.
    pub(crate) fn failed(&mut self, refusal: &Refusal) {
        if is_of_network(refusal.reason) {
            let (reason, message) = (refusal.reason.word().into(), refusal.message.as_str().into());
            self.over(&Line::Failed { number: self.number, reason, message });
        } else {
            self.is_open = false;
        }
    }

    fn close(&mut self, cut: bool) {
        if !self.is_open {
            return;
        }
        let rest = self.washer.as_mut().map(Washer::end).unwrap_or_default();
        self.pieces(&rest);
        self.over(&Line::End { number: self.number, cut });
    }

    fn over(&mut self, line: &Line<'_>) {
        self.is_open = false;
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.write(line);
        lines.keep();
    }

    fn write(&self, line: &Line<'_>) {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).write(line);
    }
}

impl Drop for Tape {
    fn drop(&mut self) {
        self.close(true);
    }
}

/// Whether a failure is of the network, and would be another without it.
pub(super) fn is_of_network(reason: Reason) -> bool {
    use Reason::{Address, Encoding, Refused, Reset, TimedOut, UnknownName, Untrusted};
    matches!(reason, Address | Encoding | Refused | Reset | TimedOut | UnknownName | Untrusted)
}
