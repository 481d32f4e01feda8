//! A table of checks.

use super::escape;
use super::paint::{DIM, ERROR, GOOD, HINT, Paint};

/// One line of a table.
pub(crate) struct Row {
    /// Works, does not, or was not tried.
    pub(crate) good: Option<bool>,
    /// What it is about.
    pub(crate) name: String,
    /// What was found.
    pub(crate) found: String,
    /// What to do about it.
    pub(crate) hint: Option<String>,
}

/// The rows, aligned.
pub(crate) fn table(rows: &[Row]) -> String {
    let paint = Paint::stdout();
    let width = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for Row { good, name, found, hint } in rows {
        let mark = match good {
            Some(true) => paint.style(GOOD, "ok  "),
            Some(false) => paint.style(ERROR, "FAIL"),
            None => paint.style(DIM, "-   "),
        };
        text += format!("{mark}  {name:width$}  {}", escape::line(found)).trim_end();
        text.push('\n');
        if let Some(hint) = hint {
            text += &format!("      {:width$}  {} {}\n", "", paint.style(HINT, "hint:"), escape::line(hint));
        }
    }
    text
}
