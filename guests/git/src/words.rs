//! The words of a command line: options with and without values, in their short and long forms, and everything else.

use std::collections::VecDeque;

use crate::context::{Failure, Result};
use crate::usage;

/// The words that are left.
pub(crate) struct Words {
    rest: VecDeque<String>,
    /// Short options that take a value.
    valued: &'static str,
    /// The value that was written to a long option with `=`.
    inline: Option<String>,
    /// `--` was seen.
    marked: bool,
}

/// One word.
pub(crate) enum Word {
    /// An option with its dashes, such as `-m` or `--message`; its value is asked for by [`Words::value`].
    Option(String),
    Plain(String),
}

impl Words {
    pub(crate) fn new(words: impl IntoIterator<Item = String>, valued: &'static str) -> Self {
        Self { rest: words.into_iter().collect(), valued, inline: None, marked: false }
    }

    /// The next word. After `--` all words are plain.
    pub(crate) fn next(&mut self) -> Option<Word> {
        self.inline = None;
        let word = self.rest.pop_front()?;
        if self.marked || word == "-" || !word.starts_with('-') {
            return Some(Word::Plain(word));
        }
        if word == "--" {
            self.marked = true;
            return self.next();
        }
        if let Some(long) = word.strip_prefix("--") {
            if let Some((name, value)) = long.split_once('=') {
                self.inline = Some(value.to_owned());
                return Some(Word::Option(format!("--{name}")));
            }
            return Some(Word::Option(word));
        }
        Some(Word::Option(self.short(word)))
    }

    /// The first of the options in a word such as `-am` or `-n3`; the others go back. A number stays whole.
    fn short(&mut self, word: String) -> String {
        let letters = &word[1..];
        let Some(first) = letters.chars().next() else { return word };
        let others = &letters[first.len_utf8()..];
        if others.is_empty() || first.is_ascii_digit() {
            return word;
        }
        if self.valued.contains(first) {
            self.inline = Some(others.to_owned());
        } else {
            self.rest.push_front(format!("-{others}"));
        }
        format!("-{first}")
    }

    /// The value of the option that came last.
    pub(crate) fn value(&mut self, option: &str) -> Result<String> {
        let next = || self.rest.pop_front();
        self.inline.take().or_else(next).ok_or_else(|| {
            Failure::new(
                129,
                format!("error: option `{}' requires a value\n", option.trim_start_matches('-')),
            )
        })
    }

    /// The value that was written to it with `=`.
    pub(crate) fn inline(&mut self) -> Option<String> {
        self.inline.take()
    }

    /// Whether `--` was seen, after which only paths come.
    pub(crate) fn marked(&self) -> bool {
        self.marked
    }
}

/// An option that a command does not have here.
pub(crate) fn unknown<T>(command: &str, option: &str) -> Result<T> {
    let usage = usage::of(command);
    let bare = option.trim_start_matches('-');
    let kind = if option.starts_with("--") { "option" } else { "switch" };
    Err(Failure::new(129, format!("error: unknown {kind} `{bare}'\nusage here: git {usage}\n")))
}

/// A whole number.
pub(crate) fn number(option: &str, text: &str) -> Result<usize> {
    text.parse().map_err(|_| Failure::fatal(format!("{option}: '{text}' is not a number")))
}
