//! The audit: one line of JSON for each use of what the rules refuse unless a command line allows it (S1-25), in a file that is
//! only ever appended to.
//!
//! The file is opened before anything is done. Where that fails, nothing is done that lifts every guard, nor anything else if
//! `DORMOUSE_AUDIT_FILE` names the file: who names one wants it written. Else a warning says that the use is not recorded.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::PathBuf;
use std::time::SystemTime;

use dormouse::{Error, ErrorCode, EvalRequest, Outcome, Result};
use serde_json::json;

use crate::settings::Exceptions;

/// The options that give a run a network.
const NETWORK: [&str; 2] = ["--allow-net", "--network"];
/// The variable that names the file.
const VARIABLE: &str = "DORMOUSE_AUDIT_FILE";

/// A line that will be written when the run has ended, however it ends.
pub(crate) struct Entry {
    file: File,
    line: serde_json::Value,
    /// Whether the command fails if the line cannot be written.
    needed: bool,
}

impl Entry {
    /// Opens the file for a command with these exceptions; none: there is nothing to record, or no place for it and it is
    /// said so.
    ///
    /// # Errors
    /// `internal` when the file that has to be written cannot be opened for appending.
    pub(crate) fn begin(command: &str, exceptions: &Exceptions) -> Result<Option<Self>> {
        if exceptions.options.is_empty() {
            return Ok(None);
        }
        let needed = exceptions.lift_all() || named().is_some();
        let file = match open() {
            Ok(file) => file,
            Err(error) if needed => return Err(error),
            Err(error) => {
                tracing::warn!(%error, "{} is not recorded", exceptions.options.join(", "));
                return Ok(None);
            }
        };
        let line = json!({
            "time": humantime::format_rfc3339_millis(SystemTime::now()).to_string(),
            "process": std::process::id(),
            "command": command,
            "exceptions": exceptions.options,
            "writable": exceptions.writable,
        });
        Ok(Some(Self { file, line, needed }))
    }

    /// Adds what is known of a snippet; nothing of its text.
    pub(crate) fn of_snippet(mut self, request: &EvalRequest, exceptions: &Exceptions) -> Self {
        self.line["unsafe"] = exceptions.lift_all().into();
        self.line["allow_writes"] = true.into();
        self.line["allow_network"] = exceptions.options.iter().any(|option| NETWORK.contains(option)).into();
        self.line["language"] = request.language.as_str().into();
        self.line["snippet_length"] = request.code.len().into();
        self
    }

    /// Writes the line of a run.
    ///
    /// # Errors
    /// As [`Entry::write`].
    pub(crate) fn end(mut self, outcome: &Result<Option<Outcome>>) -> Result<()> {
        let (ended, timed_out) = match outcome {
            Ok(Some(outcome)) => (outcome.exit_code().to_string(), outcome.timed_out()),
            Ok(None) => ("given up".into(), false),
            Err(error) => (error.code().as_str().into(), error.code() == ErrorCode::LimitTime),
        };
        self.line["ended"] = ended.into();
        self.line["timed_out"] = timed_out.into();
        self.write()
    }

    /// Writes the line, in one write.
    ///
    /// # Errors
    /// `internal` when it has to be written and cannot be: the disk may be full.
    fn write(mut self) -> Result<()> {
        match self.file.write_all(format!("{}\n", self.line).as_bytes()) {
            Err(error) if self.needed => Err(Error::internal("the audit line cannot be written", error)),
            Err(error) => {
                tracing::warn!(%error, "the audit line cannot be written");
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }
}

/// Records a command that is not one run: once, before it begins.
///
/// # Errors
/// As [`Entry::begin`] and [`Entry::write`].
pub(crate) fn note(command: &str, exceptions: &Exceptions) -> Result<()> {
    Entry::begin(command, exceptions)?.map_or(Ok(()), Entry::write)
}

fn open() -> Result<File> {
    let path = path()?;
    let failed = |error| {
        Error::internal(format!("the audit file `{}` cannot be written", path.display()), error)
            .with_hint(format!("options that lift restrictions are refused without a record; set {VARIABLE}"))
    };
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    }
    OpenOptions::new().append(true).create(true).mode(0o600).open(&path).map_err(failed)
}

/// What `$DORMOUSE_AUDIT_FILE` says.
fn named() -> Option<PathBuf> {
    std::env::var_os(VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// The folder for what is recorded of commands that keep nothing else: `dormouse` below `$XDG_STATE_HOME` or `~/.local/state`.
///
/// # Errors
/// `internal` without a home folder.
pub(crate) fn folder() -> Result<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_STATE_HOME")
        .or_else(|| Some(absolute("HOME")?.join(".local/state")))
        .map(|folder| folder.join("dormouse"))
        .ok_or_else(|| {
            Error::new(ErrorCode::Internal, "there is no place for the audit file: HOME is not set")
                .with_hint(format!("set {VARIABLE} to the path of a file, or name one with --network-audit"))
        })
}

/// `$DORMOUSE_AUDIT_FILE`, else `dormouse/audit.jsonl` below `$XDG_STATE_HOME` or `~/.local/state`.
fn path() -> Result<PathBuf> {
    if let Some(path) = named() {
        return std::path::absolute(&path)
            .map_err(|error| Error::internal(format!("`{VARIABLE}` names no file"), error));
    }
    folder().map(|folder| folder.join("audit.jsonl"))
}
