//! What a tool is: its listing, its arguments and its answer, each declared once as a Rust type.
//!
//! | what is declared | with | gives |
//! | --- | --- | --- |
//! | the arguments of a call | `arguments!`, a [`Row`] for each | the type, its table of [`Field`]s, the reading of a call |
//! | words that an argument can be | `words!` | an enum |
//! | an answer | `answer!`, a text for each field | the type, its schema, its JSON |
//!
//! From the table come the published schema ([`schema`]) and the check of a call before any work ([`decode`]), so that the
//! two cannot differ.

pub(crate) mod answer;
mod arguments;
mod decode;
mod field;
mod order;
pub(crate) mod outcome;
mod row;
pub(crate) mod schema;
mod value;

use serde_json::Value as Json;

pub(crate) use self::answer::{
    Answered, ErrorFields, Flat, FromOne, Inline, Nested, OrNull, answer, error_schema, list_of,
};
pub(crate) use self::arguments::{Nothing, arguments, words};
pub(crate) use self::decode::Checked;
pub use self::decode::{by_likeness, nearest};
pub(crate) use self::field::{Field, Role};
pub(crate) use self::order::Order;
pub(crate) use self::row::{
    Row, Rows, Table, any_text, choice, flag, integer, limit, number, object, text, texts,
};
pub(crate) use self::value::{Given, Scalar, Take, Value, Word, unlike};

/// What a client may assume about a tool, decided once at start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Annotations {
    /// It changes nothing outside the sandbox.
    pub read_only: bool,
    /// It can remove or overwrite something outside the sandbox, or takes away a sandbox's state for good.
    pub destructive: bool,
    /// Calling it twice has the same effect as calling it once.
    pub idempotent: bool,
    /// It reaches the network.
    pub open_world: bool,
}

/// It only looks.
pub(crate) const LOOKS: Annotations =
    Annotations { read_only: true, destructive: false, idempotent: true, open_world: false };
/// It changes something inside.
pub(crate) const CHANGES: Annotations =
    Annotations { read_only: false, destructive: false, idempotent: false, open_world: false };
/// It changes something inside, and is idempotent.
pub(crate) const SETTLES: Annotations = Annotations { idempotent: true, ..CHANGES };
/// It takes away what cannot be had back, and is idempotent.
pub(crate) const REMOVES: Annotations = Annotations { destructive: true, ..SETTLES };
/// It changes something inside, and reaches the network.
pub(crate) const FETCHES: Annotations = Annotations { open_world: true, ..CHANGES };

/// One tool, as it is listed. It never changes while the process lives.
#[derive(Clone, Debug)]
pub struct ToolSpec {
    /// Its name: `[a-z][a-z0-9_]*`, at most 32 characters; in the profile `codegen` the seed's own, such as `Read`.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// What it does and when to use it, for a model.
    pub description: String,
    /// JSON Schema of its arguments object, of keywords that every known client takes.
    pub input_schema: Json,
    /// JSON Schema that every answer's `structured` fulfils, errors too.
    pub output_schema: Json,
    /// Fields that every answer has but a refusal, in the schema's order.
    pub answered: Vec<&'static str>,
    /// What a client may assume.
    pub annotations: Annotations,
}
