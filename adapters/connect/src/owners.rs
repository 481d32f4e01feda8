//! What is kept of each owner: how many calls are under way, and which tools were allowed as they are.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dormouse_core::sandbox::Owner;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::tools::Mark;

/// Owners that are remembered. Of further ones those are forgotten whose last call is longest ago.
const MAX_OWNERS: usize = 10_000;
/// Tools that are remembered of one owner.
const MAX_PINS: usize = 100_000;

/// One owner.
pub(crate) struct Kept {
    /// Places for calls.
    pub(crate) calls: Arc<Semaphore>,
    pins: Mutex<HashMap<(usize, String), Mark>>,
    used: Mutex<Instant>,
}

impl Kept {
    fn pins(&self) -> MutexGuard<'_, HashMap<(usize, String), Mark>> {
        self.pins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a call of the tool was allowed when its server said something else of it.
    pub(crate) fn has_changed(&self, server: usize, tool: &str, mark: &Mark) -> bool {
        self.pins().get(&(server, tool.to_owned())).is_some_and(|pinned| pinned != mark)
    }

    /// A call of the tool is allowed, as it is now.
    pub(crate) fn pin(&self, server: usize, tool: &str, mark: Mark) {
        let mut pins = self.pins();
        let key = (server, tool.to_owned());
        if pins.len() < MAX_PINS || pins.contains_key(&key) {
            pins.insert(key, mark);
        }
    }
}

/// All owners.
pub(crate) struct Owners {
    /// Calls of one owner that are under way at one time.
    calls: usize,
    all: Mutex<HashMap<Owner, Arc<Kept>>>,
}

impl Owners {
    pub(crate) fn new(calls: usize) -> Self {
        Self { calls, all: Mutex::default() }
    }

    pub(crate) fn get(&self, owner: &Owner) -> Arc<Kept> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if !all.contains_key(owner) && all.len() >= MAX_OWNERS {
            let unused = all.iter().filter(|(_, kept)| Arc::strong_count(kept) == 1);
            let oldest = unused.min_by_key(|(_, kept)| kept.when()).map(|(owner, _)| owner.clone());
            oldest.and_then(|owner| all.remove(&owner));
        }
        let kept = all.entry(owner.clone()).or_insert_with(|| {
            let calls = Arc::new(Semaphore::new(self.calls));
            Arc::new(Kept { calls, pins: Mutex::default(), used: Mutex::new(Instant::now()) })
        });
        *kept.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        kept.clone()
    }
}

impl Kept {
    fn when(&self) -> Instant {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
