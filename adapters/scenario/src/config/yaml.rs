//! YAML to values. Unknown fields, duplicate keys and several documents are errors; what a file can cost is bounded.

use std::io::Read as _;
use std::path::Path;

use dormouse_core::{Error, ErrorCode, Result};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::{Location, Spanned};

/// Largest file, in bytes (1 MiB).
pub const MAX_FILE: usize = 1 << 20;
/// Values of one file.
const MAX_NODES: usize = 50_000;
/// Values that aliases may repeat.
const MAX_REPEATED: usize = 10_000;
/// Characters of a parser's message that are shown.
const MAX_MESSAGE: usize = 500;

/// What a document says that it is.
#[derive(Deserialize)]
struct Headed {
    kind: Option<Spanned<String>>,
}

/// A file's text, as it is called in errors.
pub(super) struct Source {
    /// Its path, as it was named.
    pub(super) name: String,
    text: String,
}

impl Source {
    /// Reads a file.
    ///
    /// # Errors
    /// `args_invalid` when it cannot be read or is no UTF-8, `too_large` above 1 MiB.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let unreadable = |error: std::io::Error| {
            let why = match error.kind() {
                std::io::ErrorKind::NotFound => "is not there",
                std::io::ErrorKind::PermissionDenied => "may not be read",
                std::io::ErrorKind::InvalidData => "is not UTF-8",
                _ => "cannot be read",
            };
            Error::args_invalid(format!("the file `{name}` {why}"))
                .with_hint("name a YAML file")
                .with_source(error)
        };
        let mut text = String::new();
        let file = std::fs::File::open(path).map_err(unreadable)?;
        file.take(MAX_FILE as u64 + 1).read_to_string(&mut text).map_err(unreadable)?;
        Self::new(name, text)
    }

    /// A text that is there already.
    ///
    /// # Errors
    /// `too_large` above 1 MiB.
    pub(super) fn new(name: String, text: String) -> Result<Self> {
        if text.len() > MAX_FILE {
            return Err(Error::new(
                ErrorCode::TooLarge,
                format!("the file `{name}` has more than {MAX_FILE} bytes"),
            )
            .with_hint("put data into files that the turns read"));
        }
        Ok(Self { name, text })
    }

    /// The document's `kind`, `Arena` where it has none.
    pub(super) fn kind(&self) -> Result<String> {
        let headed: Headed = self.parse()?;
        Ok(headed.kind.map_or_else(|| "Arena".into(), |kind| kind.value))
    }

    /// The document as a value.
    ///
    /// # Errors
    /// `args_invalid` with file, line and column.
    pub(super) fn parse<T: DeserializeOwned>(&self) -> Result<T> {
        let options = serde_saphyr::options! {
            budget: serde_saphyr::budget! {
                max_nodes: MAX_NODES,
                max_events: MAX_NODES * 3,
                max_aliases: 1_000,
                max_anchors: 1_000,
                max_recorded_anchor_events: MAX_NODES,
                max_recorded_anchor_bytes: 4 * MAX_FILE,
                max_documents: 1,
                max_total_scalar_bytes: 4 * MAX_FILE,
                max_depth: 32,
                flow_nesting_limit: 32,
            },
            alias_limits: serde_saphyr::alias_limits! {
                max_total_replayed_events: MAX_REPEATED,
                max_replay_stack_depth: 8,
                max_alias_expansions_per_anchor: 1_000,
            },
            strict_booleans: true,
            reject_unsupported_tags: true,
            reject_tagged_field_names: true,
            with_snippet: false,
        };
        serde_saphyr::from_str_with_options(&self.text, options).map_err(|error| {
            let message = told(&error);
            self.error(error.location(), &message)
        })
    }

    /// An error at a place of the file.
    pub(super) fn error(&self, at: Option<Location>, message: &str) -> Error {
        let place = match at.filter(|at| at.line() > 0) {
            Some(at) => format!("{}:{}:{}", self.name, at.line(), at.column()),
            None => self.name.clone(),
        };
        Error::args_invalid(format!("{place}: {message}")).with_hint("docs/scenarios.md describes the files")
    }

    /// A place of the file, as `FILE:LINE:COLUMN`.
    pub(super) fn place(&self, at: Location) -> String {
        format!("{}:{}:{}", self.name, at.line(), at.column())
    }

    /// The same error, with its place in the file before its text.
    pub(super) fn placed(&self, at: Location, error: &Error) -> Error {
        let placed = format!("{}: {}", self.place(at), error.message());
        let new = Error::new(error.code(), placed);
        match error.hint() {
            Some(hint) => new.with_hint(hint),
            None => new,
        }
    }
}

/// What the parser says, in words for people: without its own form of the place, on one line, bounded.
fn told(error: &serde_saphyr::Error) -> String {
    let whole = error.render_with_formatter(&serde_saphyr::UserMessageFormatter);
    let line = whole.lines().next().unwrap_or_default();
    let line = line.split_once(" at line ").map_or(line, |(before, _)| before);
    let words = match error.without_snippet() {
        serde_saphyr::Error::Budget { breach: BudgetBreach::Documents { .. }, .. } => {
            "a file has one document"
        }
        serde_saphyr::Error::Budget { .. } => {
            "the file has too many values, or is nested too deep, or repeats too much"
        }
        serde_saphyr::Error::InvalidScalar { ty, .. } if ty.starts_with('u') => {
            "expected a whole number, not below 0"
        }
        _ => line,
    };
    words.chars().map(|char| if char.is_control() { ' ' } else { char }).take(MAX_MESSAGE).collect()
}
