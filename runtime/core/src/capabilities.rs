//! What an installation can do, as it tells its callers (`sandbox_capabilities`, `dormouse doctor`).

use serde::Serialize;

use crate::{Abilities, Language, Limits};

/// One language as a provider offers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GuestInfo {
    /// The language.
    pub language: Language,
    /// The interpreter and its version, such as `CPython 3.14.7`.
    pub interpreter: String,
    /// Whether it can run now; else `note` says what is missing.
    pub available: bool,
    /// What is missing, or what is particular about it.
    pub note: Option<String>,
}

/// What an installation can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Names of the providers.
    pub providers: Vec<&'static str>,
    /// What the first of them can do.
    pub abilities: Abilities,
    /// The languages, sorted by name.
    pub guests: Vec<GuestInfo>,
    /// Limits when a caller asks for none.
    pub defaults: Limits,
    /// The most a caller can ask for.
    pub ceiling: Limits,
    /// Whether callers can be granted writes to mounts.
    pub allow_writes: bool,
    /// Whether snippets may make code from text.
    pub allow_eval: bool,
    /// Network modes that can be granted; none yet.
    pub network: &'static str,
}
