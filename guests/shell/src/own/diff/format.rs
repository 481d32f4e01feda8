//! How changes are written.

use std::ops::Range;

use super::compare::{Change, Text};

const NO_NEWLINE: &[u8] = b"\\ No newline at end of file\n";
/// The width of a tab.
const TAB: usize = 8;

#[derive(Default)]
enum Kind {
    #[default]
    Normal,
    Unified(usize),
    Context(usize),
    SideBySide,
    /// Every line by its own pattern: of lines taken out, put in, and kept.
    Lines(String, String, String),
}

/// How changes are written.
pub(super) struct Format {
    kind: Kind,
    width: usize,
    only_changes: bool,
    left_column: bool,
}

impl Default for Format {
    fn default() -> Self {
        Self { kind: Kind::Normal, width: 130, only_changes: false, left_column: false }
    }
}

type Out = Vec<u8>;

impl Format {
    pub(super) fn unified(&mut self, lines: usize) {
        self.kind = Kind::Unified(lines);
    }

    pub(super) fn context(&mut self, lines: usize) {
        self.kind = Kind::Context(lines);
    }

    pub(super) fn side_by_side(&mut self) {
        self.kind = Kind::SideBySide;
    }

    pub(super) fn width(&mut self, columns: usize) {
        self.width = columns;
    }

    pub(super) fn only_changes(&mut self) {
        self.only_changes = true;
    }

    pub(super) fn left_column(&mut self) {
        self.left_column = true;
    }

    pub(super) fn lines(&mut self, old: Option<String>, new: Option<String>, kept: Option<String>) {
        if !matches!(self.kind, Kind::Lines(..)) {
            self.kind = Kind::Lines("%L".into(), "%L".into(), "%L".into());
        }
        let Kind::Lines(of_old, of_new, of_kept) = &mut self.kind else { return };
        for (pattern, given) in [(of_old, old), (of_new, new), (of_kept, kept)] {
            if let Some(given) = given {
                *pattern = given;
            }
        }
    }

    /// Whether files that do not differ are shown all the same.
    pub(super) fn shows_equal_files(&self) -> bool {
        matches!(self.kind, Kind::SideBySide | Kind::Lines(..))
    }

    pub(super) fn write(&self, out: &mut Out, texts: &[Text<'_>; 2], changes: &[Change], titles: [&str; 2]) {
        match &self.kind {
            Kind::Normal => {
                changes.iter().filter(|change| change.counts()).for_each(|one| normal(out, texts, one))
            }
            Kind::Unified(around) => {
                out.extend(format!("--- {}\n+++ {}\n", titles[0], titles[1]).bytes());
                hunks(texts, changes, *around).for_each(|hunk| unified(out, texts, &hunk));
            }
            Kind::Context(around) => {
                out.extend(format!("*** {}\n--- {}\n", titles[0], titles[1]).bytes());
                hunks(texts, changes, *around).for_each(|hunk| context(out, texts, &hunk));
            }
            Kind::SideBySide => self.columns(out, texts, changes),
            Kind::Lines(old, new, kept) => by_lines(out, texts, changes, [old, new, kept]),
        }
    }

    fn columns(&self, out: &mut Out, texts: &[Text<'_>; 2], changes: &[Change]) {
        let second = (self.width + TAB + 3) / (2 * TAB) * TAB;
        let half = second.saturating_sub(3).min(self.width.saturating_sub(second));
        let row = |out: &mut Out, left: Option<usize>, mark: char, right: Option<usize>| {
            let mut column = left.map_or(0, |line| cell(out, texts[0].lines[line], half));
            if mark != ' ' {
                column = tab_to(out, column, (half + second - 1) / 2) + 1;
                out.push(mark as u8);
            }
            if let Some(line) = right
                && !texts[1].lines[line].is_empty()
            {
                tab_to(out, column, second);
                cell(out, texts[1].lines[line], half);
            }
            out.push(b'\n');
        };
        let same = |out: &mut Out, old: Range<usize>, new: usize| {
            for (step, line) in old.enumerate().filter(|_| !self.only_changes) {
                match self.left_column {
                    true => row(out, Some(line), '(', None),
                    false => row(out, Some(line), ' ', Some(new + step)),
                }
            }
        };
        let (mut old, mut new) = (0, 0);
        for change in changes {
            same(out, old..change.old.start, new);
            let pairs = change.old.len().min(change.new.len());
            let counted = if change.counts() { '|' } else { ' ' };
            (0..pairs)
                .for_each(|at| row(out, Some(change.old.start + at), counted, Some(change.new.start + at)));
            (change.old.start + pairs..change.old.end).for_each(|line| row(out, Some(line), '<', None));
            (change.new.start + pairs..change.new.end).for_each(|line| row(out, None, '>', Some(line)));
            (old, new) = (change.old.end, change.new.end);
        }
        same(out, old..texts[0].lines.len(), new);
    }
}

/// Changes that stand together, and the lines around them.
struct Hunk<'a> {
    old: Range<usize>,
    new: Range<usize>,
    changes: &'a [Change],
}

fn hunks<'a>(texts: &[Text<'_>; 2], changes: &'a [Change], around: usize) -> impl Iterator<Item = Hunk<'a>> {
    let ends = (texts[0].lines.len(), texts[1].lines.len());
    let near = move |a: &Change, b: &Change| b.old.start - a.old.end <= around.saturating_mul(2);
    changes.chunk_by(near).filter(|group| group.iter().any(Change::counts)).filter_map(move |group| {
        let (first, last) = (group.first()?, group.last()?);
        let before = around.min(first.old.start);
        let after = around.min(ends.0 - last.old.end);
        Some(Hunk {
            old: first.old.start - before..last.old.end + after,
            new: first.new.start - before..last.new.end + after,
            changes: group,
        })
    })
}

fn line(out: &mut Out, mark: &str, text: &Text<'_>, at: usize) {
    out.extend_from_slice(mark.as_bytes());
    out.extend_from_slice(text.lines[at]);
    out.push(b'\n');
    if text.is_open(at) {
        out.extend_from_slice(NO_NEWLINE);
    }
}

/// `3` or `3,5`; of no lines the one before them.
fn span(range: &Range<usize>) -> String {
    match range.len() {
        0 => range.start.to_string(),
        1 => range.end.to_string(),
        _ => format!("{},{}", range.start + 1, range.end),
    }
}

fn normal(out: &mut Out, texts: &[Text<'_>; 2], change: &Change) {
    let verb = match (change.old.is_empty(), change.new.is_empty()) {
        (true, _) => 'a',
        (_, true) => 'd',
        _ => 'c',
    };
    out.extend(format!("{}{verb}{}\n", span(&change.old), span(&change.new)).bytes());
    change.old.clone().for_each(|at| line(out, "< ", &texts[0], at));
    if verb == 'c' {
        out.extend_from_slice(b"---\n");
    }
    change.new.clone().for_each(|at| line(out, "> ", &texts[1], at));
}

fn unified(out: &mut Out, texts: &[Text<'_>; 2], hunk: &Hunk<'_>) {
    let span = |range: &Range<usize>| match range.len() {
        0 => format!("{},0", range.start),
        1 => range.end.to_string(),
        lines => format!("{},{lines}", range.start + 1),
    };
    out.extend(format!("@@ -{} +{} @@\n", span(&hunk.old), span(&hunk.new)).bytes());
    let mut at = hunk.old.start;
    for change in hunk.changes {
        (at..change.old.start).for_each(|at| line(out, " ", &texts[0], at));
        change.old.clone().for_each(|at| line(out, "-", &texts[0], at));
        change.new.clone().for_each(|at| line(out, "+", &texts[1], at));
        at = change.old.end;
    }
    (at..hunk.old.end).for_each(|at| line(out, " ", &texts[0], at));
}

/// Its lines on one side, and those on the other.
type Sides = fn(&Change) -> (&Range<usize>, &Range<usize>);

fn context(out: &mut Out, texts: &[Text<'_>; 2], hunk: &Hunk<'_>) {
    out.extend_from_slice(b"***************\n");
    let sides: [(&Range<usize>, Sides, &str, [&str; 2]); 2] = [
        (&hunk.old, |change| (&change.old, &change.new), "- ", ["***", "****"]),
        (&hunk.new, |change| (&change.new, &change.old), "+ ", ["---", "----"]),
    ];
    for (text, (range, of, mark, stars)) in texts.iter().zip(sides) {
        out.extend(format!("{} {} {}\n", stars[0], span(range), stars[1]).bytes());
        if hunk.changes.iter().all(|change| of(change).0.is_empty()) {
            continue;
        }
        let mut at = range.start;
        for change in hunk.changes {
            let (own, others) = of(change);
            (at..own.start).for_each(|at| line(out, "  ", text, at));
            let mark = if others.is_empty() { mark } else { "! " };
            own.clone().for_each(|at| line(out, mark, text, at));
            at = own.end;
        }
        (at..range.end).for_each(|at| line(out, "  ", text, at));
    }
}

fn by_lines(out: &mut Out, texts: &[Text<'_>; 2], changes: &[Change], patterns: [&str; 3]) {
    let one = |out: &mut Out, pattern: &str, text: &Text<'_>, at: usize| {
        let mut rest = pattern;
        while let Some((before, after)) = rest.split_once('%') {
            out.extend_from_slice(before.as_bytes());
            let kind = after.chars().next().unwrap_or('%');
            match kind {
                'L' | 'l' => {
                    out.extend_from_slice(text.lines[at]);
                    if kind == 'L' && !text.is_open(at) {
                        out.push(b'\n');
                    }
                }
                'd' => out.extend((at + 1).to_string().bytes()),
                _ => out.push(b'%'),
            }
            let used = if after.starts_with("dn") { 2 } else { kind.len_utf8() };
            rest = after.get(used..).unwrap_or_default();
        }
        out.extend_from_slice(rest.as_bytes());
    };
    let mut at = 0;
    for change in changes {
        (at..change.old.start).for_each(|at| one(out, patterns[2], &texts[0], at));
        change.old.clone().for_each(|at| one(out, patterns[0], &texts[0], at));
        change.new.clone().for_each(|at| one(out, patterns[1], &texts[1], at));
        at = change.old.end;
    }
    (at..texts[0].lines.len()).for_each(|at| one(out, patterns[2], &texts[0], at));
}

/// A cell of a row, cut at `width` columns; the answer is the column it ends in.
fn cell(out: &mut Out, line: &[u8], width: usize) -> usize {
    let mut column = 0;
    for letter in String::from_utf8_lossy(line).chars() {
        let next = if letter == '\t' { (column / TAB + 1) * TAB } else { column + 1 };
        if next > width {
            break;
        }
        out.extend(letter.encode_utf8(&mut [0; 4]).bytes());
        column = next;
    }
    column
}

/// Tabs and spaces from one column to another.
fn tab_to(out: &mut Out, from: usize, to: usize) -> usize {
    let mut at = from;
    while (at / TAB + 1) * TAB <= to {
        out.push(b'\t');
        at = (at / TAB + 1) * TAB;
    }
    out.extend(std::iter::repeat_n(b' ', to.saturating_sub(at)));
    at.max(to)
}
