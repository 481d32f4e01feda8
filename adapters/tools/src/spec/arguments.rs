//! The macros that declare arguments.

use dormouse_core::Result;

use super::decode::Checked;
use super::row::Table;
use super::value::Take;

/// The arguments of a tool that takes none.
#[derive(Debug)]
pub(crate) struct Nothing;

impl Nothing {
    /// A table without rows.
    pub(crate) fn table() -> Table<Self> {
        Table::of(Vec::new())
    }
}

impl Take for Nothing {
    fn take(_: &mut Checked<'_>) -> Result<Self> {
        Ok(Self)
    }
}

/// Declares a struct of arguments, its table and how it is read:
///
/// ```text
/// arguments! {
///     /// What `sandbox_edit` is asked.
///     pub(crate) struct Edit {
///         target: Target = Target::table(),
///         old: String = text(1 << 20, "The text that is there, at most 1 MiB."),
///         all: bool = flag("Replaces every place where `old` stands. Default false."),
///     }
/// }
/// ```
///
/// Each row names the type of Rust that it is read as, and a field of another type does not compile. A field that is itself
/// such a struct puts its rows among the others. `form as "as"` gives a field another name on the wire. What a table
/// depends on besides stands in parentheses behind the name of the struct.
macro_rules! arguments {
    (
        $(#[$about:meta])*
        $vis:vis struct $name:ident $(($($given:ident: $given_type:ty),* $(,)?))? {
            $($(#[$doc:meta])* $field:ident $(as $wire:literal)? : $type:ty = $row:expr),* $(,)?
        }
    ) => {
        $(#[$about])*
        #[derive(Debug)]
        $vis struct $name {
            $($(#[$doc])* pub(crate) $field: $type,)*
        }

        impl $name {
            /// The table of these arguments.
            $vis fn table($($($given: $given_type),*)?) -> $crate::spec::Table<Self> {
                let mut fields = Vec::new();
                $($crate::spec::Rows::<$type>::add(
                    $row,
                    $crate::spec::arguments!(@wire $field $($wire)?),
                    &mut fields,
                );)*
                $crate::spec::Table::of(fields)
            }
        }

        impl $crate::spec::Take for $name {
            fn take(checked: &mut $crate::spec::Checked<'_>) -> dormouse_core::Result<Self> {
                Ok(Self { $($field: $crate::spec::Take::take(checked)?,)* })
            }
        }
    };
    (@wire $field:ident) => { stringify!($field) };
    (@wire $field:ident $wire:literal) => { $wire };
}

/// Declares an enum of the words that an argument can be. The first is what is taken when it is left out.
macro_rules! words {
    ($(#[$about:meta])* $vis:vis enum $name:ident { $($(#[$doc:meta])* $word:ident = $wire:literal),* $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $name {
            $($(#[$doc])* $word,)*
        }

        impl $crate::spec::Word for $name {
            const WORDS: &'static [&'static str] = &[$($wire),*];

            fn of(word: &str) -> Option<Self> {
                match word {
                    $($wire => Some(Self::$word),)*
                    _ => None,
                }
            }

            fn word(self) -> &'static str {
                match self {
                    $(Self::$word => $wire,)*
                }
            }
        }

        impl $crate::spec::Value for $name {
            fn read(
                field: &$crate::spec::Field,
                value: Option<serde_json::Value>,
                _: bool,
            ) -> dormouse_core::Result<Self> {
                let word = value.as_ref().and_then(serde_json::Value::as_str);
                word.and_then($crate::spec::Word::of).ok_or_else(|| $crate::spec::unlike(field))
            }
        }
    };
}

pub(crate) use {arguments, words};
