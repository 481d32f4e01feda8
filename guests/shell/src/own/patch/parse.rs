//! Unified diffs, taken apart. Lines keep their ends, so that a last line without one is another line.

/// The changes of one file.
pub(super) struct FileDiff<'a> {
    /// The names of the old and the new file; none: `/dev/null`.
    pub(super) old: Option<String>,
    pub(super) new: Option<String>,
    /// The lines that lead to the hunks, from the first that is no hunk, and the number of the first hunk's.
    pub(super) lead: Vec<&'a [u8]>,
    pub(super) line: usize,
    pub(super) hunks: Vec<Hunk<'a>>,
}

/// A place of a file that changes.
#[derive(Clone, Default)]
pub(super) struct Hunk<'a> {
    pub(super) old: Range,
    pub(super) new: Range,
    pub(super) lines: Vec<Line<'a>>,
}

/// Where a hunk begins and how many lines it has there.
#[derive(Clone, Copy, Default)]
pub(super) struct Range {
    pub(super) start: usize,
    pub(super) count: usize,
}

/// A line of a hunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    Both(&'a [u8]),
    Old(&'a [u8]),
    New(&'a [u8]),
}

/// Without the end of a line.
pub(super) fn bare(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// All parts of a patch; what is between them is passed over.
pub(super) fn parse(patch: &[u8]) -> Result<Vec<FileDiff<'_>>, String> {
    let lines: Vec<&[u8]> = patch.split_inclusive(|byte| *byte == b'\n').collect();
    let (mut files, mut at, mut lead) = (Vec::new(), 0, 0);
    while at + 2 < lines.len() {
        let names = (name_after(lines[at], b"--- "), name_after(lines[at + 1], b"+++ "));
        let (Some(old), Some(new), true) = (names.0, names.1, lines[at + 2].starts_with(b"@@ -")) else {
            at += 1;
            continue;
        };
        at += 2;
        let (line, leading) = (at + 1, lines[lead..at].to_vec());
        let mut hunks = Vec::new();
        while let Some((old, new)) = lines.get(at).and_then(|line| ranges(line)) {
            at += 1;
            hunks.push(hunk(&lines, &mut at, old, new)?);
        }
        lead = at;
        files.push(FileDiff { old, new, lead: leading, line, hunks });
    }
    Ok(files)
}

/// The name in a line such as `--- a/file`, which a time may follow; the inner none is `/dev/null`.
fn name_after(line: &[u8], mark: &[u8]) -> Option<Option<String>> {
    let rest = bare(line.strip_prefix(mark)?);
    let name = rest.split(|byte| *byte == b'\t').next().unwrap_or(rest);
    let name = String::from_utf8_lossy(name).trim_end().to_owned();
    Some(Some(name).filter(|name| name != "/dev/null"))
}

/// `@@ -1,3 +1,4 @@`
fn ranges(line: &[u8]) -> Option<(Range, Range)> {
    let text = String::from_utf8_lossy(bare(line));
    let mut words = text.strip_prefix("@@ -")?.split(' ');
    let (old, new) = (words.next()?, words.next()?.strip_prefix('+')?);
    Some((range(old)?, range(new)?))
}

fn range(text: &str) -> Option<Range> {
    let (start, count) = text.split_once(',').unwrap_or((text, "1"));
    let (start, count) = (start.parse().ok()?, count.parse().ok()?);
    // The line before is named where there is none.
    Some(Range { start: if count == 0 { usize::saturating_add(start, 1) } else { start }, count })
}

fn hunk<'a>(lines: &[&'a [u8]], at: &mut usize, old: Range, new: Range) -> Result<Hunk<'a>, String> {
    let mut hunk = Hunk { old, new, lines: Vec::new() };
    let (mut olds, mut news) = (old.count, new.count);
    while olds > 0 || news > 0 {
        let Some(line) = lines.get(*at) else { return Err("unexpected end of file in patch".into()) };
        let bad = || format!("malformed patch at line {}: {}", *at + 1, String::from_utf8_lossy(bare(line)));
        let (first, rest) = line.split_first().ok_or_else(bad)?;
        match first {
            // An editor may have taken the blank of an empty line away.
            b' ' | b'\n' if olds > 0 && news > 0 => {
                hunk.lines.push(Line::Both(if *first == b' ' { rest } else { line }));
                (olds, news) = (olds - 1, news - 1);
            }
            b'-' if olds > 0 => {
                hunk.lines.push(Line::Old(rest));
                olds -= 1;
            }
            b'+' if news > 0 => {
                hunk.lines.push(Line::New(rest));
                news -= 1;
            }
            b'\\' => unended(&mut hunk.lines),
            _ => return Err(bad()),
        }
        *at += 1;
    }
    if lines.get(*at).is_some_and(|line| line.starts_with(b"\\")) {
        unended(&mut hunk.lines);
        *at += 1;
    }
    Ok(hunk)
}

/// `\ No newline at end of file`
fn unended(lines: &mut [Line<'_>]) {
    if let Some(Line::Both(text) | Line::Old(text) | Line::New(text)) = lines.last_mut() {
        *text = text.strip_suffix(b"\n").unwrap_or(text);
    }
}

impl<'a> Hunk<'a> {
    /// What leads back.
    pub(super) fn reversed(&self) -> Self {
        let turned = self.lines.iter().map(|line| match *line {
            Line::Both(text) => Line::Both(text),
            Line::Old(text) => Line::New(text),
            Line::New(text) => Line::Old(text),
        });
        Self { old: self.new, new: self.old, lines: turned.collect() }
    }

    /// The lines that have to be there.
    pub(super) fn expected(&self) -> Vec<&'a [u8]> {
        let lines = self.lines.iter().filter_map(|line| match *line {
            Line::Both(text) | Line::Old(text) => Some(text),
            Line::New(_) => None,
        });
        lines.collect()
    }

    /// How many lines before the first change and after the last one stay.
    pub(super) fn context(&self) -> (usize, usize) {
        let stays = |line: &&Line<'_>| matches!(line, Line::Both(_));
        (self.lines.iter().take_while(stays).count(), self.lines.iter().rev().take_while(stays).count())
    }

    /// As it stands in a patch.
    pub(super) fn text(&self) -> Vec<u8> {
        let range = |range: Range| match range {
            Range { start, count: 1 } => start.to_string(),
            Range { start, count: 0 } => format!("{},0", start - 1),
            Range { start, count } => format!("{start},{count}"),
        };
        let mut text = format!("@@ -{} +{} @@\n", range(self.old), range(self.new)).into_bytes();
        for line in &self.lines {
            let (mark, line) = match line {
                Line::Both(line) => (b' ', line),
                Line::Old(line) => (b'-', line),
                Line::New(line) => (b'+', line),
            };
            text.push(mark);
            text.extend_from_slice(line);
            if !line.ends_with(b"\n") {
                text.extend_from_slice(b"\n\\ No newline at end of file\n");
            }
        }
        text
    }
}
