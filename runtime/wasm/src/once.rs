//! Things that are made once, on first use; whoever comes meanwhile waits.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dormouse_core::Result;
use tokio::sync::OnceCell;

/// One thing for each key, shared.
pub(crate) struct Once<K, T>(Mutex<HashMap<K, Cell<T>>>);

type Cell<T> = Arc<OnceCell<Arc<T>>>;

impl<K: Eq + Hash, T> Once<K, T> {
    /// The thing of a key. The first caller's `made` makes it; when that fails, the next caller's does.
    pub(crate) async fn get(&self, key: K, made: impl Future<Output = Result<T>>) -> Result<Arc<T>> {
        let cell = self.cells().entry(key).or_default().clone();
        if let Some(thing) = cell.get() {
            return Ok(thing.clone());
        }
        cell.get_or_try_init(|| async { made.await.map(Arc::new) }).await.cloned()
    }

    /// The thing of a key, if it has been made.
    pub(crate) fn made(&self, key: &K) -> Option<Arc<T>> {
        self.cells().get(key)?.get().cloned()
    }

    /// How many have been made.
    pub(crate) fn count(&self) -> usize {
        self.cells().values().filter(|cell| cell.initialized()).count()
    }

    fn cells(&self) -> MutexGuard<'_, HashMap<K, Cell<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K, T> Default for Once<K, T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

#[cfg(test)]
mod tests {
    use dormouse_core::{Error, ErrorCode};

    use super::*;

    #[tokio::test]
    async fn what_could_not_be_made_is_tried_again_and_what_was_made_stays() {
        let once: Once<u8, u32> = Once::default();
        let failed = once.get(1, async { Err(Error::new(ErrorCode::Busy, "not now")) }).await;
        assert!(failed.is_err() && once.made(&1).is_none());
        assert_eq!(*once.get(1, async { Ok(5) }).await.unwrap(), 5);
        assert_eq!(*once.get(1, async { Ok(6) }).await.unwrap(), 5);
        assert!(once.made(&1).is_some() && once.made(&2).is_none());
        assert_eq!(once.count(), 1);
    }
}
