//! What differs between two texts, line by line.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp};

/// How long the smallest difference is looked for; after that any will do.
const PATIENCE: Duration = Duration::from_secs(5);

/// What does not count as a difference.
#[derive(Default)]
pub(super) struct Ignored {
    pub(super) case: bool,
    pub(super) space_change: bool,
    pub(super) trailing_space: bool,
    pub(super) all_space: bool,
    pub(super) blank_lines: bool,
    pub(super) carriage_return: bool,
}

/// A text: its lines without their ends.
pub(super) struct Text<'a> {
    pub(super) lines: Vec<&'a [u8]>,
    /// The last line has no end.
    pub(super) open: bool,
}

impl<'a> Text<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        let open = !bytes.is_empty() && !bytes.ends_with(b"\n");
        if !open {
            lines.pop();
        }
        Self { lines, open }
    }

    /// Whether this is the last line and has no end.
    pub(super) fn is_open(&self, line: usize) -> bool {
        self.open && line + 1 == self.lines.len()
    }
}

/// Lines of the left text that lines of the right one stand for; one of both may be none.
pub(super) struct Change {
    pub(super) old: std::ops::Range<usize>,
    pub(super) new: std::ops::Range<usize>,
    ignored: bool,
}

impl Change {
    /// Whether it is a difference and not one that is ignored.
    pub(super) fn counts(&self) -> bool {
        !self.ignored
    }
}

/// All changes, in order.
pub(super) fn changes(texts: &[Text<'_>; 2], ignored: &Ignored) -> Vec<Change> {
    let mut known = HashMap::new();
    let [old, new] = texts.each_ref().map(|text| {
        let mut numbers = Vec::with_capacity(text.lines.len());
        for (at, line) in text.lines.iter().enumerate() {
            let spaces = ignored.all_space || ignored.space_change || ignored.trailing_space;
            let next = known.len();
            let key = (key(line, ignored), text.is_open(at) && !spaces);
            numbers.push(*known.entry(key).or_insert(next));
        }
        numbers
    });
    let found =
        similar::capture_diff_slices_deadline(Algorithm::Myers, &old, &new, Some(Instant::now() + PATIENCE));
    let mut changes: Vec<Change> = Vec::new();
    for operation in found {
        if matches!(operation, DiffOp::Equal { .. }) {
            continue;
        }
        let (from, to) = (operation.old_range(), operation.new_range());
        match changes.last_mut() {
            Some(last) if last.old.end == from.start && last.new.end == to.start => {
                (last.old.end, last.new.end) = (from.end, to.end);
            }
            _ => changes.push(Change { old: from, new: to, ignored: false }),
        }
    }
    slide(&mut changes, &old, &new);
    if ignored.blank_lines {
        for change in &mut changes {
            let mut lines =
                texts[0].lines[change.old.clone()].iter().chain(&texts[1].lines[change.new.clone()]);
            change.ignored = lines.all(|line| line.is_empty());
        }
    }
    changes
}

/// Lines that were only put in or only taken out could often be counted from several places; GNU's `diff` takes the
/// last one, and joins changes that meet.
fn slide(changes: &mut Vec<Change>, old: &[usize], new: &[usize]) {
    let mut at = 0;
    while at < changes.len() {
        let next =
            changes.get(at + 1).map_or((old.len(), new.len()), |next| (next.old.start, next.new.start));
        let change = &mut changes[at];
        let (lines, range, end) = match (change.old.is_empty(), change.new.is_empty()) {
            (true, false) => (new, change.new.clone(), next.1),
            (false, true) => (old, change.old.clone(), next.0),
            _ => {
                at += 1;
                continue;
            }
        };
        let steps = (0..end - range.end)
            .take_while(|step| lines[range.start + step] == lines[range.end + step])
            .count();
        for side in [&mut change.old, &mut change.new] {
            *side = side.start + steps..side.end + steps;
        }
        let (meets_old, meets_new) = (change.old.end == next.0, change.new.end == next.1);
        if steps > 0 && meets_old && meets_new && at + 1 < changes.len() {
            let after = changes.remove(at + 1);
            (changes[at].old.end, changes[at].new.end) = (after.old.end, after.new.end);
        } else {
            at += 1;
        }
    }
}

/// A line as it is compared.
fn key(line: &[u8], ignored: &Ignored) -> Vec<u8> {
    let mut line = line;
    if ignored.carriage_return {
        line = line.strip_suffix(b"\r").unwrap_or(line);
    }
    if ignored.trailing_space || ignored.space_change {
        line = line.trim_ascii_end();
    }
    let mut key = Vec::with_capacity(line.len());
    let mut spaces = false;
    for byte in line {
        let space = byte.is_ascii_whitespace() || *byte == 0x0b;
        match space {
            true if ignored.all_space => {}
            true if ignored.space_change => {
                if !spaces {
                    key.push(b' ');
                }
            }
            _ if ignored.case => key.push(byte.to_ascii_lowercase()),
            _ => key.push(*byte),
        }
        spaces = space;
    }
    key
}
