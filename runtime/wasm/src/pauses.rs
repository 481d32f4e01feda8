//! The times in which a run's wall clock stands still: while the host does for it what is not its own doing.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::ticker::TICK;

/// The pauses of one run. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Pauses(Arc<Mutex<Paused>>);

#[derive(Default)]
struct Paused {
    /// All pauses that are over.
    total: Duration,
    /// When the one began that is not.
    since: Option<Instant>,
    /// How many are not over.
    lasting: u32,
}

impl Pauses {
    /// Stops the clock for as long as the result lives.
    pub(crate) fn begin(&self) -> Pause {
        let mut paused = self.lock();
        paused.since.get_or_insert_with(Instant::now);
        paused.lasting += 1;
        drop(paused);
        Pause(self.clone())
    }

    /// All pauses together, until now.
    fn so_far(&self) -> Duration {
        let paused = self.lock();
        paused.total + paused.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Whether a deadline that was set before the pauses has passed.
    pub(crate) fn is_past(&self, deadline: Instant) -> bool {
        let now = Instant::now();
        now >= deadline && now >= deadline + self.so_far()
    }

    /// Waits for a call, at most until the deadline. None: it has passed.
    pub(crate) async fn until<T>(&self, deadline: Instant, call: impl Future<Output = T>) -> Option<T> {
        let mut call = std::pin::pin!(call);
        let mut at = deadline;
        loop {
            match tokio::time::timeout_at(at.into(), call.as_mut()).await {
                Ok(done) => return Some(done),
                Err(_) if self.is_past(deadline) => return None,
                // While the clock stands still the deadline moves away; it is looked at again when it may have come.
                Err(_) => at = (deadline + self.so_far()).max(Instant::now() + TICK),
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Paused> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A pause that lasts.
pub(crate) struct Pause(Pauses);

impl Drop for Pause {
    fn drop(&mut self) {
        let mut paused = self.0.lock();
        paused.lasting = paused.lasting.saturating_sub(1);
        if paused.lasting == 0
            && let Some(since) = paused.since.take()
        {
            paused.total += since.elapsed();
        }
    }
}
