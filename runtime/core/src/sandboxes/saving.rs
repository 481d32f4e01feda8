//! How many saves of each owner are under way, so that one owner's leave room for the others'.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::sandbox::Owner;

/// The saves that are under way. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Saving(Arc<Mutex<HashMap<Owner, usize>>>);

impl Saving {
    /// Counts one more for as long as the answer lives; none where there are as many already.
    pub(super) fn enter(&self, owner: Owner, most: usize) -> Option<Lane> {
        let mut under_way = self.lock();
        let count = under_way.entry(owner.clone()).or_default();
        (*count < most).then(|| {
            *count += 1;
            Lane { saving: self.clone(), owner }
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Owner, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One save that is under way.
pub(super) struct Lane {
    saving: Saving,
    owner: Owner,
}

impl Drop for Lane {
    fn drop(&mut self) {
        let mut under_way = self.saving.lock();
        if let Some(count) = under_way.get_mut(&self.owner) {
            *count -= 1;
            if *count == 0 {
                under_way.remove(&self.owner);
            }
        }
    }
}
