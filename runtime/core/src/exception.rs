//! An exception of a guest language (docs/values.md).

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// What a snippet raised. Everything in it is text of the guest's, bounded by [`Bounds`](crate::Bounds).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exception {
    /// Name of the class.
    pub class: String,
    /// Its message.
    pub message: String,
    /// A number or a string, where the language has one.
    #[serde(default)]
    pub code: serde_json::Value,
    /// File, as the language names it.
    #[serde(default)]
    pub file: Option<String>,
    /// Line, from 1.
    #[serde(default)]
    pub line: Option<u32>,
    /// Column, from 1.
    #[serde(default)]
    pub column: Option<u32>,
    /// `function (file:line)`, innermost first.
    #[serde(default)]
    pub stack_trace: Vec<String>,
    /// The source line that raised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
    /// The language's own rendering.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceback: Option<String>,
    /// Causes, nearest first, at most 10; they have none of their own.
    #[serde(default)]
    pub previous: Vec<Exception>,
}

impl Exception {
    /// Reads the JSON text that a guest made.
    ///
    /// # Errors
    /// `guest_trap` when it is not of the documented form: the guest is broken or hostile.
    pub fn from_guest(json: &str) -> Result<Self> {
        serde_json::from_str(json).map_err(|error| {
            Error::new(crate::ErrorCode::GuestTrap, "the guest sent an exception of an unknown form")
                .with_source(error)
        })
    }
}
