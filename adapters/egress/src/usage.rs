//! What a run did with its network, for its outcome: an agent learns what to ask its operator for.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde::Serialize;

use crate::budget::Spent;
use crate::host::Host;
use crate::reason::{Reason, Refusal};

/// Most refusals that are told.
const MOST: usize = 16;

/// What a run did with its network.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NetworkUse {
    /// Requests, refused ones too.
    pub requests: u64,
    /// Bytes of bodies that came back.
    pub bytes_in: u64,
    /// Bytes of bodies that were sent.
    pub bytes_out: u64,
    /// What was refused, each once, at most 16.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<Denied>,
    /// How often a secret's value was masked in an answer.
    pub secrets_masked: u64,
}

/// What was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Denied {
    /// The host.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// What was lacking.
    pub reason: Reason,
    /// The rule that came nearest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

/// What is counted while a run lasts.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    denied: Mutex<Vec<Denied>>,
    masked: AtomicU64,
    /// Whether the budget of requests was spent, and somebody asked on.
    is_past: AtomicBool,
}

impl Tally {
    /// Whether it is to be written down: of those for which the budget of requests is spent, the first.
    pub(crate) fn refused(&self, host: &Host, port: u16, refusal: &Refusal) -> bool {
        let (reason, rule) = (refusal.reason, refusal.rule.clone());
        let new = Denied { host: host.to_string(), port, reason, rule };
        let mut denied = self.denied.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if denied.len() < MOST && !denied.contains(&new) {
            denied.push(new);
        }
        reason != Reason::Requests || !self.is_past.swap(true, Ordering::Relaxed)
    }

    pub(crate) fn masked(&self, count: u64) {
        self.masked.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn told(&self, spent: Spent) -> NetworkUse {
        NetworkUse {
            requests: spent.requests,
            bytes_in: spent.bytes_in,
            bytes_out: spent.bytes_out,
            denied: self.denied.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone(),
            secrets_masked: self.masked.load(Ordering::Relaxed),
        }
    }
}
