//! Keeps what a guest wrote from steering the terminal (OUT-04): escape sequences, C0 and C1 controls and marks that
//! turn the direction of text are shown as visible signs. Newline and tab stay.

use std::fmt::Write as _;

/// The text, with visible signs instead of controls.
pub(crate) fn text(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    text.chars().for_each(|c| show(c, &mut shown));
    shown
}

/// The same for what must stay on one line: newline and tab become signs too.
pub(crate) fn line(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    for c in line.chars() {
        match c {
            '\n' => shown.push('␊'),
            '\t' => shown.push('␉'),
            _ => show(c, &mut shown),
        }
    }
    shown
}

/// The text as a JSON string, still valid JSON, that a terminal can show.
pub(crate) fn quoted(text: &str) -> String {
    let json = serde_json::Value::from(text).to_string();
    let mut shown = String::with_capacity(json.len());
    for c in json.chars() {
        if steers(c) {
            let _ = write!(shown, "\\u{:04x}", u32::from(c));
        } else {
            shown.push(c);
        }
    }
    shown
}

fn show(c: char, shown: &mut String) {
    match c {
        '\n' | '\t' => shown.push(c),
        '\0'..='\x1f' => shown.push(char::from_u32(0x2400 + u32::from(c)).unwrap_or(' ')),
        '\x7f' => shown.push('␡'),
        _ if steers(c) => {
            let _ = write!(shown, "\\u{{{:x}}}", u32::from(c));
        }
        _ => shown.push(c),
    }
}

/// DEL, C1 controls, line and paragraph separators, and marks that turn the direction of text.
fn steers(c: char) -> bool {
    matches!(c,
        '\x7f'..='\u{9f}' | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Does [`text`] for bytes that come piece by piece: a character cut between two pieces is put together again, and
/// what is no UTF-8 becomes U+FFFD.
#[derive(Default)]
pub(crate) struct Filter {
    /// The beginning of a character, at most 3 bytes.
    pending: Vec<u8>,
}

impl Filter {
    /// What can be shown after one more piece.
    pub(crate) fn push(&mut self, piece: &[u8]) -> String {
        let mut bytes = std::mem::take(&mut self.pending);
        bytes.extend_from_slice(piece);
        let cut = incomplete(&bytes);
        self.pending = bytes.split_off(bytes.len() - cut);
        text(&String::from_utf8_lossy(&bytes))
    }

    /// What is left at the end.
    pub(crate) fn end(&mut self) -> String {
        text(&String::from_utf8_lossy(&std::mem::take(&mut self.pending)))
    }
}

/// Bytes at the end that begin a character and may yet be completed.
fn incomplete(bytes: &[u8]) -> usize {
    let from = bytes.len().saturating_sub(3);
    let Some(lead) = bytes[from..].iter().rposition(|byte| !matches!(byte, 0x80..=0xbf)) else { return 0 };
    let tail = &bytes[from + lead..];
    match std::str::from_utf8(tail) {
        Err(error) if error.error_len().is_none() && error.valid_up_to() == 0 => tail.len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_become_signs() {
        for (raw, shown) in [
            ("plain ü 漢 🐭\n\tx", "plain ü 漢 🐭\n\tx"),
            ("\x1b]0;title\x07", "␛]0;title␇"),
            ("\x1b[31mred", "␛[31mred"),
            ("a\rb\x08c\0", "a␍b␈c␀"),
            ("\x7f\u{9b}31m", "\\u{7f}\\u{9b}31m"),
            ("\u{202e}abc\u{2066}", "\\u{202e}abc\\u{2066}"),
        ] {
            let expected = shown.replace("\\u{7f}", "␡");
            assert_eq!(text(raw), expected, "{raw:?}");
        }
        assert_eq!(line("a\nb\tc"), "a␊b␉c");
    }

    #[test]
    fn quoted_text_is_json_and_harmless() {
        let raw = "a\"\n\x1b[0m\u{9b}\u{202e}\x7f";
        let shown = quoted(raw);
        assert_eq!(shown, r#""a\"\n\u001b[0m\u009b\u202e\u007f""#);
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), raw);
    }

    #[test]
    fn pieces_give_what_the_whole_gives() {
        let whole = "é漢🐭\x1b[0m\u{202e}".as_bytes().to_vec();
        let broken = [&whole[..], b"\xff\xe6\xbc", b"x\xf0\x9f"].concat();
        for bytes in [whole, broken] {
            let expected = text(&String::from_utf8_lossy(&bytes));
            for size in 1..=bytes.len() {
                let mut filter = Filter::default();
                let mut shown: String = bytes.chunks(size).map(|piece| filter.push(piece)).collect();
                shown += &filter.end();
                assert_eq!(shown, expected, "pieces of {size}");
            }
        }
    }
}
