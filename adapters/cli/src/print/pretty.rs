//! The end of a run and failures, for people: the value on standard output, everything else on standard error.

use std::fmt::Write as _;
use std::io;
use std::time::Duration;

use anstyle::Style;
use dormouse::{Captured, Error, Exception, Language, Outcome, Status, Usage, Value};

use super::exception::{Source, exception};
use super::live::Ends;
use super::paint::{DIM, ERROR, HINT, Paint};
use super::{err, escape, out, value};
use crate::words;

/// How to get what is too long to be shown, out of a sandbox that lasts.
const IN_A_FILE: &str = "write it into a file of the sandbox and copy that with `dormouse sandbox cp`";

/// Bytes shown of one cause.
const CAUSE: usize = 300;

/// What the reader knows about a run already.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    /// The name of the snippet.
    pub(crate) name: &'a str,
    /// Its text.
    pub(crate) code: &'a str,
    /// Items skipped of the outermost container.
    pub(crate) offset: u32,
    /// How a null value is shown. None: not at all.
    pub(crate) null: Option<Null>,
    /// Time and memory even where nobody looks.
    pub(crate) verbose: bool,
    /// What ran it in a sandbox that lasts. None: it ran in one of its own.
    pub(crate) lasting: Option<Lasting>,
}

/// What a sandbox keeps from one run to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lasting {
    /// The interpreter of a language.
    Interpreter,
    /// The shell.
    Shell,
}

impl<'a> View<'a> {
    /// The whole of what a snippet of this name and text came to; a null value is not shown.
    pub(crate) fn new(name: &'a str, code: &'a str) -> Self {
        Self { name, code, offset: 0, null: None, verbose: false, lasting: None }
    }
}

/// How a value is shown that says nothing but that it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Null {
    /// The language's own word for it.
    word: &'static str,
    /// Whether it is shown even where the output is no terminal.
    always: bool,
}

impl Null {
    /// As a language calls it.
    pub(crate) fn of(language: &Language, always: bool) -> Self {
        let word = match language.as_str() {
            "python" => "None",
            "php" => "NULL",
            _ => "null",
        };
        Self { word, always }
    }
}

/// Prints how a run ended, after its output has been shown.
pub(crate) fn outcome(outcome: &Outcome, view: &View<'_>, ends: Ends) -> io::Result<()> {
    let (stdout, stderr) = (Paint::stdout(), Paint::stderr());
    let mut notes = String::new();
    match &outcome.status {
        Status::Returned(value) => {
            if let Some(shown) = shown(value, view, stdout) {
                let open = if ends.stdout_open { "\n" } else { "" };
                out(&format!("{open}{shown}\n"))?;
                notes += &cut_text(value, view, stdout);
            }
        }
        Status::Raised(raised) => {
            notes += &exception(raised, Source { name: view.name, text: view.code }, stderr);
        }
        Status::Exited(_) => {}
        Status::Stopped(error) => notes += &failure(error, stderr),
    }
    notes += &dropped("stdout", &outcome.stdout, view);
    notes += &dropped("stderr", &outcome.stderr, view);
    notes += &lost(outcome, view);
    notes +=
        &outcome.warning.as_ref().map(|warning| told("warning", HINT, warning, stderr)).unwrap_or_default();
    if view.verbose || (stdout.terminal && stderr.terminal) {
        let _ = writeln!(notes, "{}", stderr.style(DIM, &usage(&outcome.usage)));
    }
    if notes.is_empty() {
        return Ok(());
    }
    err(&format!("{}{notes}", if ends.stderr_open { "\n" } else { "" }))
}

/// Prints an exception of a program whose source is not here, on standard error.
pub(crate) fn raised(raised: &Exception, name: &str) -> io::Result<()> {
    err(&exception(raised, Source { name, text: "" }, Paint::stderr()))
}

/// Prints a failure as `error[code]: message`, its causes and its hint, on standard error.
pub(crate) fn error(error: &Error) -> io::Result<()> {
    err(&failure(error, Paint::stderr()))
}

fn failure(error: &Error, paint: Paint) -> String {
    told("error", ERROR, error, paint)
}

fn told(what: &str, style: Style, error: &Error, paint: Paint) -> String {
    let head = paint.style(style, &format!("{what}[{}]:", error.code()));
    let mut text = format!("{head} {}\n", escape::text(error.message()));
    let mut cause = std::error::Error::source(error);
    let mut told = error.message().to_owned();
    while let Some(source) = cause {
        let next = source.to_string();
        // What has been said already, with a place before it or as it is, is said once.
        if !told.ends_with(&next) {
            let shown: String = escape::line(&next).chars().take(CAUSE).collect();
            let _ = writeln!(text, "{} {shown}", paint.style(DIM, "cause:"));
        }
        told = next;
        cause = source.source();
    }
    if let Some(hint) = error.hint() {
        let hint = words::in_commands(hint);
        let _ = writeln!(text, "{} {}", paint.style(HINT, "hint:"), escape::text(&hint));
    }
    text
}

/// A value: with its type for a terminal; else text as it is, and everything else on one line. A null value only where the
/// view says so.
fn shown(value: &Value, view: &View<'_>, paint: Paint) -> Option<String> {
    let offset = u64::from(view.offset);
    let tree = match value {
        Value::Null { undefined, .. } => {
            let null = view.null.filter(|null| null.always || paint.terminal)?;
            value::word(if *undefined { "undefined" } else { null.word })
        }
        Value::String { value, .. } if !paint.terminal => return Some(value.clone()),
        _ => value::tree(value, offset),
    };
    if !paint.terminal {
        return Some(tree.inline(paint));
    }
    Some(format!("= {}  {}", tree.block(paint, 2), paint.style(DIM, &value::summary(value))))
}

/// Says that text which stands there as it is was cut; everywhere else a mark stands in the value.
fn cut_text(value: &Value, view: &View<'_>, paint: Paint) -> String {
    match value {
        Value::String { value, truncated: true, length } if !paint.terminal => {
            let whole = length.map(|length| format!(" of {length}")).unwrap_or_default();
            let way = if view.lasting.is_some() { IN_A_FILE } else { "print it, with a larger --output" };
            format!("note: the value was cut after {}{whole} bytes; {way}\n", value.len())
        }
        _ => String::new(),
    }
}

fn dropped(name: &str, stream: &Captured, view: &View<'_>) -> String {
    let way = if view.lasting.is_some() { IN_A_FILE } else { "see --output" };
    match stream.dropped_bytes {
        0 => String::new(),
        bytes => format!("note: {bytes} more bytes of {name} were dropped; {way}\n"),
    }
}

/// Says what a run of a sandbox that lasts began with, or left, where that is not what came before it.
fn lost(outcome: &Outcome, view: &View<'_>) -> String {
    let what = match view.lasting {
        Some(Lasting::Shell) => "the shell",
        _ => "the interpreter",
    };
    let mut told = String::new();
    if let Some(recovery) = outcome.recovery {
        told += &recovered(what, recovery.as_str(), outcome.recovery_reason.as_deref());
    }
    if !outcome.closed_files.is_empty() {
        let files = escape::line(&outcome.closed_files.join(", "));
        let _ = writeln!(told, "note: these files were open and could not be opened again: {files}");
    }
    told
}

/// The note for a recovery by its word on the wire.
pub(crate) fn recovered(what: &str, recovery: &str, reason: Option<&str>) -> String {
    let state = match recovery {
        "before_run" => "as before this run",
        "earlier" => "as before an earlier run; what came since is lost",
        _ => "fresh, without the variables of before",
    };
    let why = reason.map(|reason| format!(" ({})", escape::line(reason))).unwrap_or_default();
    format!("note: {what} is {state}{why}\n")
}

/// `0.8 ms · 31.2 MiB peak`.
fn usage(usage: &Usage) -> String {
    let mut text = format!("{} · {} peak", time(usage.wall), size(usage.memory_peak));
    if let Some(fuel) = usage.fuel {
        let _ = write!(text, " · {fuel} fuel");
    }
    if usage.disk_written > 0 {
        let _ = write!(text, " · {} written", size(usage.disk_written));
    }
    text
}

/// A duration with three or fewer digits that matter.
pub(super) fn time(wall: Duration) -> String {
    let ms = wall.as_secs_f64() * 1e3;
    match ms {
        _ if ms < 1.0 => format!("{ms:.2} ms"),
        _ if ms < 100.0 => format!("{ms:.1} ms"),
        _ if ms < 1e3 => format!("{ms:.0} ms"),
        _ => format!("{:.2} s", ms / 1e3),
    }
}

/// A number of bytes for people.
pub(crate) fn size(bytes: u64) -> String {
    // Tenths, in whole numbers: exact for every size.
    let tenths = |unit: u64| format!("{}.{}", bytes / unit, bytes % unit * 10 / unit);
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} KiB", tenths(1 << 10)),
        1_048_576..10_737_418_240 => format!("{} MiB", tenths(1 << 20)),
        _ => format!("{} GiB", tenths(1 << 30)),
    }
}

#[cfg(test)]
#[path = "pretty_tests.rs"]
mod tests;
