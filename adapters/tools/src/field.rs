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

/// What an argument takes. Null is never taken: an optional argument is left out.
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
    /// True or false.
    Flag {
        /// What is taken when it is left out.
        default: bool,
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
            Kind::Text { absent: Absent::Refused, .. } | Kind::Integer { absent: Absent::Refused, .. }
        )
    }
}
