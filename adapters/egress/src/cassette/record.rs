//! Writing a recording, line by line as things happen.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dormouse_core::{Error, ErrorCode, Result};
use hyper::StatusCode;
use hyper::header::HeaderMap;

use crate::cassette::asked::Asked;
use crate::cassette::line::{Line, MAX_FILE, MAX_PIECE, MAX_REQUESTS, Octets, VERSION};
use crate::reason::{Reason, Refusal};

/// Bytes that are left for the last line.
const LAST: u64 = 1 << 10;

/// A recording that is made. It is whole when this is dropped.
#[derive(Debug)]
pub(super) struct Recorder {
    path: PathBuf,
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
        let told = |error: &dyn std::fmt::Display| {
            let told = format!("the recording `{}` cannot be written: {error}", path.display());
            Error::new(ErrorCode::StateUnavailable, told)
        };
        let file = File::options().read(true).write(true).create(true).truncate(false).mode(0o600).open(path);
        let file = file.map_err(|error| told(&error))?;
        if !is_recording(&file).map_err(|error| told(&error))? {
            let told = format!("`{}` is there, and is no recording", path.display());
            return Err(Error::new(ErrorCode::Conflict, told).with_hint("name a file that is not there"));
        }
        let emptied = file.set_len(0).and_then(|()| io::Seek::rewind(&mut &file));
        let private = emptied.and_then(|()| file.set_permissions(std::fs::Permissions::from_mode(0o600)));
        private.map_err(|error| told(&error))?;
        let file = Some(BufWriter::new(file));
        let mut lines = Lines { file, hash: blake3::Hasher::new(), size: 0, requests: 0, trouble: None };
        lines.write(&Line::Cassette { version: VERSION });
        Ok(Self { path: path.to_owned(), lines: Arc::new(Mutex::new(lines)) })
    }

    /// Writes a request down. Its answer goes to what is returned.
    pub(super) fn begin(&self, asked: &Asked, body: &[u8]) -> Tape {
        let about = asked.about(body);
        let mut lines = self.lines();
        lines.requests += 1;
        let number = lines.requests;
        lines.write(&Line::Request { number, about: std::borrow::Cow::Owned(about) });
        if lines.requests >= MAX_REQUESTS as u64 {
            lines.stop("it has as many requests as there may be");
        }
        drop(lines);
        Tape { lines: self.lines.clone(), number, is_open: true }
    }

    /// Writes the last line.
    pub(super) fn finish(&self) -> Result<()> {
        let mut lines = self.lines();
        lines.finish();
        match &lines.trouble {
            None => Ok(()),
            Some(told) => {
                let told = format!("the recording `{}` is not whole: {told}", self.path.display());
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

/// Whether a file is empty, or begins as a recording does.
fn is_recording(file: &File) -> io::Result<bool> {
    let mut first = Vec::new();
    BufReader::new(file).take(256).read_until(b'\n', &mut first)?;
    Ok(first.is_empty() || matches!(serde_json::from_slice(&first), Ok(Line::Cassette { .. })))
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

    fn finish(&mut self) {
        let blake3 = self.hash.finalize().to_hex();
        self.write(&Line::Whole { requests: self.requests, blake3: blake3.as_str().into() });
        if let Some(mut file) = self.file.take()
            && let Err(error) = file.flush()
        {
            self.stop(&error.to_string());
        }
    }
}

/// Takes the answer to one request. It is `cut` when this is dropped before its end.
pub(crate) struct Tape {
    lines: Arc<Mutex<Lines>>,
    number: u64,
    is_open: bool,
}

impl Tape {
    /// The head of the answer, as the guest sees it.
    pub(crate) fn head(&self, status: StatusCode, headers: &HeaderMap) {
        let headers = headers.iter();
        let headers =
            headers.map(|(name, value)| (name.as_str().into(), Octets::of(value.as_bytes()))).collect();
        self.write(&Line::Answer { number: self.number, status: status.as_u16(), headers });
    }

    /// Bytes of its body, as the guest sees them.
    pub(crate) fn piece(&self, bytes: &[u8]) {
        for bytes in bytes.chunks(MAX_PIECE) {
            self.write(&Line::Piece { number: self.number, bytes: Octets::of(bytes) });
        }
    }

    /// It is at its end.
    pub(crate) fn end(&mut self) {
        self.close(&Line::End { number: self.number, cut: false });
    }

    /// There was none, because of the network. What the gate itself refuses, it refuses again.
    pub(crate) fn failed(&mut self, refusal: &Refusal) {
        if is_of_network(refusal.reason) {
            let (reason, message) = (refusal.reason.word().into(), refusal.message.as_str().into());
            self.close(&Line::Failed { number: self.number, reason, message });
        } else {
            self.is_open = false;
        }
    }

    fn close(&mut self, line: &Line<'_>) {
        if self.is_open {
            self.is_open = false;
            self.write(line);
        }
    }

    fn write(&self, line: &Line<'_>) {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).write(line);
    }
}

impl Drop for Tape {
    fn drop(&mut self) {
        self.close(&Line::End { number: self.number, cut: true });
    }
}

/// Whether a failure is of the network, and would be another without it.
pub(super) fn is_of_network(reason: Reason) -> bool {
    use Reason::{Address, Encoding, Refused, Reset, TimedOut, UnknownName, Untrusted};
    matches!(reason, Address | Encoding | Refused | Reset | TimedOut | UnknownName | Untrusted)
}
