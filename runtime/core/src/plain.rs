//! Calls of tools that a program's text shows, to be looked at before it runs.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

/// A call of a tool whose names stand in a program's text, and whose failure nothing in the text can catch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlainCall {
    /// The line in which the tool is named, from 1.
    pub line: u32,
    /// The names behind `tools`, with dots between them: `SERVER.TOOL`.
    pub name: String,
    /// The arguments that are literals.
    pub literals: Map<String, Json>,
    /// The names of the others.
    pub others: Vec<String>,
    /// Whether the text shows all arguments: none is spread or has a name that is worked out.
    pub whole: bool,
    /// Whether an argument has no name, where tools take theirs by name.
    pub positional: bool,
}

impl PlainCall {
    /// Whether it gives an argument of that name.
    pub fn gives(&self, name: &str) -> bool {
        self.literals.contains_key(name) || self.others.iter().any(|other| other == name)
    }
}
