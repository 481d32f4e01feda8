//! What the operator allows, decided once at start.

use std::time::Duration;

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
    /// Runs at one time; more wait. Default 64, from 1. Jobs are not among them.
    pub max_running: usize,
    /// Runs that may wait; more are refused with `busy`. Default 1 024.
    pub max_waiting: usize,
    /// How long a run waits for a place; then it is refused with `busy`. Default 30 s.
    pub max_wait: Duration,
    /// Jobs at one time, of all sandboxes; more are refused with `busy`. Default 32, from 1.
    pub max_jobs: usize,
    /// Bytes that all runs together may add to the memory that their interpreters begin with; what an interpreter of a sandbox
    /// has from before counts while it is called. More is refused, which a language tells as being out of memory; a run that
    /// ends with that is `busy`. Default none: a quarter of the machine's memory, where somebody looks at it; else no bound.
    pub max_memory: Option<u64>,
    /// Whether several owners share what there is: nobody then gets a place, an interpreter in memory or a container while
    /// he has as many of them as are free, so that some are free for whoever comes next. Default false: whoever calls is
    /// one owner, who may have all.
    pub owners_share: bool,
}

impl Policy {
    /// How many runs may wait for functions of the host without a place, beyond [`Policy::max_running`]: as many again, and at least 64.
    /// Where owners share the places, none: what an owner has in memory is a part of his share.
    pub fn most_waiting_for_functions(&self) -> usize {
        if self.owners_share { 0 } else { self.max_running.max(64) }
    }
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
            max_wait: Duration::from_secs(30),
            max_jobs: 32,
            max_memory: None,
            owners_share: false,
        }
    }
}
