//! Everything that the process writes goes through here.

mod escape;
mod excerpt;
mod exception;
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
