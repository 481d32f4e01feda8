//! The table of a tool's arguments as data. [`schema`](super::schema) publishes it and [`decode`](mod@super::decode) enforces it.

/// One argument.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    /// Its name, `[a-z][a-z0-9_]*`; in profiles of a seed the seed's own.
    pub(crate) name: &'static str,
    /// What it is for, with unit, default and limits, as the model reads it.
    pub(crate) description: String,
    /// What it takes.
    pub(crate) kind: Kind,
    /// What the order of calls and their progress have to know of it.
    pub(crate) role: Option<Role>,
}

/// What an argument stands for, whatever it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It names a sandbox by its id or name.
    Sandbox,
    /// It names a sandbox by the caller's own key.
    SessionKey,
    /// It names a checkpoint.
    Checkpoint,
    /// It is the wall-clock limit of the call in milliseconds.
    TimeLimit,
}

/// What an argument takes. An optional one that is null counts as left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Text; the bounds are UTF-8 bytes, both inclusive.
    Text {
        /// Fewest bytes.
        min: usize,
        /// Most bytes.
        max: usize,
        /// Most characters, where what reads it counts them; never more than `max`.
        characters: Option<usize>,
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
pub(crate) enum Absent<T> {
    /// The call is refused.
    Refused,
    /// It has no value.
    None,
    /// It has this value.
    Default(T),
}

impl Field {
    /// Whether a call without it is refused.
    pub(crate) fn is_required(&self) -> bool {
        matches!(
            self.kind,
            Kind::Text { absent: Absent::Refused, .. }
                | Kind::Integer { absent: Absent::Refused, .. }
                | Kind::Number { absent: Absent::Refused, .. }
                | Kind::Choice { absent: Absent::Refused, .. }
                | Kind::Object { needed: true }
        )
    }

    /// The number that is taken when it is left out.
    #[expect(clippy::cast_precision_loss, reason = "bounds are at most 2^53 - 1")]
    pub(crate) fn default_number(&self) -> Option<f64> {
        match self.kind {
            Kind::Integer { absent: Absent::Default(number), .. }
            | Kind::Number { absent: Absent::Default(number), .. } => Some(number as f64),
            _ => None,
        }
    }
}
