//! What a run did with its network, for its outcome: an agent learns what to ask its operator for.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use dormouse_core::network::{Denied, NetworkUse};

use crate::budget::Spent;
use crate::host::Host;
use crate::reason::{Reason, Refusal};

/// Most refusals that are told.
const MOST: usize = 16;

/// What is counted while a run lasts.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    denied: Mutex<Vec<Denied>>,
    masked: AtomicU64,
    /// Whether the budget of requests was spent, and somebody asked on.
    is_past: AtomicBool,
    /// Whether there were as many connections as may be, and somebody asked for one more.
    is_crowded: AtomicBool,
}

impl Tally {
    /// Whether it is to be written down: of those for which the budget of requests is spent, and of those that found no connection
    /// free, the first.
    pub(crate) fn refused(&self, host: &Host, port: u16, refusal: &Refusal) -> bool {
        let (reason, rule) = (refusal.reason, refusal.rule.clone());
        let new = Denied { host: host.to_string(), port, reason: reason.word().into(), rule };
        let mut denied = self.denied.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if denied.len() < MOST && !denied.contains(&new) {
            denied.push(new);
        }
        match reason {
            Reason::Requests => !self.is_past.swap(true, Ordering::Relaxed),
            Reason::Connections => !self.is_crowded.swap(true, Ordering::Relaxed),
            _ => true,
        }
    }

    pub(crate) fn masked(&self, count: u64) {
        self.masked.fetch_add(count, Ordering::Relaxed);
    }

    /// Goes on where a run has done this before.
    pub(crate) fn begin_with(&self, before: &NetworkUse) {
        self.masked(before.secrets_masked);
        self.denied.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone_from(&before.denied);
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
