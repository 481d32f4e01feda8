//! Why a text of a caller's cannot be read as a JSON object, and where: the reader's own words leave out which of several faults
//! it is.

use dormouse_core::Error;
use serde_json::error::Category;

/// The refusal of a text, named `name`, that `error` has ended the reading of: `args_invalid` with the line and the column, from 1.
pub fn refusal(name: &str, text: &[u8], error: &serde_json::Error) -> Error {
    let (what, hint, (line, column)) = match std::str::from_utf8(text) {
        Err(bad) => ("is not UTF-8".into(), "send it in UTF-8", place(text, bad.valid_up_to())),
        Ok(_) => {
            let (what, hint) = fault(error);
            (what, hint, (error.line(), error.column()))
        }
    };
    Error::args_invalid(format!("the {name} {what} (line {line}, column {column})")).with_hint(hint)
}

/// What is wrong with a text of UTF-8, and what to do about it.
fn fault(error: &serde_json::Error) -> (String, &'static str) {
    const OBJECT: &str = "send the arguments as one JSON object";
    let words = error.to_string();
    // The library tells kinds of faults by their words alone.
    let says = |part: &str| words.contains(part);
    match error.classify() {
        Category::Syntax if says("surrogate") || says("end of hex escape") => (
            "has half a character in a text".into(),
            "write a character as it is, or both halves of it, such as `\\ud83d\\ude00`",
        ),
        Category::Syntax if says("recursion limit") => (
            "is nested too deeply".into(),
            "nest at most about 100 levels, or send the data as one text or as a file",
        ),
        Category::Syntax => {
            let what = words.split(" at line ").next().unwrap_or_default();
            (format!("is not JSON: {what}"), OBJECT)
        }
        Category::Eof => ("ends in the middle".into(), OBJECT),
        Category::Data | Category::Io => ("is not a JSON object".into(), OBJECT),
    }
}

/// The line and the column of a byte, from 1, as the library counts them.
fn place(text: &[u8], at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or_default();
    let line = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    (1 + before.iter().filter(|byte| **byte == b'\n').count(), 1 + at - line)
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value as Json};

    use super::*;

    #[test]
    fn each_fault_is_told_as_what_it_is_with_its_place_and_a_hint() {
        let deep = format!("{{\"a\":{}", "[".repeat(300));
        for (text, told) in [
            (&b"{\"a\":\n \"\\ud800\"}"[..], "the body has half a character in a text (line 2, column "),
            (b"{\"a\":\"\\ud800\\u0041\"}", "the body has half a character in a text (line 1, column "),
            (b"{\"a\":\"\\udc00\"}", "the body has half a character in a text (line 1, column "),
            (deep.as_bytes(), "the body is nested too deeply (line 1, column "),
            (b"{\"a\":\n\"x\xff\"}", "the body is not UTF-8 (line 2, column 3)"),
            (b"{\"a\":1", "the body ends in the middle (line 1, column "),
            (b"[1]", "the body is not a JSON object (line 1, column "),
            (b"\"surrogate\"", "the body is not a JSON object (line 1, column "),
            (b"{\"a\" 1}", "the body is not JSON: expected `:` (line 1, column "),
        ] {
            let error = serde_json::from_slice::<Map<String, Json>>(text).unwrap_err();
            let refusal = refusal("body", text, &error);
            assert!(refusal.message().starts_with(told), "{refusal}");
            assert!(refusal.hint().is_some(), "{refusal}");
        }
    }
}
