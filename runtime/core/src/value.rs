//! The typed value of a snippet (docs/values.md; S1-13 to S1-17).

use serde::{Deserialize, Serialize};
use serde_json::Map;

use crate::{Error, ErrorCode, Result};

/// A value as the guest encoded it: typed, bounded, free of cycles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Value {
    /// No value.
    Null {
        /// Always null.
        value: (),
        /// JavaScript's `undefined`.
        #[serde(default, skip_serializing_if = "is_false")]
        undefined: bool,
    },
    /// True or false.
    Bool {
        /// The value.
        value: bool,
    },
    /// A whole number.
    Int {
        /// A JSON number within ±(2^53 - 1), else decimal digits.
        value: serde_json::Value,
        /// A JavaScript `bigint`.
        #[serde(default, skip_serializing_if = "is_false")]
        big: bool,
        /// Digits were cut.
        #[serde(default, skip_serializing_if = "is_false")]
        truncated: bool,
        /// Number of digits when cut.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        length: Option<u64>,
    },
    /// Any other number.
    Float {
        /// A JSON number, or `"NaN"`, `"Infinity"`, `"-Infinity"`, `"-0"`.
        value: serde_json::Value,
    },
    /// Text.
    String {
        /// The text, or its beginning.
        value: String,
        /// It was cut.
        #[serde(default, skip_serializing_if = "is_false")]
        truncated: bool,
        /// UTF-8 bytes of the whole, when cut.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        length: Option<u64>,
    },
    /// Bytes.
    Bytes {
        /// Base64.
        value: String,
        /// Bytes of the whole.
        length: u64,
        /// It was cut.
        #[serde(default, skip_serializing_if = "is_false")]
        truncated: bool,
        /// Class, where it says more than the type.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        class: Option<String>,
    },
    /// A list or a dictionary.
    Array {
        /// Class, unless it is the language's usual one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        class: Option<String>,
        /// Whether it is a list.
        is_list: bool,
        /// Items of the whole.
        count: u64,
        /// A list of values, or an object of values when every key is text. Absent below the depth cap.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<Items>,
        /// Pairs, when a key is not text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        entries: Option<Vec<(Value, Value)>>,
        /// Items were left out.
        #[serde(default, skip_serializing_if = "is_false")]
        truncated: bool,
        /// Identity, where a later `reference` may name it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<u64>,
    },
    /// Something that yields items.
    Iterable {
        /// Class.
        class: String,
        /// The items shown. Absent below the depth cap.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        preview: Option<Vec<Value>>,
        /// Whether the preview reached the end.
        exhausted: bool,
        /// Items of the whole, when it knows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size_hint: Option<u64>,
        /// Contents were left out because of the depth cap.
        #[serde(default, skip_serializing_if = "is_false")]
        truncated: bool,
        /// Identity, where a later `reference` may name it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<u64>,
    },
    /// An object.
    Object {
        /// Class.
        class: String,
        /// Identity within this value, from 1.
        id: u64,
        /// Public properties. Absent below the depth cap and for functions, classes and modules.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        properties: Option<serde_json::Map<String, serde_json::Value>>,
        /// Its own rendering.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        repr: Option<String>,
        /// Something was left out.
        #[serde(default, skip_serializing_if = "is_false")]
        truncated: bool,
    },
    /// An object that stands further up.
    Reference {
        /// Class.
        class: String,
        /// Its identity.
        id: u64,
    },
    /// A handle of the language that is no object.
    Resource {
        /// Class or kind.
        class: String,
        /// Identity.
        id: u64,
    },
    /// Something that could not be encoded.
    Unknown {
        /// Class.
        class: String,
        /// Why not.
        reason: String,
    },
}

/// The contents of an `array`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Items {
    /// A list.
    List(Vec<Value>),
    /// A dictionary whose keys are all text. The values are typed values, kept as JSON.
    Dictionary(Map<String, serde_json::Value>),
}

fn is_false(flag: &bool) -> bool {
    !*flag
}

impl Value {
    /// The null value.
    pub fn null() -> Self {
        Self::Null { value: (), undefined: false }
    }

    /// Reads the JSON text that a guest made.
    ///
    /// # Errors
    /// `guest_trap` when it is not of the documented form: the guest is broken or hostile.
    pub fn from_guest(json: &str) -> Result<Self> {
        serde_json::from_str(json).map_err(|error| {
            Error::new(ErrorCode::GuestTrap, "the guest sent a value of an unknown form").with_source(error)
        })
    }

    /// The number of an `int` that fits.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Int { value: serde_json::Value::String(digits), .. } => digits.parse().ok(),
            Self::Int { value, .. } => value.as_i64(),
            _ => None,
        }
    }

    /// The number of an `int` or a `float`.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Int { value, .. } | Self::Float { value } => {
                value.as_f64().or_else(|| value.as_str()?.parse().ok())
            }
            _ => None,
        }
    }

    /// The text of a `string`, possibly cut.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String { value, .. } => Some(value),
            _ => None,
        }
    }

    /// The truth of a `bool`.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool { value } => Some(*value),
            _ => None,
        }
    }

    /// Whether it is null.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null { .. })
    }

    /// The word of the `type` field.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Null { .. } => "null",
            Self::Bool { .. } => "bool",
            Self::Int { .. } => "int",
            Self::Float { .. } => "float",
            Self::String { .. } => "string",
            Self::Bytes { .. } => "bytes",
            Self::Array { .. } => "array",
            Self::Iterable { .. } => "iterable",
            Self::Object { .. } => "object",
            Self::Reference { .. } => "reference",
            Self::Resource { .. } => "resource",
            Self::Unknown { .. } => "unknown",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every form of docs/values.md reads and writes as itself, byte for byte.
    #[test]
    fn a_value_survives_the_round_trip_unchanged() {
        for json in [
            r#"{"type":"null","value":null}"#,
            r#"{"type":"null","value":null,"undefined":true}"#,
            r#"{"type":"bool","value":true}"#,
            r#"{"type":"int","value":2}"#,
            r#"{"type":"int","value":"123456789012345678901234567890"}"#,
            r#"{"type":"float","value":"NaN"}"#,
            r#"{"type":"float","value":1.5}"#,
            r#"{"type":"string","value":"a","truncated":true,"length":99999}"#,
            r#"{"type":"bytes","value":"AAE=","length":2}"#,
            r#"{"type":"array","is_list":true,"count":1,"value":[{"type":"int","value":1}]}"#,
            r#"{"type":"array","is_list":false,"count":1,"value":{"b":{"type":"int","value":1}}}"#,
            r#"{"type":"array","is_list":false,"count":1,"entries":[[{"type":"int","value":1},{"type":"null","value":null}]]}"#,
            r#"{"type":"iterable","class":"generator","preview":[],"exhausted":false}"#,
            r#"{"type":"object","class":"A","id":1,"properties":{"x":{"type":"int","value":1}},"repr":"A()"}"#,
            r#"{"type":"reference","class":"A","id":1}"#,
            r#"{"type":"resource","class":"stream","id":1}"#,
            r#"{"type":"unknown","class":"A","reason":"x"}"#,
        ] {
            let value = Value::from_guest(json).unwrap();
            assert_eq!(serde_json::to_string(&value).unwrap(), json);
        }
    }

    #[test]
    fn text_of_another_form_is_refused_not_guessed() {
        for bad in ["", "1", "{}", r#"{"type":"int"}"#, r#"{"type":"nothing"}"#, &"[".repeat(100_000)] {
            assert_eq!(Value::from_guest(bad).unwrap_err().code(), ErrorCode::GuestTrap);
        }
    }
}
