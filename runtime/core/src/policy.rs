//! What the operator allows, decided once at start.

use crate::Limits;

/// The operator's rules. Requests can only stay within them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The most a request can ask for.
    pub ceiling: Limits,
    /// What a request gets that asks for nothing.
    pub defaults: Limits,
    /// Whether a request may mount a folder for writing. Default false.
    pub allow_writes: bool,
    /// Whether a snippet may make code from text (S1-24). Default true.
    pub allow_eval: bool,
    /// Runs at one time; more wait. Default 64, from 1.
    pub max_running: usize,
    /// Runs that may wait; more are refused with `busy`. Default 1 024.
    pub max_waiting: usize,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            ceiling: Limits::ceiling(),
            defaults: Limits::default(),
            allow_writes: false,
            allow_eval: true,
            max_running: 64,
            max_waiting: 1_024,
        }
    }
}
