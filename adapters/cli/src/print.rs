//! Everything that the process writes goes through here.

mod escape;
mod exception;
mod excerpt;
mod layout;
mod live;
mod paint;
mod pretty;
mod table;
mod value;

pub(crate) use live::Live;
pub(crate) use pretty::{View, error, outcome};
pub(crate) use table::{Row, table};

use std::io::{self, Write as _};

/// Writes to standard output, at once.
pub(crate) fn out(text: &str) -> io::Result<()> {
    let mut stream = io::stdout().lock();
    stream.write_all(text.as_bytes())?;
    stream.flush()
}

/// Writes to standard error.
pub(crate) fn err(text: &str) -> io::Result<()> {
    io::stderr().lock().write_all(text.as_bytes())
}

/// Writes a remark to standard error.
pub(crate) fn note(text: &str) -> io::Result<()> {
    let head = paint::Paint::stderr().style(paint::HINT, "note:");
    err(&format!("{head} {}\n", escape::line(text)))
}
