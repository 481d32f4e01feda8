//! How many saves are under way: of each owner, so that one owner's leave room for the others', and of containers apart from all
//! others, because they wait for an engine that may have stalled.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::sandbox::Owner;

/// How a sandbox is saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Way {
    /// By this process alone.
    Here,
    /// With the help of an engine: a container.
    Engine,
}

impl Way {
    /// Most saves at one time, in all and of one owner.
    fn most(self) -> (usize, usize) {
        match self {
            Self::Here => (128, 32),
            Self::Engine => (64, 16),
        }
    }
}

/// The saves that are under way. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Saving(Arc<Mutex<HashMap<Way, Count>>>);

#[derive(Default)]
struct Count {
    all: usize,
    of: HashMap<Owner, usize>,
}

impl Saving {
    /// Counts one more for as long as the answer lives; none where there are as many already.
    pub(super) fn enter(&self, owner: Owner, way: Way) -> Option<Lane> {
        let mut ways = self.lock();
        let count = ways.entry(way).or_default();
        let (most, most_of_one) = way.most();
        let own = count.of.get(&owner).copied().unwrap_or_default();
        (count.all < most && own < most_of_one).then(|| {
            count.all += 1;
            count.of.insert(owner.clone(), own + 1);
            Lane { saving: self.clone(), owner, way }
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Way, Count>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One save that is under way.
pub(super) struct Lane {
    saving: Saving,
    owner: Owner,
    way: Way,
}

impl Drop for Lane {
    fn drop(&mut self) {
        let mut ways = self.saving.lock();
        let Some(count) = ways.get_mut(&self.way) else { return };
        count.all -= 1;
        if let Some(own) = count.of.get_mut(&self.owner) {
            *own -= 1;
            if *own == 0 {
                count.of.remove(&self.owner);
            }
        }
    }
}
