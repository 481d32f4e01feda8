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
pub(crate) use pretty::{Lasting, Null, View, error, outcome, raised, recovered, size};
pub(crate) use table::{Row, table};

use std::io::{self, BufRead as _, IsTerminal as _, Read as _, Write as _};

/// Writes to standard output, at once.
pub(crate) fn out(text: &str) -> io::Result<()> {
    let mut stream = io::stdout().lock();
    stream.write_all(text.as_bytes())?;
    stream.flush()
}

/// A text in which a guest had a part, with visible signs in the place of what steers a terminal (OUT-04).
pub(crate) fn visible(text: &str) -> String {
    escape::text(text)
}

/// Writes to standard error.
pub(crate) fn err(text: &str) -> io::Result<()> {
    io::stderr().lock().write_all(text.as_bytes())
}

/// Asks a question whose only consent is `yes`. Where nobody can answer, the answer is no.
pub(crate) fn confirm(question: &str) -> io::Result<bool> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Ok(false);
    }
    err(&format!("{} [yes/no] ", escape::line(question)))?;
    let mut answer = String::new();
    io::stdin().lock().take(16).read_line(&mut answer)?;
    Ok(answer.trim() == "yes")
}

/// Writes a remark to standard error.
pub(crate) fn note(text: &str) -> io::Result<()> {
    let head = paint::Paint::stderr().style(paint::HINT, "note:");
    err(&format!("{head} {}\n", escape::line(text)))
}

/// Writes a warning to standard error.
pub(crate) fn warning(text: &str) -> io::Result<()> {
    let head = paint::Paint::stderr().style(paint::WORD, "warning:");
    err(&format!("{head} {}\n", escape::line(text)))
}
