//! The audit: a file of lines of JSON, for the operator alone. No request leaves without its line.
//!
//! A request that is refused has one line, `refused`. One that leaves has a line `sent`, written before a name is looked up, and a line
//! `ended` when its answer is over; both have the same number. So what a crash or a full disk cuts off is known to have left. One that is
//! answered from a recording does not leave, and has one line, `replayed`.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, FileTypeExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use dormouse_core::{Error, ErrorCode, Result};
use serde::Serialize;

use crate::reason::Reason;

/// Where lines are written.
#[derive(Debug)]
pub struct Audit {
    file: Option<Mutex<Lines>>,
    next: AtomicU64,
}

#[derive(Debug)]
struct Lines {
    file: File,
    /// Whether the last line was cut.
    cut: bool,
}

/// A line.
#[derive(Debug, Serialize)]
pub(crate) struct Line<'a> {
    /// When, in UTC.
    pub(crate) time: String,
    /// `sent`, `ended`, `refused` or `replayed`.
    pub(crate) event: &'static str,
    /// The request's number since the process began.
    pub(crate) request: u64,
    pub(crate) owner: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sandbox: Option<&'a str>,
    pub(crate) run: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) language: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) method: &'a str,
    pub(crate) protocol: &'static str,
    pub(crate) host: &'a str,
    pub(crate) port: u16,
    /// Without the query.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rule: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) address: Option<String>,
    /// Further addresses of the name, outside of the public internet: a rule names them all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) addresses: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<u16>,
    pub(crate) bytes_out: u64,
    pub(crate) bytes_in: u64,
    pub(crate) ms: f64,
    /// Names of the secrets that were put in.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) secrets: &'a [String],
    /// How often a value was masked in the answer.
    pub(crate) masked: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<Reason>,
}

impl Audit {
    /// Appends to a file, which nobody but its owner can read from here on. It is made if there is none.
    ///
    /// # Errors
    /// `state_unavailable` for one that cannot be written.
    pub fn file(path: &Path) -> Result<Self> {
        let told = |error: io::Error| {
            Error::new(
                ErrorCode::StateUnavailable,
                format!("the audit `{}` cannot be written: {error}", path.display()),
            )
        };
        if std::fs::metadata(path).is_ok_and(|about| about.file_type().is_fifo()) {
            // To open it would wait for somebody who reads.
            return Err(told(io::Error::new(io::ErrorKind::InvalidInput, "it is a pipe")));
        }
        let file = File::options().append(true).create(true).mode(0o600).open(path).map_err(told)?;
        let about = file.metadata().map_err(told)?;
        if about.is_file() && about.permissions().mode() & 0o077 != 0 {
            file.set_permissions(std::fs::Permissions::from_mode(0o600)).map_err(told)?;
        }
        // A full disk, or a process that was killed, may have cut the last line.
        let last = || -> io::Result<u8> {
            let mut byte = [0];
            File::open(path)?.read_exact_at(&mut byte, about.len() - 1)?;
            Ok(byte[0])
        };
        let cut = about.is_file() && about.len() > 0 && last().is_ok_and(|byte| byte != b'\n');
        Ok(Self { file: Some(Mutex::new(Lines { file, cut })), next: AtomicU64::new(1) })
    }

    /// Writes nothing: the operator wants none.
    pub fn none() -> Self {
        Self { file: None, next: AtomicU64::new(1) }
    }

    /// The number of a request.
    pub(crate) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Writes a line, as a whole or not at all as far as the file system does.
    pub(crate) fn write(&self, line: &Line<'_>) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        let mut lines = file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if lines.cut {
            bytes.insert(0, b'\n');
        }
        let written = lines.file.write_all(&bytes);
        lines.cut = written.is_err();
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn net_32_a_line_that_was_cut_is_ended_by_who_opens_the_file_next() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        for (there, cut) in [("", false), ("{}\n", false), ("{\"ev", true)] {
            std::fs::write(&path, there).unwrap();
            let audit = Audit::file(&path).unwrap();
            assert_eq!(audit.file.unwrap().lock().unwrap().cut, cut, "{there:?}");
        }
    }
}
