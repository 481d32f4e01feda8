//! Doubles for tests of what stands on the ports: a clock that a test drives, a ledger in memory, and a provider whose
//! sandboxes understand five words. And how all tests wait for an event: [`wait_until`]. Only with the feature `testing`.

mod faulty;
mod ledger;
mod machine;
mod provider;
mod wait;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub use self::faulty::FaultyLedger;
pub use self::ledger::MemoryLedger;
pub use self::provider::FakeProvider;
pub use self::wait::{wait_for, wait_for_async, wait_until, wait_until_async};
use crate::sandbox::Timestamp;
use crate::sandboxes::Clock;

/// A clock that stands still until it is told. Begins at 2026-01-25T02:00:00.000Z.
#[derive(Debug)]
pub struct ManualClock {
    shown: AtomicU64,
    uptime: AtomicU64,
}

impl Default for ManualClock {
    fn default() -> Self {
        Self { shown: AtomicU64::new(1_769_306_400_000), uptime: AtomicU64::new(0) }
    }
}

impl ManualClock {
    /// Lets time pass.
    pub fn advance(&self, time: Duration) {
        self.uptime.fetch_add(millis(time), Ordering::SeqCst);
        self.jump(time);
    }

    /// Puts it forward, without time passing.
    pub fn jump(&self, time: Duration) {
        self.shown.fetch_add(millis(time), Ordering::SeqCst);
    }

    /// Puts it back, as an operator or a time server can.
    pub fn put_back(&self, time: Duration) {
        self.shown.fetch_sub(millis(time), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.shown.load(Ordering::SeqCst))
    }

    fn uptime(&self) -> Duration {
        Duration::from_millis(self.uptime.load(Ordering::SeqCst))
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
