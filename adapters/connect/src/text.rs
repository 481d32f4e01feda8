//! Texts of servers, fit to be shown: data, whatever they say.

/// Whether a character is not seen, or changes how others are seen.
fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// A text with what is not seen made visible, as `\u{202e}`; line ends stay. At most `most` characters of it, and then `...`.
pub(crate) fn visible(text: &str, most: usize) -> String {
    let mut shown = String::new();
    for (at, c) in text.chars().filter(|c| *c != '\r').enumerate() {
        if at == most {
            shown.push_str("...");
            break;
        }
        match c {
            '\n' => shown.push('\n'),
            '\t' => shown.push_str("    "),
            c if c.is_control() || is_hidden(c) => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    shown
}

/// The same on one line.
pub(crate) fn line(text: &str, most: usize) -> String {
    // What is cut anyway is not looked at.
    let start: String = text.trim_start().chars().take(most * 2 + 64).collect();
    visible(&start.split_whitespace().collect::<Vec<_>>().join(" "), most)
}

/// The same, whose lines begin with `indent`, blank ones at the end left out.
pub(crate) fn indented(text: &str, most: usize, indent: &str) -> String {
    let shown = visible(text.trim(), most);
    let lines: Vec<String> =
        shown.lines().map(|line| format!("{indent}{line}").trim_end().to_owned()).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_seen_is_made_visible() {
        assert_eq!(visible("a\u{202e}b\u{0}\r\n\tc\u{e0041}", 99), "a\\u{202e}b\\u{0}\n    c\\u{e0041}");
        assert_eq!(visible("abcdef", 3), "abc...");
        assert_eq!(line(" a\n\n b\tc ", 99), "a b c");
        assert_eq!(indented("a\n\nb\n", 99, "  "), "  a\n\n  b");
    }
}
