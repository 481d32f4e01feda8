//! Texts of strangers, cut to a size.

use serde::Serialize;

/// Bytes that are kept of an output, of arguments and of what is said.
const MOST: usize = 32 << 10;
/// Bytes that are kept of a message.
const SHORT: usize = 2 << 10;
/// What stays of the end of a text that is cut, as a part of the whole: a quarter.
const TAIL: usize = 4;

/// A text, and how much of it was left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Text {
    /// What is kept. A mark stands where something was left out.
    pub text: String,
    /// Bytes that were left out.
    pub omitted_bytes: u64,
}

impl Text {
    /// An output, arguments, what is said: at most 32 KiB, its beginning and its end.
    pub fn long(text: &str) -> Self {
        Self::cut(text, MOST)
    }

    /// A message or a name: at most 2 KiB.
    pub fn short(text: &str) -> Self {
        Self::cut(text, SHORT)
    }

    /// At most that many bytes and the mark.
    pub(crate) fn cut(text: &str, most: usize) -> Self {
        if text.len() <= most {
            return Self { text: text.to_owned(), omitted_bytes: 0 };
        }
        let head = text.floor_char_boundary(most - most / TAIL);
        let tail = text.ceil_char_boundary(text.len() - most / TAIL);
        let omitted = tail - head;
        let text = format!("{}\n[... {omitted} bytes left out ...]\n{}", &text[..head], &text[tail..]);
        Self { text, omitted_bytes: omitted as u64 }
    }

    /// Cuts it further; what was left out before still counts.
    pub(crate) fn shrink(&mut self, most: usize) {
        if self.text.len() > most {
            let cut = Self::cut(&self.text, most);
            self.omitted_bytes += cut.omitted_bytes;
            self.text = cut.text;
        }
    }
}

impl std::fmt::Display for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_at_its_size_and_between_characters() {
        for size in [MOST - 1, MOST] {
            assert_eq!(Text::long(&"x".repeat(size)).omitted_bytes, 0);
        }
        let cut = Text::long(&"x".repeat(MOST + 1));
        assert_eq!(cut.omitted_bytes, 1);
        let cut = Text::long(&"é".repeat(10 << 20));
        assert!(cut.text.len() < MOST + 64 && cut.text.contains("bytes left out"));
        assert_eq!(cut.omitted_bytes, (20 << 20) - cut.text.matches('é').count() as u64 * 2);
    }
}
