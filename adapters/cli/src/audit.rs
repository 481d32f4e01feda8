//! The audit of runs without guards: one line of JSON for each in a file that is only ever appended to (S1-25).
//!
//! The file is opened before the run, so that a run that cannot be recorded does not happen.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::PathBuf;
use std::time::SystemTime;

use dormouse::{Error, ErrorCode, EvalRequest, Outcome, Result};
use serde_json::json;

/// A line that will be written when the run has ended, however it ends.
pub(crate) struct Entry {
    file: File,
    line: serde_json::Value,
}

impl Entry {
    /// Opens the file.
    ///
    /// # Errors
    /// `internal` when it cannot be opened for appending.
    pub(crate) fn begin(request: &EvalRequest) -> Result<Self> {
        let path = path()?;
        let failed = |error| {
            Error::internal(format!("the audit file `{}` cannot be written", path.display()), error)
                .with_hint("a run without guards is not made without a record; set DORMOUSE_AUDIT_FILE")
        };
        if let Some(folder) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
        }
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(&path).map_err(failed)?;
        let line = json!({
            "time": humantime::format_rfc3339_millis(SystemTime::now()).to_string(),
            "unsafe": true,
            "allow_writes": true,
            "allow_network": false,
            "language": request.language.as_str(),
            "snippet_length": request.code.len(),
        });
        Ok(Self { file, line })
    }

    /// Writes the line, in one write.
    ///
    /// # Errors
    /// `internal` when it cannot be written: the disk may be full.
    pub(crate) fn end(mut self, outcome: &Result<Option<Outcome>>) -> Result<()> {
        let (ended, timed_out) = match outcome {
            Ok(Some(outcome)) => (outcome.exit_code().to_string(), outcome.timed_out()),
            Ok(None) => ("given up".into(), false),
            Err(error) => (error.code().as_str().into(), error.code() == ErrorCode::LimitTime),
        };
        self.line["ended"] = ended.into();
        self.line["timed_out"] = timed_out.into();
        self.file
            .write_all(format!("{}\n", self.line).as_bytes())
            .map_err(|error| Error::internal("the audit line cannot be written", error))
    }
}

/// `$DORMOUSE_AUDIT_FILE`, else `dormouse/audit.jsonl` below `$XDG_STATE_HOME` or `~/.local/state`.
fn path() -> Result<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("DORMOUSE_AUDIT_FILE")
        .or_else(|| Some(absolute("XDG_STATE_HOME")?.join("dormouse/audit.jsonl")))
        .or_else(|| Some(absolute("HOME")?.join(".local/state/dormouse/audit.jsonl")))
        .ok_or_else(|| {
            Error::new(ErrorCode::Internal, "there is no place for the audit file: HOME is not set")
                .with_hint("set DORMOUSE_AUDIT_FILE to an absolute path")
        })
}
