//! Shows where in the source something happened: the line, its neighbours, and a mark under the column.

use super::escape;
use super::paint::{DIM, ERROR, Paint};

/// Columns shown of a line; a longer one is cut around the mark.
const WIDTH: usize = 100;
/// Columns of a tab.
const TAB: usize = 4;

/// The lines around `line` (from 1) of `source`, with a mark at `column` (in characters, from 1). None when the source
/// has no such line.
pub(crate) fn of_source(source: &str, line: u32, column: Option<u32>, paint: Paint) -> Option<String> {
    let at = usize::try_from(line).ok()?.checked_sub(1)?;
    let lines: Vec<&str> = source.lines().skip(at.saturating_sub(1)).take(3).collect();
    let mark = usize::from(at > 0);
    lines.get(mark)?;
    let first = line - u32::try_from(mark).ok()?;
    Some(draw(&lines, mark, first, column, paint))
}

/// One line alone, as an exception carries it.
pub(crate) fn of_line(text: &str, line: Option<u32>, column: Option<u32>, paint: Paint) -> String {
    draw(&[text], 0, line.unwrap_or(1), column, paint)
}

fn draw(lines: &[&str], mark: usize, first: u32, column: Option<u32>, paint: Paint) -> String {
    let wanted =
        column.and_then(|column| usize::try_from(column).ok()).map(|column| column.saturating_sub(1));
    let skip = wanted.unwrap_or(0).saturating_sub(WIDTH - WIDTH / 4);
    let last = u64::from(first) + lines.len() as u64 - 1;
    let gutter = last.to_string().len();
    let mut drawn = format!("{}\n", paint.style(DIM, &format!("{:gutter$} |", "")));
    for (index, text) in lines.iter().enumerate() {
        let number = u64::from(first) + index as u64;
        let window = window(text, skip);
        let head = paint.style(if index == mark { ERROR } else { DIM }, &format!("{number:gutter$} |"));
        drawn += format!("{head} {}", window.0).trim_end();
        drawn.push('\n');
        let Some(column) = wanted.filter(|column| index == mark && *column <= text.chars().count()) else {
            continue;
        };
        let before: usize = text.chars().take(column).skip(skip).map(columns).sum();
        let pad = before + usize::from(window.1);
        let head = paint.style(DIM, &format!("{:gutter$} |", ""));
        drawn += &format!("{head} {:pad$}{}\n", "", paint.style(ERROR, "^"));
    }
    drawn
}

/// The part of a line that is shown, and whether `…` stands before it.
fn window(text: &str, skip: usize) -> (String, bool) {
    let mut rest = text.chars().skip(skip);
    let mut shown = String::new();
    if skip > 0 {
        shown.push('…');
    }
    for c in rest.by_ref().take(WIDTH) {
        match c {
            '\t' => shown.push_str(&" ".repeat(TAB)),
            c => shown += &escape::line(c.encode_utf8(&mut [0; 4])),
        }
    }
    if rest.next().is_some() {
        shown.push('…');
    }
    (shown, skip > 0)
}

/// Columns that a character takes in our drawing.
fn columns(c: char) -> usize {
    match c {
        '\t' => TAB,
        '\u{300}'..='\u{36f}' | '\u{200b}'..='\u{200d}' | '\u{fe00}'..='\u{fe0f}' => 0,
        '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}' => 2,
        '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe6f}' | '\u{ff00}'..='\u{ff60}' => 2,
        '\u{1f300}'..='\u{1faff}' | '\u{20000}'..='\u{3fffd}' => 2,
        c => escape::line(c.encode_utf8(&mut [0; 4])).chars().count(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(source: &str, line: u32, column: Option<u32>) -> Option<String> {
        of_source(source, line, column, Paint::default())
    }

    #[test]
    fn the_mark_stands_under_the_column() {
        let source = "def f(x):\n    return int(x)\n\nf('a')";
        let drawn = "  |\n1 | def f(x):\n2 |     return int(x)\n  |            ^\n3 |\n";
        assert_eq!(plain(source, 2, Some(12)).unwrap(), drawn);
        assert_eq!(plain("a", 1, None).unwrap(), "  |\n1 | a\n");
        assert_eq!(plain("a", 1, Some(2)).unwrap(), "  |\n1 | a\n  |  ^\n");
    }

    #[test]
    fn tabs_and_wide_characters_keep_the_mark_in_place() {
        assert_eq!(plain("\tx", 1, Some(2)).unwrap(), "  |\n1 |     x\n  |     ^\n");
        assert_eq!(plain("漢字 = x", 1, Some(6)).unwrap(), "  |\n1 | 漢字 = x\n  |        ^\n");
    }

    #[test]
    fn numbers_of_different_length_align() {
        let source = "x\n".repeat(11);
        assert_eq!(plain(&source, 10, Some(1)).unwrap(), "   |\n 9 | x\n10 | x\n   | ^\n11 | x\n");
    }

    #[test]
    fn places_that_do_not_exist_show_nothing_or_no_mark() {
        for line in [0, 3, u32::MAX] {
            assert_eq!(plain("a\nb", line, Some(1)), None, "{line}");
        }
        assert_eq!(plain("ab", 1, Some(u32::MAX)).map(|drawn| drawn.contains('^')), Some(false));
        assert_eq!(plain("", 1, Some(1)), None);
    }

    #[test]
    fn a_very_long_line_is_cut_around_the_mark() {
        let source = format!("{}X{}", "a".repeat(5000), "b".repeat(5000));
        let drawn = plain(&source, 1, Some(5001)).unwrap();
        let lines: Vec<Vec<char>> = drawn.lines().map(|line| line.chars().collect()).collect();
        assert!(lines[1].len() < 120);
        let caret = lines[2].iter().position(|c| *c == '^').unwrap();
        assert_eq!(lines[1][caret], 'X');
    }

    #[test]
    fn controls_in_the_source_are_shown_as_signs() {
        assert!(plain("\x1b[31m", 1, None).unwrap().contains("␛[31m"));
    }
}
