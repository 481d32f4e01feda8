//! Colours, where the reader wants them: `NO_COLOR`, `CLICOLOR_FORCE`, `TERM` and terminals are honoured.

use std::io::{self, IsTerminal as _};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};

/// What went wrong.
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
/// What works.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
/// What to do about it.
pub(crate) const HINT: Style = AnsiColor::Cyan.on_default().bold();
/// What is beside the point.
pub(crate) const DIM: Style = Style::new().dimmed();
/// Numbers.
pub(crate) const NUMBER: Style = AnsiColor::Cyan.on_default();
/// Text.
pub(crate) const TEXT: Style = AnsiColor::Green.on_default();
/// Words of the language, such as `true`.
pub(crate) const WORD: Style = AnsiColor::Yellow.on_default();
/// Nothing particular.
pub(crate) const PLAIN: Style = Style::new();

/// What one of our two streams can show.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Paint {
    /// Colours are wanted.
    pub(crate) color: bool,
    /// Somebody looks at it.
    pub(crate) terminal: bool,
}

impl Paint {
    /// Standard output.
    pub(crate) fn stdout() -> Self {
        let stream = io::stdout();
        Self { color: AutoStream::choice(&stream) != ColorChoice::Never, terminal: stream.is_terminal() }
    }

    /// Standard error.
    pub(crate) fn stderr() -> Self {
        let stream = io::stderr();
        Self { color: AutoStream::choice(&stream) != ColorChoice::Never, terminal: stream.is_terminal() }
    }

    /// The text in that style, or bare.
    pub(crate) fn style(self, style: Style, text: &str) -> String {
        if self.color && style != PLAIN && !text.is_empty() {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }
}
