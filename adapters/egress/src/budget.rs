//! What may be spent: by a run, by an owner and by the process. Whatever is spent counts for all three.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dormouse_core::network::NetworkUse;
use tokio::sync::watch;

use crate::reason::{Reason, Refusal};

/// How much may be spent. What is counted is since the run, the owner or the process began; connections are those open at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Requests, refused ones too.
    pub requests: u64,
    /// Connections at one time.
    pub connections: u64,
    /// Bytes of bodies that are sent.
    pub bytes_out: u64,
    /// Bytes of bodies that come back.
    pub bytes_in: u64,
}

impl Default for Budget {
    /// Of a run: 1000 requests, 16 connections, 16 MiB out, 64 MiB in.
    fn default() -> Self {
        Self { requests: 1_000, connections: 16, bytes_out: 16 << 20, bytes_in: 64 << 20 }
    }
}

impl Budget {
    /// No bound but one for connections at one time.
    pub const fn connections(connections: u64) -> Self {
        Self { requests: u64::MAX, connections, bytes_out: u64::MAX, bytes_in: u64::MAX }
    }

    /// The smaller of two in everything.
    #[must_use]
    pub fn within(self, other: Self) -> Self {
        Self {
            requests: self.requests.min(other.requests),
            connections: self.connections.min(other.connections),
            bytes_out: self.bytes_out.min(other.bytes_out),
            bytes_in: self.bytes_in.min(other.bytes_in),
        }
    }
}

/// The budgets of an installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budgets {
    /// Of each run.
    pub run: Budget,
    /// Of each owner. Default: 128 connections, the rest without bound.
    pub owner: Budget,
    /// Of the process. Default: 1024 connections, the rest without bound.
    pub process: Budget,
}

impl Default for Budgets {
    fn default() -> Self {
        Self { run: Budget::default(), owner: Budget::connections(128), process: Budget::connections(1_024) }
    }
}

/// What has been spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Requests.
    pub requests: u64,
    /// Bytes of bodies that were sent.
    pub bytes_out: u64,
    /// Bytes of bodies that came back.
    pub bytes_in: u64,
}

/// One who spends: a run, an owner, the process.
#[derive(Debug)]
pub(crate) struct Purse {
    whose: &'static str,
    requests: Count,
    connections: Count,
    bytes_out: Count,
    bytes_in: Count,
    /// Whether a connection was refused for want of places.
    crowded: watch::Sender<bool>,
}

/// What has been spent of one thing, and how much may be.
#[derive(Debug)]
struct Count {
    spent: AtomicU64,
    most: AtomicU64,
}

impl Count {
    fn new(most: u64) -> Self {
        Self { spent: AtomicU64::new(0), most: AtomicU64::new(most) }
    }

    fn read(&self) -> u64 {
        self.spent.load(Ordering::Relaxed)
    }
}

impl Purse {
    /// A full one. `whose` is how refusals call it.
    pub(crate) fn new(whose: &'static str, budget: Budget) -> Self {
        Self {
            whose,
            requests: Count::new(budget.requests),
            connections: Count::new(budget.connections),
            bytes_out: Count::new(budget.bytes_out),
            bytes_in: Count::new(budget.bytes_in),
            crowded: watch::Sender::new(false),
        }
    }

    /// Changes what may be spent. What has been spent stays.
    pub(crate) fn allow(&self, budget: Budget) {
        let Budget { requests, connections, bytes_out, bytes_in } = budget;
        let all = [&self.requests, &self.connections, &self.bytes_out, &self.bytes_in];
        for (count, most) in all.into_iter().zip([requests, connections, bytes_out, bytes_in]) {
            count.most.store(most, Ordering::Relaxed);
        }
    }

    fn count(&self, of: Reason) -> (&Count, &'static str) {
        match of {
            Reason::Requests => (&self.requests, "requests"),
            Reason::Connections => (&self.connections, "connections at one time"),
            Reason::BytesOut => (&self.bytes_out, "bytes that are sent"),
            _ => (&self.bytes_in, "bytes that come back"),
        }
    }

    /// Takes an amount, or nothing.
    fn take(&self, of: Reason, amount: u64) -> Result<(), Refusal> {
        let (count, what) = self.count(of);
        let most = count.most.load(Ordering::Relaxed);
        // A budget that was made smaller than what is spent refuses all but nothing.
        let fits = |had: u64| had.checked_add(amount).filter(|sum| *sum <= most || amount == 0);
        match count.spent.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits) {
            Ok(_) => Ok(()),
            Err(_) => Err(Refusal::new(of, format!("the budget of {} is spent: {most} {what}", self.whose))),
        }
    }

    fn give_back(&self, of: Reason, amount: u64) {
        self.count(of).0.spent.fetch_sub(amount, Ordering::Relaxed);
    }

    fn spent(&self) -> Spent {
        let Self { requests, bytes_out, bytes_in, .. } = self;
        Spent { requests: requests.read(), bytes_out: bytes_out.read(), bytes_in: bytes_in.read() }
    }
}

/// Who spends together: a run, its owner, the process. Cheap to clone; a clone is the same.
#[derive(Clone, Debug)]
pub(crate) struct Account(pub(crate) [Arc<Purse>; 3]);

impl Account {
    /// Spends, with all of them or with none.
    pub(crate) fn spend(&self, of: Reason, amount: u64) -> Result<(), Refusal> {
        for (at, purse) in self.0.iter().enumerate() {
            if let Err(refusal) = purse.take(of, amount) {
                self.0[..at].iter().for_each(|earlier| earlier.give_back(of, amount));
                return Err(refusal);
            }
        }
        Ok(())
    }

    /// A connection, until what is returned is dropped.
    pub(crate) fn connection(&self) -> Result<Held, Refusal> {
        if let Err(refusal) = self.spend(Reason::Connections, 1) {
            self.0[0].crowded.send_replace(true);
            return Err(refusal);
        }
        Ok(Held(self.clone()))
    }

    /// Counts what the run has spent before. Its owner and the process had it from them when it was spent.
    pub(crate) fn begin_with(&self, before: &NetworkUse) {
        let Purse { requests, bytes_out, bytes_in, .. } = &*self.0[0];
        for (count, amount) in
            [(requests, before.requests), (bytes_out, before.bytes_out), (bytes_in, before.bytes_in)]
        {
            count.spent.fetch_add(amount, Ordering::Relaxed);
        }
    }

    /// Waits until the run was refused a connection for want of places. From then on none should be kept that is not in use.
    pub(crate) async fn crowded(&self) {
        // The sender lives as long as `self`.
        let _ = self.0[0].crowded.subscribe().wait_for(|crowded| *crowded).await;
    }

    /// What the run has spent.
    pub(crate) fn spent(&self) -> Spent {
        self.0[0].spent()
    }
}

/// A connection that counts.
#[derive(Debug)]
pub(crate) struct Held(Account);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.0.iter().for_each(|purse| purse.give_back(Reason::Connections, 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn net_22_what_is_spent_counts_for_all_or_for_none() {
        let purse = |whose, connections| Arc::new(Purse::new(whose, Budget::connections(connections)));
        let (owner, process) = (purse("the owner", 3), purse("the process", 4));
        let run = || Account([purse("the run", 2), owner.clone(), process.clone()]);
        let (one, two) = (run(), run());
        let held = [one.connection().unwrap(), one.connection().unwrap()];
        let refusal = one.connection().unwrap_err();
        assert_eq!(refusal.message, "the budget of the run is spent: 2 connections at one time");
        let third = two.connection().unwrap();
        let refusal = two.connection().unwrap_err();
        assert_eq!(refusal.message, "the budget of the owner is spent: 3 connections at one time");
        drop(held);
        // What was refused by the owner was not kept from the run.
        let again = two.connection().unwrap();
        drop((third, again));
        for purse in one.0.iter().chain(&two.0) {
            assert_eq!(purse.connections.read(), 0);
        }
    }

    #[test]
    fn a_budget_holds_at_its_bound() {
        let purse = Purse::new("the run", Budget { bytes_in: 10, ..Budget::default() });
        assert!(purse.take(Reason::BytesIn, 10).is_ok());
        assert!(purse.take(Reason::BytesIn, 1).is_err() && purse.take(Reason::BytesIn, u64::MAX).is_err());
        assert!(purse.take(Reason::BytesIn, 0).is_ok());
        assert_eq!(purse.spent().bytes_in, 10);
        // Another bound, for the same count.
        purse.allow(Budget { bytes_in: 5, ..Budget::default() });
        assert!(purse.take(Reason::BytesIn, 1).is_err() && purse.take(Reason::BytesIn, 0).is_ok());
        purse.allow(Budget { bytes_in: 12, ..Budget::default() });
        assert!(purse.take(Reason::BytesIn, 3).is_err() && purse.take(Reason::BytesIn, 2).is_ok());
    }
}
