//! Where a hunk belongs in a file, and the file with it: at its line, else at the nearest place where it fits, else with
//! less and less of the lines around the change, as GNU's patch does.

use super::parse::{Hunk, Line};

/// A file on the way to what it becomes.
pub(super) struct Work<'a> {
    lines: Vec<&'a [u8]>,
    /// How many of them are done with.
    done: usize,
    result: Vec<u8>,
    /// How far the last hunk was from its line.
    shift: isize,
    /// How many lines the hunks before have added.
    grown: isize,
    ignore_space: bool,
}

/// A place that was found: a line, counted from 0, and how many lines of context were left out of account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    line: usize,
    pub(super) fuzz: usize,
}

/// What is said of a hunk that has found its place.
pub(super) struct Applied {
    pub(super) line: isize,
    pub(super) fuzz: usize,
    pub(super) shift: isize,
}

impl<'a> Work<'a> {
    pub(super) fn new(content: &'a [u8], ignore_space: bool) -> Self {
        let lines = content.split_inclusive(|byte| *byte == b'\n').collect();
        Self { lines, done: 0, result: Vec::with_capacity(content.len()), shift: 0, grown: 0, ignore_space }
    }

    /// Where a hunk fits with exactly so much fuzz.
    pub(super) fn place(&self, hunk: &Hunk<'_>, fuzz: usize) -> Option<Place> {
        let expected = hunk.expected();
        let guess = isize::try_from(hunk.old.start).ok()? - 1 + self.shift;
        if expected.is_empty() {
            let line = usize::try_from(guess).ok()?.min(self.lines.len());
            return (line >= self.done).then_some(Place { line, fuzz });
        }
        let (before, after) = hunk.context();
        let context = before.max(after);
        let last = self.lines.len().checked_sub(expected.len())?;
        let fits = |line: usize| {
            let from = (fuzz + before).saturating_sub(context).min(before);
            let to = expected.len() - (fuzz + after).saturating_sub(context).min(after);
            line >= self.done
                && line <= last
                && (from..to).all(|at| self.same(self.lines[line + at], expected[at]))
        };
        let found = if fuzz + before < context && hunk.old.start <= 1 {
            // Less before the change than after it: it is the begin of the file.
            Some(0).filter(|line| fits(*line))
        } else if fuzz + after < context {
            Some(last).filter(|line| fits(*line))
        } else {
            let farthest = last.max(guess.unsigned_abs());
            (0..=farthest).find_map(|away| {
                let at = |line: isize| usize::try_from(line).ok().filter(|line| fits(*line));
                let away = isize::try_from(away).ok()?;
                at(guess.checked_add(away)?).or_else(|| at(guess - away))
            })
        };
        found.map(|line| Place { line, fuzz })
    }

    fn same(&self, here: &[u8], there: &[u8]) -> bool {
        let words = |line: &[u8]| -> Vec<Vec<u8>> {
            line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).map(<[u8]>::to_vec).collect()
        };
        here == there || (self.ignore_space && words(here) == words(there))
    }

    /// Puts a hunk into its place. Lines around the change stay as the file has them.
    pub(super) fn apply(&mut self, hunk: &Hunk<'_>, place: Place) -> Applied {
        self.copy(place.line);
        for line in &hunk.lines {
            match line {
                Line::Both(_) => self.copy(self.done + 1),
                Line::Old(_) => self.done += 1,
                Line::New(text) => self.result.extend_from_slice(text),
            }
        }
        let signed = |count: usize| isize::try_from(count).unwrap_or(isize::MAX);
        self.shift = signed(place.line) + 1 - signed(hunk.old.start);
        let line = signed(place.line) + 1 + self.grown;
        self.grown += signed(hunk.new.count) - signed(hunk.old.count);
        Applied { line, fuzz: place.fuzz, shift: self.shift }
    }

    /// The line at which a hunk was looked for.
    pub(super) fn expected_at(&self, hunk: &Hunk<'_>) -> isize {
        isize::try_from(hunk.old.start).unwrap_or(isize::MAX).saturating_add(self.grown)
    }

    fn copy(&mut self, to: usize) {
        for line in self.lines.get(self.done..to).unwrap_or_default() {
            self.result.extend_from_slice(line);
        }
        self.done = self.done.max(to);
    }

    /// All of it, with what follows the last hunk.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.copy(self.lines.len());
        self.result
    }
}
