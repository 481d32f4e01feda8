//! Places that owners share: so many in all, and so many for each, so that no owner can hold all of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::sandbox::Owner;

/// Owners that are remembered before those without a place are forgotten.
const REMEMBERED: usize = 1_024;

/// The places. Who waits holds none: first for a place of the owner's, then for one of all.
#[derive(Debug)]
pub struct Shares {
    all: Arc<Semaphore>,
    each: usize,
    owners: Mutex<HashMap<Owner, Arc<Semaphore>>>,
}

/// One or more places. Dropping it gives them back.
#[derive(Debug)]
pub struct Share {
    _owners: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

impl Shares {
    /// `in_all` places, at most `each` of them for one owner; both from 1.
    pub fn new(in_all: usize, each: usize) -> Self {
        let all = Arc::new(Semaphore::new(in_all.max(1)));
        Self { all, each: each.clamp(1, in_all.max(1)), owners: Mutex::default() }
    }

    /// A place, as soon as there is one for this owner. The order is that of asking, among each owner's own and among all.
    pub async fn take(&self, owner: &Owner) -> Option<Share> {
        // Neither is ever closed.
        let owners = self.of(owner).acquire_owned().await.ok()?;
        let all = self.all.clone().acquire_owned().await.ok()?;
        Some(Share { _owners: owners, _all: all })
    }

    /// So many places, if they are free now.
    pub fn try_take(&self, owner: &Owner, count: u32) -> Option<Share> {
        let owners = self.of(owner).try_acquire_many_owned(count).ok()?;
        let all = self.all.clone().try_acquire_many_owned(count).ok()?;
        Some(Share { _owners: owners, _all: all })
    }

    fn of(&self, owner: &Owner) -> Arc<Semaphore> {
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        if owners.len() >= REMEMBERED {
            // Places that are held or waited for keep theirs.
            owners.retain(|_, places| Arc::strong_count(places) > 1);
        }
        owners.entry(owner.clone()).or_insert_with(|| Arc::new(Semaphore::new(self.each))).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(name: &str) -> Owner {
        Owner::parse(name).unwrap()
    }

    #[tokio::test]
    async fn an_owner_that_holds_its_share_keeps_nobody_else_from_theirs() {
        let shares = Shares::new(3, 2);
        let (ann, bob, eve) = (owner("ann"), owner("bob"), owner("eve"));
        let anns = [shares.take(&ann).await.unwrap(), shares.take(&ann).await.unwrap()];
        let waits = shares.take(&ann);
        tokio::pin!(waits);
        assert!(futures::poll!(&mut waits).is_pending(), "a third place for one owner");
        let bobs = shares.take(&bob).await.unwrap();
        assert!(shares.try_take(&eve, 1).is_none(), "a fourth place in all");
        drop(bobs);
        assert!(futures::poll!(&mut waits).is_pending(), "the place that came free is not one of ann's");
        drop(anns);
        assert!(waits.await.is_some());
    }

    #[tokio::test]
    async fn owners_without_a_place_are_forgotten() {
        let shares = Shares::new(2, 1);
        let held = shares.take(&owner("held")).await;
        for number in 0..3 * REMEMBERED {
            assert!(shares.try_take(&owner(&number.to_string()), 1).is_some());
        }
        assert!(shares.owners.lock().unwrap().len() <= REMEMBERED + 1);
        assert!(shares.try_take(&owner("held"), 1).is_none(), "a place that is held is forgotten");
        drop(held);
    }
}
