//! Takes the key out of what an endpoint answers: as it is, and in the forms in which programs write text.
//!
//! What an endpoint says becomes data of a sandbox, and is saved with it. An endpoint that shows the key it was called with,
//! such as one that answers with the request's headers, must not put it there. One that means to pass it on can always
//! disguise it: this is for accidents, and for those who only repeat.

use data_encoding::{BASE64_NOPAD, BASE64URL_NOPAD};

use crate::Key;

/// What stands in the place of the key.
pub(crate) const MARK: &str = "[key removed]";
/// Backslashes before a character that are looked at: five levels of JSON in JSON.
const DEEPEST: usize = 31;
/// Shorter keys are not looked for, in bytes: they are the placeholders of endpoints that need none, and words of any text.
const SHORTEST: usize = 8;

/// Finds one key.
#[derive(Clone, Debug)]
pub(crate) struct Wash {
    key: Option<Key>,
}

impl Wash {
    pub(crate) fn new(key: Option<&Key>) -> Self {
        Self { key: key.filter(|key| key.reveal().len() >= SHORTEST).cloned() }
    }

    /// The text without the key: itself, with any of its characters written as `%XX`, `\xXX`, `\uXXXX` or behind a backslash,
    /// in hexadecimal, and in base64, alone or as a part of something longer such as `Bearer KEY`.
    pub(crate) fn text(&self, text: String) -> String {
        let Some(key) = &self.key else { return text };
        let key = key.reveal().as_bytes();
        let text = replaced(text, |rest| escaped(rest, key));
        let text = replaced(text, |rest| hexadecimal(rest, key));
        let needles = in_base64(key);
        replaced(text, |rest| {
            let found = needles.iter().filter(|needle| rest.starts_with(needle));
            found.map(Vec::len).max()
        })
    }

    /// Whether the text has the key in any of these forms.
    pub(crate) fn finds(&self, text: &str) -> bool {
        self.text(text.to_owned()) != text
    }
}

/// The text with a mark in the place of each match. `length` tells how long the match is that a rest begins with.
fn replaced(text: String, length: impl Fn(&[u8]) -> Option<usize>) -> String {
    let bytes = text.as_bytes();
    let (mut washed, mut kept, mut at) = (String::new(), 0, 0);
    while at < bytes.len() {
        // A match begins and ends between characters: the key is ASCII, and so are all its forms.
        match length(bytes.get(at..).unwrap_or_default()) {
            Some(long) if long > 0 => {
                washed.push_str(text.get(kept..at).unwrap_or_default());
                washed.push_str(MARK);
                at += long;
                kept = at;
            }
            _ => at += 1,
        }
    }
    if kept == 0 {
        return text;
    }
    washed.push_str(text.get(kept..).unwrap_or_default());
    washed
}

/// How long the key is at the beginning of the text, each of its characters as it is or escaped.
fn escaped(text: &[u8], key: &[u8]) -> Option<usize> {
    if text.starts_with(key) {
        return Some(key.len());
    }
    let mut at = 0;
    for byte in key {
        at += character(text.get(at..)?, *byte)?;
    }
    Some(at)
}

/// How long one character is at the beginning of the text.
fn character(text: &[u8], wanted: u8) -> Option<usize> {
    let coded = |from: usize, digits: usize| {
        let code = std::str::from_utf8(text.get(from..from + digits)?).ok()?;
        let same = u32::from_str_radix(code, 16).ok()? == u32::from(wanted);
        same.then_some(from + digits)
    };
    // A text within a text of JSON has its backslashes doubled, once for each level.
    let slashes = text.iter().take(DEEPEST).take_while(|byte| **byte == b'\\').count();
    match text.get(slashes..)? {
        _ if wanted == b'\\' && slashes > 1 => Some(2),
        _ if text.first() == Some(&wanted) => Some(1),
        [b'%', ..] if slashes == 0 => coded(1, 2),
        [b'u' | b'U', ..] if slashes > 0 && coded(slashes + 1, 4).is_some() => coded(slashes + 1, 4),
        [b'x' | b'X', ..] if slashes > 0 && coded(slashes + 1, 2).is_some() => coded(slashes + 1, 2),
        [plain, ..] if slashes > 0 && *plain == wanted => Some(slashes + 1),
        _ => None,
    }
}

fn hexadecimal(text: &[u8], key: &[u8]) -> Option<usize> {
    let digits = text.get(..key.len() * 2)?;
    let pairs = digits.chunks_exact(2).zip(key);
    let same = |(pair, byte): (&[u8], &u8)| {
        let pair = std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok());
        pair == Some(*byte)
    };
    pairs.into_iter().all(same).then_some(digits.len())
}

/// What stands in base64 of any text that holds the key: the characters that only the key decides, at each of the three
/// places where it can begin.
fn in_base64(key: &[u8]) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for before in 0..3 {
        let padded = [&[0; 2][..before], key].concat();
        // The first characters are also of what stands before, the last ones of what comes after.
        let (first, last) = ((before * 8).div_ceil(6), padded.len() * 8 / 6);
        for form in [BASE64_NOPAD.encode(&padded), BASE64URL_NOPAD.encode(&padded)] {
            all.extend(form.as_bytes().get(first..last).map(<[u8]>::to_vec));
        }
    }
    all.retain(|needle| !needle.is_empty());
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use data_encoding::{BASE64, BASE64URL, HEXLOWER, HEXUPPER};

    use super::*;

    const KEY: &str = "sk-Te/st\"01+2345~secret";

    fn wash(key: &str) -> Wash {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, key).unwrap();
        Wash::new(Some(&Key::from_file(&path).unwrap()))
    }

    #[test]
    fn llm_02_the_key_is_taken_out_in_every_form_that_programs_write_and_nothing_else_is() {
        let wash = wash(KEY);
        let each = |form: &dyn Fn(u8) -> String| KEY.bytes().map(form).collect::<String>();
        let json = serde_json::to_string(KEY).unwrap();
        for form in [
            KEY.to_owned(),
            json.trim_matches('"').to_owned(),
            KEY.replace('/', "\\/"),
            each(&|byte| format!("%{byte:02x}")),
            each(&|byte| format!("%{byte:02X}")),
            each(&|byte| {
                if byte.is_ascii_alphanumeric() { char::from(byte).into() } else { format!("%{byte:02X}") }
            }),
            each(&|byte| format!("\\u{byte:04x}")),
            each(&|byte| format!("\\x{byte:02x}")),
            each(&|byte| format!("\\\\u{byte:04x}")),
            json.trim_matches('"').replace('\\', "\\\\").replace('"', "\\\""),
            HEXLOWER.encode(KEY.as_bytes()),
            HEXUPPER.encode(KEY.as_bytes()),
        ] {
            assert_eq!(
                wash.text(format!("é Bearer {form} ü{form}")),
                format!("é Bearer {MARK} ü{MARK}"),
                "{form}"
            );
        }
        for around in ["", "B", "Be", "Bearer ", "user:", "{\"authorization\":\"Bearer "] {
            for after in ["", "x", "\"}", "é and more"] {
                let whole = format!("{around}{KEY}{after}");
                for form in [BASE64.encode(whole.as_bytes()), BASE64URL.encode(whole.as_bytes())] {
                    let washed = wash.text(format!("<{form}>"));
                    assert!(washed.contains(MARK), "{whole}: {washed}");
                    let left: usize = washed.len() - MARK.len();
                    let due = BASE64.encode_len(whole.len() - KEY.len()) + 2 + 8;
                    assert!(left <= due, "{whole}: {washed}");
                    assert!(wash.finds(&form));
                }
            }
        }
        for other in ["", "sk-", "sk-Te/st", "sk-Te%2Fst%", "\\u00", "%7", "日本語 sk-", &KEY.to_lowercase()]
        {
            assert_eq!(wash.text(other.to_owned()), other);
        }
    }

    #[test]
    fn a_placeholder_is_no_key() {
        assert_eq!(wash("none").text("none of it".into()), "none of it");
        assert_eq!(Wash::new(None).text("sk-".into()), "sk-");
    }

    #[test]
    fn what_almost_is_the_key_takes_no_time() {
        let wash = wash(&"a".repeat(200));
        let text = format!("{}b", "a".repeat(199)).repeat(1_000);
        let begin = std::time::Instant::now();
        assert_eq!(wash.text(text.clone()), text);
        assert!(begin.elapsed() < std::time::Duration::from_secs(5), "{:?}", begin.elapsed());
    }
}
