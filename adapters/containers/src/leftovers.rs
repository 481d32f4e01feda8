//! What could not be removed: tried again, ever less often, until it is gone.
//!
//! Owns: the list of it. An engine that restarts, or does not answer for a while, keeps containers, and the memory that their
//! files take, only that long. Does not own: the task that works it off, and how something is removed.

use std::collections::HashMap;
use std::fmt::{Debug, Display};
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use dormouse_core::Result;
use tokio::sync::Notify;
use tokio::time::Instant;

/// How long it is waited after a first attempt; twice as long after each further one, up to the longest.
const FIRST: Duration = Duration::from_millis(200);
const LONGEST: Duration = Duration::from_secs(30);
/// How long something may still come to be after its maker gave up waiting for it.
const LATE: Duration = Duration::from_secs(120);

/// When one is tried again.
struct Try {
    at: Instant,
    wait: Duration,
    /// Until then it may be missing and come to be all the same.
    comes_until: Option<Instant>,
}

/// What is left, and when it is tried again.
pub struct Leftovers<T> {
    tries: Mutex<HashMap<T, Try>>,
    more: Notify,
}

impl<T> Default for Leftovers<T> {
    fn default() -> Self {
        Self { tries: Mutex::default(), more: Notify::default() }
    }
}

impl<T: Clone + Debug + Display + Eq + Hash> Leftovers<T> {
    /// Takes one up, to be removed at once. `late`: it may not be there yet.
    pub fn add(&self, thing: T, late: bool) {
        let now = Instant::now();
        let comes_until = late.then(|| now + LATE);
        self.lock().entry(thing).or_insert(Try { at: now, wait: FIRST, comes_until });
        self.more.notify_one();
    }

    /// When the next is due.
    pub fn next(&self) -> Option<Instant> {
        self.lock().values().map(|one| one.at).min()
    }

    /// Waits until there is one more.
    pub async fn added(&self) {
        self.more.notified().await;
    }

    /// Those that are due; all of them at the end.
    fn due(&self, all: bool) -> Vec<T> {
        let now = Instant::now();
        self.lock().iter().filter(|(_, one)| all || one.at <= now).map(|(thing, _)| thing.clone()).collect()
    }

    /// Notes what came of an attempt.
    fn tried(&self, thing: &T, removed: Result<Removed>) {
        let mut tries = self.lock();
        let Some(one) = tries.get_mut(thing) else { return };
        let now = Instant::now();
        match removed {
            Ok(Removed::Missing) if one.comes_until.is_some_and(|until| now < until) => {}
            Ok(_) => {
                tries.remove(thing);
                return;
            }
            // Once is enough for who reads it: it is tried again until it is gone.
            Err(error) if one.wait == FIRST => tracing::warn!(%thing, %error, "it was not removed yet"),
            Err(error) => tracing::debug!(%thing, %error, again_in = ?one.wait, "it was not removed yet"),
        }
        one.at = now + one.wait;
        one.wait = (one.wait * 2).min(LONGEST);
    }

    /// Tries to remove those that are due; all of them at the end. How many are left?
    pub async fn work<F: Future<Output = Result<Removed>>>(
        &self,
        all: bool,
        remove: impl Fn(T) -> F,
    ) -> usize {
        for thing in self.due(all) {
            let removed = remove(thing.clone()).await;
            self.tried(&thing, removed);
        }
        self.lock().len()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<T, Try>> {
        self.tries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What came of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removed {
    /// It is gone.
    Done,
    /// There is no such thing.
    Missing,
}
