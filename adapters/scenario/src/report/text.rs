//! Texts of strangers, cut to a size.

use serde::Serialize;
use serde_json::Value as Json;

/// Bytes that are kept of an output, of arguments and of what is said.
const MOST: usize = 32 << 10;
/// Bytes that are kept of a message.
const SHORT: usize = 2 << 10;
/// Characters of an output that a reason shows.
const SHOWN: usize = 300;
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

/// JSON of strangers as it is, or, where it is longer than an output may be, its text, cut.
pub(crate) fn whole_or_cut(json: &Json) -> (Option<Json>, Option<Text>) {
    let text = Text::long(&json.to_string());
    match text.omitted_bytes {
        0 => (Some(json.clone()), None),
        _ => (None, Some(text)),
    }
}

/// The end of an output on one line, where commands say what went wrong.
pub(crate) fn last_words(output: &str) -> String {
    let end = &output[output.ceil_char_boundary(output.len().saturating_sub(SHORT))..];
    let line = end.split_whitespace().collect::<Vec<&str>>().join(" ");
    match line.chars().count().checked_sub(SHOWN) {
        None | Some(0) => line,
        Some(left_out) => format!("... {}", line.chars().skip(left_out).collect::<String>()),
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

    #[test]
    fn last_words_are_one_line_and_few() {
        assert_eq!(last_words("a\n\tb \n"), "a b");
        let said = last_words(&format!("{}the end", "é\n".repeat(5_000)));
        assert!(said.starts_with("... ") && said.ends_with("é the end") && said.chars().count() == SHOWN + 4);
    }

    #[test]
    fn json_stays_json_while_it_is_small() {
        let small = serde_json::json!({"passed": true, "n": [1]});
        assert_eq!(whole_or_cut(&small), (Some(small), None));
        let (whole, cut) = whole_or_cut(&Json::from("x".repeat(MOST)));
        assert!(whole.is_none() && cut.is_some_and(|cut| cut.omitted_bytes > 0));
    }
}
