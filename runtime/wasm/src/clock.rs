//! The monotonic clock of a sandbox's guests: one for all of its interpreters and the programs of its command lines, which goes on where it stood over sleep, wake,
//! restore and fork, and never steps back. While a sandbox sleeps it stands still.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use wasmtime_wasi::HostMonotonicClock;

/// The clock. Clones show the same time.
#[derive(Clone)]
pub(crate) struct Monotonic {
    since: Instant,
    /// What it showed at `since`, in nanoseconds.
    offset: Arc<AtomicU64>,
}

impl Default for Monotonic {
    /// One that begins at 0.
    fn default() -> Self {
        Self { since: Instant::now(), offset: Arc::default() }
    }
}

impl Monotonic {
    /// Nanoseconds.
    pub(crate) fn now(&self) -> u64 {
        self.offset.load(Ordering::Relaxed).saturating_add(self.run())
    }

    /// From now on shows no less than that, in nanoseconds: what goes on here has seen it already.
    pub(crate) fn reach(&self, shown: u64) {
        self.offset.fetch_max(shown.saturating_sub(self.run()), Ordering::Relaxed);
    }

    fn run(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

impl HostMonotonicClock for Monotonic {
    fn resolution(&self) -> u64 {
        1
    }

    fn now(&self) -> u64 {
        Monotonic::now(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_on_from_what_was_shown_and_never_steps_back() {
        let clock = Monotonic::default();
        let shown = clock.clone();
        clock.reach(1 << 40);
        let before = shown.now();
        assert!(before >= 1 << 40);
        clock.reach(5);
        assert!(shown.now() >= before);
        clock.reach(u64::MAX);
        assert_eq!(shown.now(), u64::MAX);
    }
}
