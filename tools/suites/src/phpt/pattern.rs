//! What the sections EXPECT, EXPECTF and EXPECTREGEX mean.

use regex::bytes::{Regex, RegexBuilder};

/// Largest compiled pattern, in bytes; some tests expect thousands of lines.
const LARGEST: usize = 512 << 20;

/// `%` and a letter, in EXPECTF.
const PLACES: [(u8, &str); 12] = [
    (b'e', "/"),
    (b's', r"[^\r\n]+"),
    (b'S', r"[^\r\n]*"),
    (b'a', ".+"),
    (b'A', ".*"),
    (b'w', r"\s*"),
    (b'i', r"[+-]?\d+"),
    (b'd', r"\d+"),
    (b'x', "[0-9a-fA-F]+"),
    (b'f', r"[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:[Ee][+-]?\d+)?"),
    (b'c', "."),
    (b'0', r"\x00"),
];

/// What a test should print.
pub(super) enum Wanted {
    /// These bytes.
    Text(Vec<u8>),
    /// EXPECTF: text with places.
    Format(Vec<u8>),
    /// EXPECTREGEX.
    Regex(Vec<u8>),
}

impl Wanted {
    /// The text of the section, as it is compared: trimmed, with plain line ends.
    pub(super) fn text(&self) -> &[u8] {
        let (Self::Text(text) | Self::Format(text) | Self::Regex(text)) = self;
        text
    }

    /// Whether the output is the wanted one; none: the pattern is of a kind that cannot be read here.
    pub(super) fn matches(&self, output: &[u8]) -> Option<bool> {
        match self {
            Self::Text(text) => Some(text == output),
            Self::Format(text) => whole(&format(text)).map(|regex| regex.is_match(output)),
            Self::Regex(text) => whole(&source(text)).map(|regex| regex.is_match(output)),
        }
    }
}

/// The pattern with its ends fixed. As with PHP's `$`, one more line end may follow.
fn whole(pattern: &str) -> Option<Regex> {
    let pattern = format!(r"\A(?:{pattern})\n?\z");
    let mut builder = RegexBuilder::new(&pattern);
    builder.unicode(false).dot_matches_new_line(true).size_limit(LARGEST).build().ok()
}

/// Bytes as the source of a pattern.
fn source(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        if byte.is_ascii() {
            text.push(char::from(*byte));
        } else {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}

/// EXPECTF as a pattern: `%r…%r` is one already, the rest is text with places.
fn format(text: &[u8]) -> String {
    let mut pattern = String::with_capacity(text.len() * 2);
    let mut rest = text;
    while let Some(start) = find(rest) {
        places(&rest[..start], &mut pattern, true);
        let inner = &rest[start + 2..];
        let Some(end) = find(inner) else {
            // A mark without its partner ends the text, as PHP's own runner has it.
            return pattern;
        };
        pattern.push('(');
        places(&inner[..end], &mut pattern, false);
        pattern.push(')');
        rest = &inner[end + 2..];
    }
    places(rest, &mut pattern, true);
    pattern
}

fn find(text: &[u8]) -> Option<usize> {
    text.windows(2).position(|pair| pair == b"%r")
}

fn places(text: &[u8], pattern: &mut String, quoted: bool) {
    let mut at = 0;
    let mut begun = 0;
    let plain = |bytes: &[u8], pattern: &mut String| {
        for letter in bytes {
            if quoted && letter.is_ascii() {
                pattern.push_str(&regex::escape(char::from(*letter).encode_utf8(&mut [0; 4])));
            } else {
                pattern.push_str(&source(&[*letter]));
            }
        }
    };
    while at + 1 < text.len() {
        let place = (text[at] == b'%').then(|| PLACES.iter().find(|(letter, _)| *letter == text[at + 1]));
        if let Some(Some((_, meaning))) = place {
            plain(&text[begun..at], pattern);
            pattern.push_str(meaning);
            at += 2;
            begun = at;
        } else {
            at += 1;
        }
    }
    plain(&text[begun..], pattern);
}

/// The bytes without PHP's blanks at both ends.
pub(super) fn trimmed(mut bytes: &[u8]) -> &[u8] {
    let blank = |byte: &u8| b" \n\r\t\x0b\0".contains(byte);
    while let [first, rest @ ..] = bytes
        && blank(first)
    {
        bytes = rest;
    }
    while let [rest @ .., last] = bytes
        && blank(last)
    {
        bytes = rest;
    }
    bytes
}

/// What is compared: trimmed, with plain line ends.
pub(super) fn plain(bytes: &[u8]) -> Vec<u8> {
    let bytes = trimmed(bytes);
    let mut plain = Vec::with_capacity(bytes.len());
    for (at, byte) in bytes.iter().enumerate() {
        if *byte != b'\r' || bytes.get(at + 1) != Some(&b'\n') {
            plain.push(*byte);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(wanted: &str, output: &[u8]) -> bool {
        Wanted::Format(wanted.into()).matches(output).unwrap()
    }

    #[test]
    fn places_take_what_php_says_they_take() {
        assert!(fits("in %s on line %d", b"in /a b.php on line 12"));
        assert!(!fits("in %s on line %d", b"in \n on line 12"));
        assert!(fits("a%Sb%ac%Ad", b"ab\n\ncd"));
        assert!(fits("%i %x %f %c", b"-1 fF -.5e3 \xff"));
        assert!(!fits("%f", b"1."));
        assert!(fits("a%w%0%e", b"a \t\0/"));
    }

    #[test]
    fn all_else_is_text() {
        assert!(fits("(a) 100% [%d%%] é", "(a) 100% [5%%] é".as_bytes()));
        assert!(!fits("a.c", b"abc"));
        assert!(fits("[\"a\"]=>", b"[\"a\"]=>"));
        assert!(!fits("a", b"ab"));
    }

    #[test]
    fn a_pattern_stands_between_its_marks() {
        assert!(fits("a.%r(b|c)+%r.d", b"a.bcb.d"));
        assert!(fits("%r%s|%d%r!", b"x!"));
    }

    #[test]
    fn blanks_at_the_ends_and_line_ends_of_windows_do_not_count() {
        assert_eq!(plain(b"\0 \r\na\r\nb\rc\n\n"), b"a\nb\rc");
    }
}
