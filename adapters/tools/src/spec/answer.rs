//! Answers as Rust types: one declaration gives the type, its schema and its JSON.

use dormouse_core::sandbox::{Cause, CheckpointId, Name, Note, SandboxId, SessionKey, Timestamp};
use dormouse_core::{Error, GuestName, GuestPath};
use serde_json::{Map, Value as Json, json};

use super::schema::{self, Object};
use crate::time::iso8601;

/// Declares an answer, or an object within one:
///
/// ```text
/// answer! {
///     /// What `sandbox_edit` answers.
///     pub(crate) struct Edited {
///         sandbox_id: SandboxId = "The sandbox.",
///         replaced: usize = "In how many places.",
///         note: Option<String> = "Only when there is one.",
///     }
/// }
/// ```
///
/// The text behind a field describes it in the schema, whose type follows from the Rust type; a whole schema can stand there
/// instead. What is `None` is left out. `kind as "type"` gives a field another name on the wire. An object in a list says
/// what one of it is: `struct Entry = "One name." { ... }`.
macro_rules! answer {
    (
        $(#[$about:meta])*
        $vis:vis struct $name:ident $(= $one:literal)? {
            $($(#[$doc:meta])* $field:ident $(as $wire:literal)? : $type:ty = $described:expr),* $(,)?
        }
    ) => {
        $(#[$about])*
        $vis struct $name {
            $($(#[$doc])* pub(crate) $field: $type,)*
        }

        impl $crate::spec::Answered for $name {
            fn about() -> Option<&'static str> {
                None::<&'static str>$(.or(Some($one)))?
            }

            fn properties(into: &mut $crate::spec::answer::Properties) {
                $($crate::spec::answer::Describe::<$type>::describe(
                    $described,
                    $crate::spec::arguments!(@wire $field $($wire)?),
                    into,
                );)*
            }

            fn write(self, into: &mut serde_json::Map<String, serde_json::Value>) {
                $($crate::spec::answer::Write::write(
                    self.$field,
                    $crate::spec::arguments!(@wire $field $($wire)?),
                    into,
                );)*
            }
        }
    };
}
pub(crate) use answer;

/// An object of an answer: see `answer!`.
pub(crate) trait Answered: Sized {
    /// What one of them is, for a list.
    fn about() -> Option<&'static str>;

    /// Adds its fields.
    fn properties(into: &mut Properties);

    /// Writes its fields.
    fn write(self, into: &mut Map<String, Json>);

    /// Its fields.
    fn into_fields(self) -> Map<String, Json> {
        let mut fields = Map::new();
        self.write(&mut fields);
        fields
    }

    /// Its schema, where everything is there that is not optional.
    fn schema() -> Object {
        let mut all = Properties::default();
        Self::properties(&mut all);
        let object = Self::about().map_or_else(Object::new, |text| Object::new().description(text));
        all.0.into_iter().fold(object, |object, property| match property.optional {
            true => object.optional(property.name, property.schema),
            false => object.required(property.name, property.schema),
        })
    }

    /// The fields that are always there.
    fn always() -> Vec<&'static str> {
        let mut all = Properties::default();
        Self::properties(&mut all);
        all.0.into_iter().filter(|property| !property.optional).map(|property| property.name).collect()
    }

    /// Its schema as the answer of a tool, of which a refusal has nothing.
    fn answer_schema() -> Object {
        let mut all = Properties::default();
        Self::properties(&mut all);
        let object = Object::new();
        all.0.into_iter().fold(object, |object, property| object.optional(property.name, property.schema))
    }
}

/// The fields of an object of an answer.
#[derive(Default)]
pub(crate) struct Properties(Vec<Property>);

struct Property {
    name: &'static str,
    schema: Json,
    optional: bool,
}

/// What describes a field of this type.
pub(crate) trait Describe<T> {
    /// Adds the field, or the fields of the object whose fields stand among the others.
    fn describe(self, name: &'static str, into: &mut Properties);
}

impl<T: Described> Describe<T> for &'static str {
    fn describe(self, name: &'static str, into: &mut Properties) {
        into.0.push(Property { name, schema: T::schema(self), optional: T::OPTIONAL });
    }
}

impl<T: Part> Describe<T> for Json {
    fn describe(self, name: &'static str, into: &mut Properties) {
        into.0.push(Property { name, schema: self, optional: T::OPTIONAL });
    }
}

/// Describes a field whose own fields stand among the others.
pub(crate) struct Inline;

impl<T: Answered> Describe<Flat<T>> for Inline {
    fn describe(self, _: &'static str, into: &mut Properties) {
        T::properties(into);
    }
}

impl<T: Answered> Describe<Option<Flat<T>>> for Inline {
    fn describe(self, _: &'static str, into: &mut Properties) {
        let mut all = Properties::default();
        T::properties(&mut all);
        into.0.extend(all.0.into_iter().map(|property| Property { optional: true, ..property }));
    }
}

/// An object whose fields stand among the others.
pub(crate) struct Flat<T>(pub(crate) T);

/// What a field writes.
pub(crate) trait Write {
    /// Adds it.
    fn write(self, name: &'static str, into: &mut Map<String, Json>);
}

impl<T: Part> Write for T {
    fn write(self, name: &'static str, into: &mut Map<String, Json>) {
        if let Some(json) = self.json() {
            into.insert(name.into(), json);
        }
    }
}

impl<T: Answered> Write for Flat<T> {
    fn write(self, _: &'static str, into: &mut Map<String, Json>) {
        self.0.write(into);
    }
}

impl<T: Answered> Write for Option<Flat<T>> {
    fn write(self, name: &'static str, into: &mut Map<String, Json>) {
        if let Some(fields) = self {
            fields.write(name, into);
        }
    }
}

/// A value of an answer.
pub(crate) trait Part {
    /// Whether it can be left out.
    const OPTIONAL: bool = false;

    /// Its JSON; none when it is left out.
    fn json(self) -> Option<Json>;
}

/// A value whose schema follows from its type.
pub(crate) trait Described: Part {
    /// The schema with a text.
    fn schema(description: &'static str) -> Json;
}

/// Values that are written in one way and described in one way.
macro_rules! described {
    ($($of:ty: |$value:ident| $json:expr, |$text:ident| $schema:expr;)*) => {$(
        impl Part for $of {
            fn json(self) -> Option<Json> {
                let $value = self;
                Some($json)
            }
        }
        impl Described for $of {
            fn schema($text: &'static str) -> Json {
                $schema
            }
        }
    )*};
}
described! {
    String: |text| text.into(), |about| schema::text(about);
    &'static str: |text| text.into(), |about| schema::text(about);
    SandboxId: |id| id.as_str().into(), |about| schema::text(about);
    CheckpointId: |id| id.as_str().into(), |about| schema::text(about);
    Name: |name| name.as_str().into(), |about| schema::text(about);
    Note: |note| note.as_str().into(), |about| schema::text(about);
    SessionKey: |key| key.as_str().into(), |about| schema::text(about);
    GuestPath: |path| path.as_str().into(), |about| schema::text(about);
    GuestName: |guest| guest.as_str().into(), |about| schema::text(about);
    Timestamp: |at| iso8601(at).into(), |about| schema::text(about);
    bool: |flag| flag.into(), |about| schema::flag(about);
    u32: |number| number.into(), |about| schema::integer(0, about);
    u64: |number| number.into(), |about| schema::integer(0, about);
    usize: |number| number.into(), |about| schema::integer(0, about);
    i32: |number| number.into(), |about| schema::integer(0, about);
    f64: |number| number.into(), |about| schema::number(about);
    FromOne: |number| number.0.into(), |about| schema::integer(1, about);
    ErrorFields: |error| error.into_json(), |about| error_schema(about);
}

impl Part for Json {
    fn json(self) -> Option<Json> {
        Some(self)
    }
}

/// A number that counts from 1.
pub(crate) struct FromOne(pub(crate) u64);

impl<T: Part> Part for Option<T> {
    const OPTIONAL: bool = true;

    fn json(self) -> Option<Json> {
        self.and_then(Part::json)
    }
}

impl<T: Described> Described for Option<T> {
    fn schema(description: &'static str) -> Json {
        T::schema(description)
    }
}

impl Part for Vec<String> {
    fn json(self) -> Option<Json> {
        Some(self.into())
    }
}

impl Part for Vec<&'static str> {
    fn json(self) -> Option<Json> {
        Some(self.into())
    }
}

impl Part for Vec<GuestName> {
    fn json(self) -> Option<Json> {
        Some(self.iter().map(GuestName::as_str).collect())
    }
}

/// The schema of a list of texts.
pub(crate) fn list_of(one: &'static str, all: &'static str) -> Json {
    schema::list(&schema::text(one), all)
}

impl<T: Answered> Part for Vec<T> {
    fn json(self) -> Option<Json> {
        Some(self.into_iter().map(|one| Json::Object(one.into_fields())).collect())
    }
}

impl<T: Answered> Described for Vec<T> {
    fn schema(description: &'static str) -> Json {
        schema::list(&T::schema().build(), description)
    }
}

/// An object within an answer.
pub(crate) struct Nested<T>(pub(crate) T);

impl<T: Answered> Part for Nested<T> {
    fn json(self) -> Option<Json> {
        Some(Json::Object(self.0.into_fields()))
    }
}

impl<T: Answered> Described for Nested<T> {
    fn schema(description: &'static str) -> Json {
        T::schema().description(description).build()
    }
}

/// What is always there, and null when there is none.
pub(crate) struct OrNull<T>(pub(crate) Option<T>);

impl<T: Part> Part for OrNull<T> {
    fn json(self) -> Option<Json> {
        Some(self.0.and_then(Part::json).unwrap_or_default())
    }
}

impl<T: Answered> Described for OrNull<Nested<T>> {
    fn schema(description: &'static str) -> Json {
        T::schema().description(description).or_null()
    }
}

impl Described for OrNull<ErrorFields> {
    fn schema(description: &'static str) -> Json {
        error_schema(description)
    }
}

impl Described for OrNull<String> {
    fn schema(description: &'static str) -> Json {
        schema::text_or_null(description)
    }
}

impl Described for OrNull<FromOne> {
    fn schema(description: &'static str) -> Json {
        schema::number_or_null(description)
    }
}

/// An error as answers tell it.
#[derive(Clone, Debug)]
pub(crate) struct ErrorFields {
    code: &'static str,
    message: String,
    hint: String,
}

impl ErrorFields {
    /// Of this one; the hint is the advice of its code where it has none of its own.
    pub(crate) fn of(error: &Error) -> Self {
        let hint = error.hint().unwrap_or_else(|| error.code().advice()).to_owned();
        Self { code: error.code().as_str(), message: error.to_string(), hint }
    }

    /// Of one that a record has kept.
    pub(crate) fn of_cause(cause: &Cause) -> Self {
        let hint = cause.hint.clone().unwrap_or_else(|| cause.code.advice().to_owned());
        Self { code: cause.code.as_str(), message: cause.message.clone(), hint }
    }

    /// What happened.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// `{code, message, hint}`.
    pub(crate) fn into_json(self) -> Json {
        json!({"code": self.code, "message": self.message, "hint": self.hint})
    }
}

/// The schema of an error: an object, or null.
pub(crate) fn error_schema(description: &'static str) -> Json {
    Object::new()
        .description(description)
        .required("code", schema::text("Stable name, such as limit_time, limit_memory, args_invalid, busy."))
        .required("message", schema::text("What happened, with the limit and the value."))
        .required("hint", schema::text("What to do about it."))
        .or_null()
}
