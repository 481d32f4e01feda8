//! Rows of a table of arguments, each with the Rust type that it is read as.

use std::marker::PhantomData;

use dormouse_core::Result;
use serde_json::{Map, Value as Json};

use super::decode::decode;
use super::field::{Absent, Field, Kind, Role};
use super::value::{Given, Parsed, Scalar, Take, Word};

/// One argument without its name, which is that of the struct's field. A new row is required; [`Row::optional`] and
/// [`Row::or`] change that.
pub(crate) struct Row<T> {
    kind: Kind,
    description: String,
    role: Option<Role>,
    read_as: PhantomData<fn() -> T>,
}

impl<T> Row<T> {
    fn new(kind: Kind, description: impl Into<String>) -> Self {
        Self { kind, description: description.into(), role: None, read_as: PhantomData }
    }

    fn read_as<U>(self) -> Row<U> {
        Row { kind: self.kind, description: self.description, role: self.role, read_as: PhantomData }
    }

    /// What it stands for.
    pub(crate) fn role(self, role: Role) -> Self {
        Self { role: Some(role), ..self }
    }

    /// Longer texts than this have no meaning. Whoever reads the text refuses them, or finds nothing of that name.
    pub(crate) fn characters(mut self, most: usize) -> Self {
        if let Kind::Text { characters, .. } = &mut self.kind {
            *characters = Some(most);
        }
        self
    }

    /// It may be left out, and has no value then.
    pub(crate) fn optional(mut self) -> Row<Option<T>> {
        match &mut self.kind {
            Kind::Text { absent, .. } | Kind::Choice { absent, .. } => *absent = Absent::None,
            Kind::Integer { absent, .. } | Kind::Number { absent, .. } => *absent = Absent::None,
            Kind::Object { needed } => *needed = false,
            Kind::Flag { .. } | Kind::Texts { .. } => {}
        }
        self.read_as()
    }

    /// It may be left out, and is `default` then.
    pub(crate) fn or(mut self, default: T::Default) -> Self
    where
        T: Scalar,
    {
        T::set_default(&mut self.kind, default);
        self
    }

    /// It may be left out; it is `default` then, if there is one, and has no value if there is none.
    pub(crate) fn or_maybe(self, default: Option<T::Default>) -> Row<Option<T>>
    where
        T: Scalar,
    {
        match default {
            Some(default) => self.or(default).read_as(),
            None => self.optional(),
        }
    }

    /// The same, telling as well whether the caller gave it.
    pub(crate) fn given(self) -> Row<Given<T>> {
        self.read_as()
    }
}

/// Text of at least one byte.
pub(crate) fn text<T: Parsed>(max: usize, description: impl Into<String>) -> Row<T> {
    Row::new(Kind::Text { min: 1, max, characters: T::CHARACTERS, absent: Absent::Refused }, description)
}

/// Text that may be empty.
pub(crate) fn any_text(max: usize, description: impl Into<String>) -> Row<String> {
    Row::new(Kind::Text { min: 0, max, characters: None, absent: Absent::Refused }, description)
}

/// A whole number within these bounds, both inclusive.
pub(crate) fn integer<N>((min, max): (u64, u64), description: impl Into<String>) -> Row<N> {
    Row::new(Kind::Integer { min, max, absent: Absent::Refused }, description)
}

/// A number, rounded up to a whole one.
pub(crate) fn number((min, max): (u64, u64), description: impl Into<String>) -> Row<u64> {
    Row::new(Kind::Number { min, max, absent: Absent::Refused }, description)
}

/// A whole number that the operator bounds: bounds and default are kept in order and told at the end of the text.
pub(crate) fn limit<N: Scalar<Default = u64>>((min, max): (u64, u64), default: u64, what: &str) -> Row<N> {
    let min = min.min(max);
    let default = default.clamp(min, max);
    integer((min, max), format!("{what}. Default {default}, from {min} to {max}.")).or(default)
}

/// A flag that is false when it is left out.
pub(crate) fn flag(description: impl Into<String>) -> Row<bool> {
    Row::new(Kind::Flag { default: false }, description)
}

/// One of the words of an enum, the first when it is left out.
pub(crate) fn choice<W: Word>(description: impl Into<String>) -> Row<W> {
    let absent = W::WORDS.first().map_or(Absent::None, |first| Absent::Default(*first));
    Row::new(Kind::Choice { of: W::WORDS, absent }, description)
}

/// A list of texts; none when it is left out.
pub(crate) fn texts(most: usize, bytes: usize, description: impl Into<String>) -> Row<Vec<String>> {
    Row::new(Kind::Texts { most, bytes }, description)
}

/// A JSON object.
pub(crate) fn object(description: impl Into<String>) -> Row<Map<String, Json>> {
    Row::new(Kind::Object { needed: true }, description)
}

/// What a field of arguments is declared by: a row, or the table of a struct whose fields stand among the others.
pub(crate) trait Rows<T> {
    /// Adds them.
    fn add(self, name: &'static str, fields: &mut Vec<Field>);
}

impl<T> Rows<T> for Row<T> {
    fn add(self, name: &'static str, fields: &mut Vec<Field>) {
        fields.push(Field { name, description: self.description, kind: self.kind, role: self.role });
    }
}

impl<T> Rows<T> for Table<T> {
    fn add(self, _: &'static str, fields: &mut Vec<Field>) {
        fields.extend(self.fields);
    }
}

/// The table of a struct of arguments.
pub(crate) struct Table<T> {
    fields: Vec<Field>,
    read_as: PhantomData<fn() -> T>,
}

impl<T: Take> Table<T> {
    /// Of these rows, in the order in which they are read.
    pub(crate) fn of(fields: Vec<Field>) -> Self {
        Self { fields, read_as: PhantomData }
    }

    /// Its rows.
    pub(crate) fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The arguments of a call.
    ///
    /// # Errors
    /// `args_invalid` and `too_large`, as of [`decode`]; what a path, a name or a language is refused for.
    pub(crate) fn decode(&self, arguments: Map<String, Json>) -> Result<T> {
        T::take(&mut decode(&self.fields, arguments)?)
    }
}
