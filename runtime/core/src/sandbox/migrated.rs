//! What comes over when an interpreter goes from the guest that its memory belongs to to the current one.

use serde::Serialize;

use crate::GuestName;

/// What came of one interpreter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Migrated {
    /// The guest.
    pub guest: GuestName,
    /// SHA-256 of the build of it that the memory belongs to, in hexadecimal.
    pub from: String,
    /// Why no variable came over; none: the old guest ran, and `carried` and `left` say what came of each.
    pub why: Option<String>,
    /// The variables that came over, sorted.
    pub carried: Vec<String>,
    /// The variables, functions and classes that did not, sorted, each with the reason.
    pub left: Vec<(String, String)>,
}
