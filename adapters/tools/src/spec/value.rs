//! How a checked argument becomes a value of Rust.

use dormouse_core::sandbox::{Name, Note, SessionKey};
use dormouse_core::{Error, GuestPath, Language, Result};
use serde_json::{Map, Value as Json};

use super::decode::Checked;
use super::field::{Absent, Field, Kind};

/// What is taken from checked arguments: one of them, or those of a struct one after the other.
pub(crate) trait Take: Sized {
    /// Takes what belongs to it, in the order of the table.
    ///
    /// # Errors
    /// `args_invalid` for a text that cannot be parsed.
    fn take(checked: &mut Checked<'_>) -> Result<Self>;
}

/// One argument. Its type, its bounds and its default have been seen to.
pub(crate) trait Value: Sized {
    /// Reads it; none when it was left out and has no default.
    ///
    /// # Errors
    /// `args_invalid` for a text that cannot be parsed.
    fn read(field: &Field, value: Option<Json>, given: bool) -> Result<Self>;
}

impl<V: Value> Take for V {
    fn take(checked: &mut Checked<'_>) -> Result<Self> {
        let (field, value, given) = checked.take()?;
        V::read(field, value, given)
    }
}

/// An argument, and whether the caller gave it.
#[derive(Debug)]
pub(crate) struct Given<T> {
    /// Its value, or its default.
    pub(crate) value: T,
    /// Whether the caller gave it.
    pub(crate) given: bool,
}

impl<V: Value> Value for Given<V> {
    fn read(field: &Field, value: Option<Json>, given: bool) -> Result<Self> {
        Ok(Self { value: V::read(field, value, given)?, given })
    }
}

impl<V: Value> Value for Option<V> {
    fn read(field: &Field, value: Option<Json>, given: bool) -> Result<Self> {
        value.map(|value| V::read(field, Some(value), given)).transpose()
    }
}

impl Value for bool {
    fn read(field: &Field, value: Option<Json>, _: bool) -> Result<Self> {
        value.and_then(|value| value.as_bool()).ok_or_else(|| unlike(field))
    }
}

impl Value for Vec<String> {
    fn read(_: &Field, value: Option<Json>, _: bool) -> Result<Self> {
        let Some(Json::Array(texts)) = value else { return Ok(Self::new()) };
        let text = |text| match text {
            Json::String(text) => Some(text),
            _ => None,
        };
        Ok(texts.into_iter().filter_map(text).collect())
    }
}

impl Value for Map<String, Json> {
    fn read(field: &Field, value: Option<Json>, _: bool) -> Result<Self> {
        match value {
            Some(Json::Object(object)) => Ok(object),
            _ => Err(unlike(field)),
        }
    }
}

/// Whole numbers.
macro_rules! whole {
    ($($of:ty),*) => {$(
        impl Value for $of {
            fn read(field: &Field, value: Option<Json>, _: bool) -> Result<Self> {
                let number = value.and_then(|value| value.as_u64());
                number.and_then(|number| Self::try_from(number).ok()).ok_or_else(|| unlike(field))
            }
        }
        impl Scalar for $of {
            type Default = u64;
            fn set_default(kind: &mut Kind, default: u64) {
                if let Kind::Integer { absent, .. } | Kind::Number { absent, .. } = kind {
                    *absent = Absent::Default(default);
                }
            }
        }
    )*};
}
whole!(u32, u64, usize);

/// What can have a default.
pub(crate) trait Scalar {
    /// How the default is written.
    type Default;

    /// Writes it into the row.
    fn set_default(kind: &mut Kind, default: Self::Default);
}

impl Scalar for bool {
    type Default = Self;
    fn set_default(kind: &mut Kind, value: Self) {
        if let Kind::Flag { default } = kind {
            *default = value;
        }
    }
}

/// What a text is read as.
pub(crate) trait Parsed: Sized {
    /// Most characters, if it counts them.
    const CHARACTERS: Option<usize> = None;

    /// Reads it.
    ///
    /// # Errors
    /// `args_invalid`.
    fn parsed(field: &Field, text: String) -> Result<Self>;
}

/// Types that are read from a text.
macro_rules! parsed {
    ($($of:ty $([$most:expr])?: |$field:ident, $text:ident| $parse:expr;)*) => {$(
        impl Parsed for $of {
            $(const CHARACTERS: Option<usize> = Some($most);)?
            fn parsed($field: &Field, $text: String) -> Result<Self> {
                $parse
            }
        }
        impl Value for $of {
            fn read(field: &Field, value: Option<Json>, _: bool) -> Result<Self> {
                match value {
                    Some(Json::String(text)) => Self::parsed(field, text),
                    _ => Err(unlike(field)),
                }
            }
        }
        impl Scalar for $of {
            type Default = &'static str;
            fn set_default(kind: &mut Kind, default: &'static str) {
                if let Kind::Text { absent, .. } = kind {
                    *absent = Absent::Default(default);
                }
            }
        }
    )*};
}
parsed! {
    String: |_field, text| Ok(text);
    GuestPath: |_field, text| Self::parse(&text);
    Name [Self::MAX_CHARS]: |_field, text| Self::parse(&text);
    Note [Self::MAX_CHARS]: |_field, text| Self::parse(&text);
    SessionKey [Self::MAX_CHARS]: |_field, text| Self::parse(&text);
    Language: |field, text| Self::parse(&text).map_err(|error| {
        let hint = error.hint().unwrap_or_default().to_owned();
        Error::args_invalid(format!("the field `{}` is invalid: {error}", field.name)).with_hint(hint)
    });
}

/// An enum of words: see `words!`.
pub(crate) trait Word: Sized {
    /// All of them; the first is the usual one.
    const WORDS: &'static [&'static str];

    /// The one that is written so.
    fn of(word: &str) -> Option<Self>;

    /// How it is written.
    fn word(self) -> &'static str;
}

/// A value that the check should not have let through.
pub(crate) fn unlike(field: &Field) -> Error {
    Error::args_invalid(format!("the field `{}` cannot be read", field.name))
}
