//! Names as `tar` shows them.

use std::borrow::Cow;

/// A name on one line: `\n` for a newline, three octal digits for each byte of another control character, `\\` for a
/// backslash.
pub(super) fn shown(name: &str) -> Cow<'_, str> {
    if !name.chars().any(|letter| letter == '\\' || letter.is_control()) {
        return Cow::Borrowed(name);
    }
    let mut text = String::with_capacity(name.len() + 8);
    for letter in name.chars() {
        match letter {
            '\\' => text.push_str("\\\\"),
            '\x07' => text.push_str("\\a"),
            '\x08' => text.push_str("\\b"),
            '\t' => text.push_str("\\t"),
            '\n' => text.push_str("\\n"),
            '\x0b' => text.push_str("\\v"),
            '\x0c' => text.push_str("\\f"),
            '\r' => text.push_str("\\r"),
            letter if letter.is_control() => {
                let mut bytes = [0; 4];
                for byte in letter.encode_utf8(&mut bytes).bytes() {
                    text += &format!("\\{byte:03o}");
                }
            }
            letter => text.push(letter),
        }
    }
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn a_name_is_on_one_line() {
        assert_eq!(shown("a b/ü"), "a b/ü");
        assert_eq!(shown("a\nb\t\x01\x7f\\\u{85}"), "a\\nb\\t\\001\\177\\\\\\302\\205");
    }
}
