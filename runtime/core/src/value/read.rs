//! Reading a value of a guest's: one pass over the text, nothing buffered, every part counted.
//!
//! `type` comes first (docs/values.md), so that each field is read as what it is. A guest is not trusted to send what the contract
//! says: a field that the type does not have, a doubled field and one value too many end the reading.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};

use super::{Fields, Items, Numeral, Value};

/// Reads a text that holds one value and nothing else, of at most `most` values in all.
pub(super) fn value(json: &str, most: usize) -> serde_json::Result<Value> {
    let left = Cell::new(most);
    let mut reader = serde_json::Deserializer::from_str(json);
    let value = Reader(&left).deserialize(&mut reader)?;
    reader.end().map(|()| value)
}

/// The word of the `type` field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Null,
    Bool,
    Int,
    Float,
    String,
    Bytes,
    Array,
    Iterable,
    Object,
    Reference,
    Resource,
    Unknown,
}

/// A field of any type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Field {
    Type,
    Value,
    Undefined,
    Big,
    Truncated,
    Length,
    Class,
    IsList,
    Count,
    Entries,
    Id,
    Preview,
    Exhausted,
    SizeHint,
    Properties,
    Repr,
    Reason,
}

impl Kind {
    /// The fields that a value of this type can have.
    fn fields(self) -> &'static [Field] {
        use Field::*;
        match self {
            Self::Null => &[Value, Undefined],
            Self::Bool | Self::Float => &[Value],
            Self::Int => &[Value, Big, Truncated, Length],
            Self::String => &[Value, Truncated, Length],
            Self::Bytes => &[Value, Length, Truncated, Class],
            Self::Array => &[Class, IsList, Count, Value, Entries, Truncated, Id],
            Self::Iterable => &[Class, Preview, Exhausted, SizeHint, Truncated, Id],
            Self::Object => &[Class, Id, Properties, Repr, Truncated],
            Self::Reference | Self::Resource => &[Class, Id],
            Self::Unknown => &[Class, Reason],
        }
    }
}

/// What the field `value` of a type holds.
enum Content {
    Nothing,
    Truth(bool),
    Numeral(Numeral),
    Text(String),
    Items(Items),
}

/// The fields that have been read.
#[derive(Default)]
struct Parts {
    value: Option<Content>,
    entries: Option<Vec<(Value, Value)>>,
    preview: Option<Vec<Value>>,
    properties: Option<Fields>,
    class: Option<String>,
    repr: Option<String>,
    reason: Option<String>,
    length: Option<u64>,
    count: Option<u64>,
    size_hint: Option<u64>,
    id: Option<u64>,
    is_list: Option<bool>,
    exhausted: Option<bool>,
    undefined: Option<bool>,
    big: Option<bool>,
    truncated: Option<bool>,
}

/// Reads one value; the cell says how many may still come.
#[derive(Clone, Copy)]
struct Reader<'a>(&'a Cell<usize>);

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a typed value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let left = self.0.get().checked_sub(1).ok_or_else(|| A::Error::custom("too many values"))?;
        self.0.set(left);
        if map.next_key::<Field>()? != Some(Field::Type) {
            return Err(A::Error::custom("`type` does not come first"));
        }
        let kind: Kind = map.next_value()?;
        let mut parts = Parts::default();
        while let Some(field) = map.next_key::<Field>()? {
            if !kind.fields().contains(&field) {
                return Err(A::Error::custom(format_args!("{kind:?} has no field {field:?}")));
            }
            self.field(&mut parts, kind, field, &mut map)?;
        }
        parts.into_value(kind)
    }
}

impl Reader<'_> {
    fn field<'de, A: MapAccess<'de>>(
        self,
        parts: &mut Parts,
        kind: Kind,
        field: Field,
        map: &mut A,
    ) -> Result<(), A::Error> {
        /// Reads the field into its place, unless it was there before.
        fn put<T, E: de::Error>(place: &mut Option<T>, field: Field, read: Result<T, E>) -> Result<(), E> {
            match place.replace(read?) {
                Some(_) => Err(E::custom(format_args!("the field {field:?} stands twice"))),
                None => Ok(()),
            }
        }
        match field {
            Field::Value => {
                let read = self.content(kind, map);
                put(&mut parts.value, field, read)
            }
            Field::Entries => put(&mut parts.entries, field, map.next_value_seed(Pairs(self))),
            Field::Preview => put(&mut parts.preview, field, map.next_value_seed(List(self))),
            Field::Properties => put(&mut parts.properties, field, map.next_value_seed(Named(self))),
            Field::Class => put(&mut parts.class, field, map.next_value()),
            Field::Repr => put(&mut parts.repr, field, map.next_value()),
            Field::Reason => put(&mut parts.reason, field, map.next_value()),
            Field::Length => put(&mut parts.length, field, map.next_value()),
            Field::Count => put(&mut parts.count, field, map.next_value()),
            Field::SizeHint => put(&mut parts.size_hint, field, map.next_value()),
            Field::Id => put(&mut parts.id, field, map.next_value()),
            Field::IsList => put(&mut parts.is_list, field, map.next_value()),
            Field::Exhausted => put(&mut parts.exhausted, field, map.next_value()),
            Field::Undefined => put(&mut parts.undefined, field, map.next_value()),
            Field::Big => put(&mut parts.big, field, map.next_value()),
            Field::Truncated => put(&mut parts.truncated, field, map.next_value()),
            Field::Type => Err(A::Error::custom("the field Type stands twice")),
        }
    }

    fn content<'de, A: MapAccess<'de>>(self, kind: Kind, map: &mut A) -> Result<Content, A::Error> {
        match kind {
            Kind::Null => map.next_value::<()>().map(|()| Content::Nothing),
            Kind::Bool => map.next_value().map(Content::Truth),
            Kind::Int | Kind::Float => map.next_value().map(Content::Numeral),
            Kind::Array => map.next_value_seed(Contents(self)).map(Content::Items),
            _ => map.next_value().map(Content::Text),
        }
    }
}

impl Parts {
    /// The value, if it has all that its type needs.
    fn into_value<E: de::Error>(self, kind: Kind) -> Result<Value, E> {
        fn need<T, E: de::Error>(part: Option<T>, name: &'static str) -> Result<T, E> {
            part.ok_or_else(|| E::missing_field(name))
        }
        let class = |class| need(class, "class");
        let truncated = self.truncated.unwrap_or_default();
        Ok(match (kind, self.value) {
            (Kind::Null, Some(Content::Nothing)) => {
                Value::Null { value: (), undefined: self.undefined.unwrap_or_default() }
            }
            (Kind::Bool, Some(Content::Truth(value))) => Value::Bool { value },
            (Kind::Int, Some(Content::Numeral(value))) => {
                Value::Int { value, big: self.big.unwrap_or_default(), truncated, length: self.length }
            }
            (Kind::Float, Some(Content::Numeral(value))) => Value::Float { value },
            (Kind::String, Some(Content::Text(value))) => {
                Value::String { value, truncated, length: self.length }
            }
            (Kind::Bytes, Some(Content::Text(value))) => {
                Value::Bytes { value, length: need(self.length, "length")?, truncated, class: self.class }
            }
            (Kind::Array, value) => Value::Array {
                class: self.class,
                is_list: need(self.is_list, "is_list")?,
                count: need(self.count, "count")?,
                value: match value {
                    Some(Content::Items(items)) => Some(items),
                    _ => None,
                },
                entries: self.entries,
                truncated,
                id: self.id,
            },
            (Kind::Iterable, _) => Value::Iterable {
                class: class(self.class)?,
                preview: self.preview,
                exhausted: need(self.exhausted, "exhausted")?,
                size_hint: self.size_hint,
                truncated,
                id: self.id,
            },
            (Kind::Object, _) => Value::Object {
                class: class(self.class)?,
                id: need(self.id, "id")?,
                properties: self.properties,
                repr: self.repr,
                truncated,
            },
            (Kind::Reference, _) => Value::Reference { class: class(self.class)?, id: need(self.id, "id")? },
            (Kind::Resource, _) => Value::Resource { class: class(self.class)?, id: need(self.id, "id")? },
            (Kind::Unknown, _) => {
                Value::Unknown { class: class(self.class)?, reason: need(self.reason, "reason")? }
            }
            _ => return Err(E::missing_field("value")),
        })
    }
}

/// A list of values.
struct List<'a>(Reader<'a>);

impl<'de> DeserializeSeed<'de> for List<'_> {
    type Value = Vec<Value>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Vec<Value>, D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for List<'_> {
    type Value = Vec<Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of typed values")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<Value>, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element_seed(self.0)? {
            values.push(value);
        }
        Ok(values)
    }
}

/// Values by name.
struct Named<'a>(Reader<'a>);

impl<'de> DeserializeSeed<'de> for Named<'_> {
    type Value = Fields;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Fields, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Named<'_> {
    type Value = Fields;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("typed values by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
        let mut fields = Fields::default();
        while let Some(name) = map.next_key()? {
            fields.insert(name, map.next_value_seed(self.0)?);
        }
        Ok(fields)
    }
}

/// What an array holds: a list, or values by name.
struct Contents<'a>(Reader<'a>);

impl<'de> DeserializeSeed<'de> for Contents<'_> {
    type Value = Items;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Items, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Contents<'_> {
    type Value = Items;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of typed values, or typed values by name")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Items, A::Error> {
        List(self.0).visit_seq(list).map(Items::List)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Items, A::Error> {
        Named(self.0).visit_map(map).map(Items::Dictionary)
    }
}

/// A list of pairs, each a list of two.
struct Pairs<'a>(Reader<'a>);

impl<'de> DeserializeSeed<'de> for Pairs<'_> {
    type Value = Vec<(Value, Value)>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Pairs<'_> {
    type Value = Vec<(Value, Value)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of pairs of typed values")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = list.next_element_seed(Pair(self.0))? {
            pairs.push(pair);
        }
        Ok(pairs)
    }
}

/// One pair.
struct Pair<'a>(Reader<'a>);

impl<'de> DeserializeSeed<'de> for Pair<'_> {
    type Value = (Value, Value);

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Pair<'_> {
    type Value = (Value, Value);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a pair of typed values")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut next = || -> Result<Value, A::Error> {
            list.next_element_seed(self.0)?.ok_or_else(|| A::Error::custom("a pair is cut"))
        };
        let pair = (next()?, next()?);
        match list.next_element::<IgnoredAny>()? {
            Some(_) => Err(A::Error::custom("a pair has a third part")),
            None => Ok(pair),
        }
    }
}

impl<'de> Deserialize<'de> for Numeral {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Read;
        impl Visitor<'_> for Read {
            type Value = Numeral;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, or a text in its place")
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Numeral, E> {
                Ok(Numeral::Number(number.into()))
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Numeral, E> {
                Ok(Numeral::Number(number.into()))
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Numeral, E> {
                let number = serde_json::Number::from_f64(number);
                number.map(Numeral::Number).ok_or_else(|| E::custom("not a JSON number"))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Numeral, E> {
                Ok(Numeral::Text(text.to_owned()))
            }
        }
        from.deserialize_any(Read)
    }
}
