//! JSON in which each key of an object stands once. Of a key that stands twice the last one would count, without a word: that may be
//! the wrong rule.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value as Json};

/// Reads a text.
///
/// # Errors
/// What is no JSON, and a key that stands twice, with the place.
pub(crate) fn read(text: &str) -> serde_json::Result<Json> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Value.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

struct Value;

impl<'de> DeserializeSeed<'de> for Value {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = items.next_element_seed(Self)? {
            all.push(item);
        }
        Ok(Json::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        let mut all = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(Self)?;
            let shown: String = key.escape_debug().take(64).collect();
            if all.insert(key, value).is_some() {
                return Err(A::Error::custom(format!("`{shown}` stands there twice")));
            }
        }
        Ok(Json::Object(all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_once_is_read_and_what_stands_twice_is_told() {
        let text = r#"{"a": [1, -2, 0.5, "x", null, true, {"b": {}}], "c": 18446744073709551615}"#;
        assert_eq!(read(text).unwrap(), serde_json::from_str::<Json>(text).unwrap());
        let error = read("{\"a\": {\"b\": 1,\n \"b\": 2}}").unwrap_err();
        assert!(error.to_string().starts_with("`b` stands there twice") && error.line() == 2, "{error}");
        assert!(read("{} x").is_err());
    }
}
