//! The table of a tool's arguments. [`schema`](crate::schema) publishes it and [`decode`](mod@crate::decode) enforces it, so
//! that the two cannot drift apart.

/// One argument.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name, `[a-z][a-z0-9_]*`.
    pub name: &'static str,
    /// What it is for, with unit, default and limits, as the model reads it.
    pub description: String,
    /// What it takes.
    pub kind: Kind,
}

/// What an argument takes. An optional one that is null counts as left out ([`decode`](mod@crate::decode)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text; the bounds are UTF-8 bytes, both inclusive.
    Text {
        /// Fewest bytes.
        min: usize,
        /// Most bytes.
        max: usize,
        /// What is taken when it is left out.
        absent: Absent<&'static str>,
    },
    /// A whole number; the bounds are inclusive and at most 2^53 - 1, what JSON carries exactly.
    Integer {
        /// The least.
        min: u64,
        /// The most.
        max: u64,
        /// What is taken when it is left out.
        absent: Absent<u64>,
    },
    /// A number, of which the next whole one is taken; the bounds are that one's, as of [`Kind::Integer`].
    Number {
        /// The least.
        min: u64,
        /// The most.
        max: u64,
        /// What is taken when it is left out.
        absent: Absent<u64>,
    },
    /// True or false.
    Flag {
        /// What is taken when it is left out.
        default: bool,
    },
    /// One of a few words.
    Choice {
        /// The words.
        of: &'static [&'static str],
        /// What is taken when it is left out.
        absent: Absent<&'static str>,
    },
    /// A list of texts. Left out: none.
    Texts {
        /// Most texts.
        most: usize,
        /// Most UTF-8 bytes of all of them together.
        bytes: usize,
    },
    /// A JSON object, whose form is looked at by whoever takes it.
    Object {
        /// Whether a call without it is refused.
        needed: bool,
    },
}

/// What happens when an argument is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Absent<T> {
    /// The call is refused.
    Refused,
    /// It has no value.
    None,
    /// It has this value.
    Default(T),
}

impl Field {
    /// A row of the table.
    pub fn new(name: &'static str, kind: Kind, description: impl Into<String>) -> Self {
        Self { name, description: description.into(), kind }
    }

    /// Whether a call without it is refused.
    pub fn is_required(&self) -> bool {
        matches!(
            self.kind,
            Kind::Text { absent: Absent::Refused, .. }
                | Kind::Integer { absent: Absent::Refused, .. }
                | Kind::Number { absent: Absent::Refused, .. }
                | Kind::Choice { absent: Absent::Refused, .. }
                | Kind::Object { needed: true }
        )
    }
}

/// Short ways to write rows.
impl Field {
    /// Text of at least one byte.
    pub(crate) fn text(
        name: &'static str,
        max: usize,
        absent: Absent<&'static str>,
        description: impl Into<String>,
    ) -> Self {
        Self::new(name, Kind::Text { min: 1, max, absent }, description)
    }

    /// A whole number.
    pub(crate) fn integer(
        name: &'static str,
        (min, max): (u64, u64),
        absent: Absent<u64>,
        description: impl Into<String>,
    ) -> Self {
        Self::new(name, Kind::Integer { min, max, absent }, description)
    }

    /// A number, rounded up to a whole one.
    pub(crate) fn number(
        name: &'static str,
        (min, max): (u64, u64),
        absent: Absent<u64>,
        description: impl Into<String>,
    ) -> Self {
        Self::new(name, Kind::Number { min, max, absent }, description)
    }

    /// A flag that is false when it is left out.
    pub(crate) fn flag(name: &'static str, description: impl Into<String>) -> Self {
        Self::new(name, Kind::Flag { default: false }, description)
    }

    /// One of a few words, the first when it is left out.
    pub(crate) fn choice(
        name: &'static str,
        of: &'static [&'static str],
        description: impl Into<String>,
    ) -> Self {
        let absent = of.first().map_or(Absent::None, |first| Absent::Default(*first));
        Self::new(name, Kind::Choice { of, absent }, description)
    }
}
