//! The time limit of one call. It stands still while the host does for the call what is not its own doing.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dormouse_core::{Error, ErrorCode, Limits};

/// How soon a deadline that has moved away is looked at again.
const AGAIN: Duration = Duration::from_millis(5);

#[derive(Default)]
struct Paused {
    /// All pauses that are over.
    total: Duration,
    /// When the one began that is not.
    since: Option<Instant>,
}

/// The clock of one call. Clones share its pauses.
#[derive(Clone)]
pub(super) struct Clock {
    deadline: Instant,
    paused: Arc<Mutex<Paused>>,
}

impl Clock {
    pub(super) fn new(deadline: Instant) -> Self {
        Self { deadline, paused: Arc::default() }
    }

    /// Stops the clock for as long as the result lives.
    pub(super) fn pause(&self) -> Pause {
        self.lock().since = Some(Instant::now());
        Pause(self.clone())
    }

    /// Waits for a call, at most until the deadline. None: it has passed.
    pub(super) async fn within<T>(&self, call: impl Future<Output = T>) -> Option<T> {
        let mut call = std::pin::pin!(call);
        let mut at = self.deadline;
        loop {
            if let Ok(done) = tokio::time::timeout_at(at.into(), call.as_mut()).await {
                return Some(done);
            }
            let moved = self.deadline + self.so_far();
            if Instant::now() >= moved {
                return None;
            }
            at = moved.max(Instant::now() + AGAIN);
        }
    }

    /// All pauses together, until now.
    fn so_far(&self) -> Duration {
        let paused = self.lock();
        paused.total + paused.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn lock(&self) -> MutexGuard<'_, Paused> {
        self.paused.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A pause that lasts.
pub(super) struct Pause(Clock);

impl Drop for Pause {
    fn drop(&mut self) {
        let mut paused = self.0.lock();
        if let Some(since) = paused.since.take() {
            paused.total += since.elapsed();
        }
    }
}

/// The time limit was reached.
pub(super) fn over(limits: &Limits) -> Error {
    Error::new(
        ErrorCode::LimitTime,
        format!("the wall-clock limit of {} ms was reached", limits.wall.as_millis()),
    )
    .with_hint("raise the time-out, or split the work into smaller runs")
}
