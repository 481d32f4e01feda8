//! JSON texts that callers send: how much memory one would take is known before it is read, and a long one is read away
//! from the threads that serve everybody.
//!
//! A text of two bytes for each value (`0,`) becomes values of many times its size, so a front door counts the values
//! first. No tool needs many: what is long is one text, such as a source or a file.

use std::fmt;
use std::sync::Arc;

use dormouse_core::{Error, ErrorCode, Result};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value as Json};

use crate::places::Places;

/// Longest text that is read at once, in bytes (64 KiB). What it can become is bounded by its length.
pub const AT_ONCE: usize = 64 << 10;
/// Most values in one text, those in lists and objects counted singly.
pub const MAX_VALUES: usize = 1 << 18;
/// Bytes of memory that a value takes at most besides its text: its place in a list or an object, which may be growing,
/// and its name.
const VALUE: usize = 256;

/// How many values a JSON text has at most. It need not be JSON: no reader that ends at the first mistake finds more.
pub fn values(text: &[u8]) -> usize {
    let mut count = 1;
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match first {
            b',' | b'[' | b'{' => count += 1,
            b'"' => rest = after_string(after),
            _ => {}
        }
    }
    count
}

/// What comes after the end of a string that has begun.
fn after_string(mut rest: &[u8]) -> &[u8] {
    loop {
        let Some(end) = rest.iter().position(|byte| matches!(byte, b'"' | b'\\')) else { return &[] };
        let escaped = usize::from(rest.get(end) == Some(&b'\\'));
        rest = rest.get(end + 1 + escaped..).unwrap_or_default();
        if escaped == 0 {
            return rest;
        }
    }
}

/// The memory that the values of a text would take besides the text itself, in bytes.
///
/// # Errors
/// `too_large` past [`MAX_VALUES`].
pub fn measured(text: &[u8]) -> Result<usize> {
    let count = values(text);
    if count > MAX_VALUES {
        let message = format!("the message has {count} JSON values, at most {MAX_VALUES} are taken");
        return Err(Error::new(ErrorCode::TooLarge, message)
            .with_hint("send data as one text or as a file, and have a snippet read it"));
    }
    Ok(count.saturating_mul(VALUE))
}

/// Reads a text with `reader`. A long one is measured first, counted against its owner while it is read, and read on a
/// thread that may take its time.
///
/// # Errors
/// `too_large` past [`MAX_VALUES`]; `busy` when the owner's messages hold too much already.
pub async fn read<B, T>(
    text: B,
    places: Arc<Places>,
    reader: impl FnOnce(&[u8]) -> T + Send + 'static,
) -> Result<T>
where
    B: AsRef<[u8]> + Send + 'static,
    T: Send + 'static,
{
    if text.as_ref().len() <= AT_ONCE {
        return Ok(reader(text.as_ref()));
    }
    let read = tokio::task::spawn_blocking(move || {
        let _room = places.room(measured(text.as_ref())?)?;
        Ok(reader(text.as_ref()))
    });
    read.await.map_err(|error| Error::internal("the message was not read", error))?
}

/// Whether a text is JSON, without keeping any of its values. Nesting is bounded by the reader (128 levels).
///
/// # Errors
/// What the reader says of the first mistake.
pub(crate) fn check(text: &[u8]) -> serde_json::Result<()> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    Looked::deserialize(&mut reader)?;
    reader.end()
}

/// A value that was looked at, with all that is in it.
struct Looked;

impl<'de> Deserialize<'de> for Looked {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> std::result::Result<Self, D::Error> {
        reader.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for Looked {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> std::result::Result<Self, E> {
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> std::result::Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> std::result::Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> std::result::Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> std::result::Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> std::result::Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> std::result::Result<Self, A::Error> {
        while items.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> std::result::Result<Self, A::Error> {
        while entries.next_entry::<Self, Self>()?.is_some() {}
        Ok(self)
    }
}

/// The memory that arguments hold, in bytes: their texts, and each value.
pub(crate) fn held(arguments: &Map<String, Json>) -> usize {
    arguments.iter().map(|(name, value)| name.len() + of(value)).sum()
}

fn of(value: &Json) -> usize {
    match value {
        Json::String(text) => text.len(),
        Json::Array(items) => items.iter().map(|item| VALUE + of(item)).sum(),
        Json::Object(entries) => entries.iter().map(|(name, value)| VALUE + name.len() + of(value)).sum(),
        Json::Null | Json::Bool(_) | Json::Number(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// All values below and at this one.
    fn counted(value: &Json) -> usize {
        1 + match value {
            Json::Array(items) => items.iter().map(counted).sum(),
            Json::Object(entries) => entries.values().map(counted).sum(),
            _ => 0,
        }
    }

    #[test]
    fn no_text_has_more_values_than_were_counted() {
        for text in [
            "0",
            "[]",
            "[0,0,0]",
            r#"{"a":[1,{"b":2}],"c":"d,e[f{"}"#,
            r#"["\"",",","\\",",\\\",",[[[]]]]"#,
            r#"{"a\"b,":"\u0022,","":{}}"#,
            " [ 1 , 2 ] ",
        ] {
            let value: Json = serde_json::from_str(text).unwrap();
            let (count, real) = (values(text.as_bytes()), counted(&value));
            assert!(count >= real && count <= 2 * real, "{text}: {count}, really {real}");
        }
        for text in ["\"", "\"\\", "[\"a", "\\", ""] {
            assert!(values(text.as_bytes()) <= 2, "{text}");
        }
        assert_eq!(values(br#""a,b,c""#), 1, "what stands in a text is no value");
    }

    #[test]
    fn a_text_may_have_as_many_values_as_the_bound_and_no_more() {
        let list = |count: usize| format!("[{}0]", "0,".repeat(count - 1));
        // The list itself is one of them.
        let most = MAX_VALUES - 1;
        assert_eq!(measured(list(most - 1).as_bytes()).unwrap(), most * VALUE);
        assert!(measured(list(most).as_bytes()).is_ok());
        let error = measured(list(most + 1).as_bytes()).unwrap_err();
        assert_eq!(error.code(), ErrorCode::TooLarge);
        assert!(error.message().contains("262145") && error.hint().is_some(), "{error}");
    }

    #[test]
    fn a_text_is_json_or_not_without_being_kept() {
        for good in ["0", " [1, -2, 3.5e1, null, true, \"\\u00e9\", {\"a\": [{}]}]\n"] {
            assert!(check(good.as_bytes()).is_ok(), "{good}");
        }
        let deep = "[".repeat(200) + &"]".repeat(200);
        for bad in ["", "[1,]", "1 2", "{\"a\"}", "{1:2}", "\"\\ud800\"", "\"\n\"", "NaN", "01", &deep] {
            assert!(check(bad.as_bytes()).is_err(), "{bad}");
            assert!(serde_json::from_str::<Json>(bad).is_err(), "{bad}");
        }
    }

    #[tokio::test]
    async fn a_long_text_is_counted_against_its_owner_while_it_is_read() {
        let places = Arc::new(Places::default());
        let text = format!("[{}0]", "0,".repeat(AT_ONCE));
        let read = |places: &Arc<Places>| read(text.clone(), places.clone(), <[u8]>::len);
        assert_eq!(read(&places).await.unwrap(), text.len());
        let held = places.room(usize::MAX).unwrap();
        assert_eq!(read(&places).await.unwrap_err().code(), ErrorCode::Busy);
        let short = super::read("[0]", places.clone(), <[u8]>::len).await;
        assert_eq!(short.unwrap(), 3, "a short one takes no room");
        drop(held);
        assert!(read(&places).await.is_ok());
    }

    #[test]
    fn what_arguments_hold_is_counted_at_every_level() {
        let arguments = |value: Json| Map::from_iter([("a".to_owned(), value)]);
        assert_eq!(held(&arguments(json!("xyz"))), 4);
        assert_eq!(held(&arguments(json!(["xyz", {"b": "z"}]))), 1 + 2 * VALUE + 3 + VALUE + 2);
    }
}
