//! The typed value of a snippet (docs/values.md; S1-13 to S1-17).

mod read;

use indexmap::IndexMap;
use serde::Serialize;

use crate::{Bounds, Error, ErrorCode, Result};

/// A value as the guest encoded it: typed, bounded, free of cycles. It is read by [`Value::from_guest`] in one pass, so that
/// it takes no more memory than it has parts: at most 128 bytes a value, and its texts.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Value {
    /// No value.
    Null {
        /// Always null.
        value: (),
        /// JavaScript's `undefined`.
        #[serde(skip_serializing_if = "is_false")]
        undefined: bool,
    },
    /// True or false.
    Bool {
        /// The value.
        value: bool,
    },
    /// A whole number.
    Int {
        /// A number within ±(2^53 - 1), else decimal digits.
        value: Numeral,
        /// A JavaScript `bigint`.
        #[serde(skip_serializing_if = "is_false")]
        big: bool,
        /// Digits were cut.
        #[serde(skip_serializing_if = "is_false")]
        truncated: bool,
        /// Number of digits when cut.
        #[serde(skip_serializing_if = "Option::is_none")]
        length: Option<u64>,
    },
    /// Any other number.
    Float {
        /// A number, or `"NaN"`, `"Infinity"`, `"-Infinity"`, `"-0"`.
        value: Numeral,
    },
    /// Text.
    String {
        /// The text, or its beginning.
        value: String,
        /// It was cut.
        #[serde(skip_serializing_if = "is_false")]
        truncated: bool,
        /// UTF-8 bytes of the whole, when cut.
        #[serde(skip_serializing_if = "Option::is_none")]
        length: Option<u64>,
    },
    /// Bytes.
    Bytes {
        /// Base64.
        value: String,
        /// Bytes of the whole.
        length: u64,
        /// It was cut.
        #[serde(skip_serializing_if = "is_false")]
        truncated: bool,
        /// Class, where it says more than the type.
        #[serde(skip_serializing_if = "Option::is_none")]
        class: Option<String>,
    },
    /// A list or a dictionary.
    Array {
        /// Class, unless it is the language's usual one.
        #[serde(skip_serializing_if = "Option::is_none")]
        class: Option<String>,
        /// Whether it is a list.
        is_list: bool,
        /// Items of the whole.
        count: u64,
        /// A list of values, or an object of values when every key is text. Absent below the depth cap.
        #[serde(skip_serializing_if = "Option::is_none")]
        value: Option<Items>,
        /// Pairs, when a key is not text.
        #[serde(skip_serializing_if = "Option::is_none")]
        entries: Option<Vec<(Value, Value)>>,
        /// Items were left out.
        #[serde(skip_serializing_if = "is_false")]
        truncated: bool,
        /// Identity, where a later `reference` may name it.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<u64>,
    },
    /// Something that yields items.
    Iterable {
        /// Class.
        class: String,
        /// The items shown. Absent below the depth cap.
        #[serde(skip_serializing_if = "Option::is_none")]
        preview: Option<Vec<Value>>,
        /// Whether the preview reached the end.
        exhausted: bool,
        /// Items of the whole, when it knows.
        #[serde(skip_serializing_if = "Option::is_none")]
        size_hint: Option<u64>,
        /// Contents were left out because of the depth cap.
        #[serde(skip_serializing_if = "is_false")]
        truncated: bool,
        /// Identity, where a later `reference` may name it.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<u64>,
    },
    /// An object.
    Object {
        /// Class.
        class: String,
        /// Identity within this value, from 1.
        id: u64,
        /// Public properties. Absent below the depth cap and for functions, classes and modules.
        #[serde(skip_serializing_if = "Option::is_none")]
        properties: Option<Fields>,
        /// Its own rendering.
        #[serde(skip_serializing_if = "Option::is_none")]
        repr: Option<String>,
        /// Something was left out.
        #[serde(skip_serializing_if = "is_false")]
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
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Items {
    /// A list.
    List(Vec<Value>),
    /// A dictionary whose keys are all text.
    Dictionary(Fields),
}

/// Values by name, in the guest's order. Boxed, because most values have none.
pub type Fields = Box<IndexMap<String, Value>>;

/// A number as JSON can say it, or in a text what it cannot.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Numeral {
    /// A JSON number.
    Number(serde_json::Number),
    /// Decimal digits, or the name of a number that JSON does not have.
    Text(String),
}

impl From<i64> for Numeral {
    fn from(number: i64) -> Self {
        Self::Number(number.into())
    }
}

impl From<&str> for Numeral {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl std::fmt::Display for Numeral {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

fn is_false(flag: &bool) -> bool {
    !*flag
}

impl Value {
    /// The null value.
    pub fn null() -> Self {
        Self::Null { value: (), undefined: false }
    }

    /// Reads the JSON text that a guest made within `bounds`. A hostile guest may send any text: what is longer than the
    /// bounds allow is refused before it is read, and what has more parts than such a text can have while it is.
    ///
    /// # Errors
    /// `guest_trap` when it is not of the documented form: the guest is broken or hostile.
    pub fn from_guest(json: &str, bounds: &Bounds) -> Result<Self> {
        let most = bounds.value_bytes();
        if json.len() > most {
            let message =
                format!("the guest sent a value of {} bytes, at most {most} were asked for", json.len());
            return Err(Error::new(ErrorCode::GuestTrap, message).with_hint(BROKEN));
        }
        read::value(json, bounds.values()).map_err(|error| {
            Error::new(ErrorCode::GuestTrap, "the guest sent a value of an unknown form")
                .with_hint(BROKEN)
                .with_source(error)
        })
    }

    /// The number of an `int` that fits.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Int { value: Numeral::Text(digits), .. } => digits.parse().ok(),
            Self::Int { value: Numeral::Number(number), .. } => number.as_i64(),
            _ => None,
        }
    }

    /// The number of an `int` or a `float`.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Int { value, .. } | Self::Float { value } => match value {
                Numeral::Number(number) => number.as_f64(),
                Numeral::Text(text) => text.parse().ok(),
            },
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

/// What to do about a guest whose answer cannot be read.
pub(crate) const BROKEN: &str = "the snippet has changed the interpreter's own modules, or the guest is broken; a reset gives a fresh interpreter";

#[cfg(test)]
mod tests;
