//! Bytes that this process has let go of beside its sandboxes: bodies of requests and what was read of them.
//!
//! The allocator may keep such memory, so who looks after the sandboxes gives it back to the system now and then
//! ([`Provider::give_memory_back`](crate::Provider::give_memory_back)).

use std::sync::atomic::{AtomicU64, Ordering};

/// Less is not noted (1 MiB): the next request takes it.
const WORTH_NOTING: u64 = 1 << 20;

/// One number for the process, as it has one allocator.
static TOTAL: AtomicU64 = AtomicU64::new(0);

/// Notes that so many bytes were let go of, about.
pub fn note(bytes: u64) {
    if bytes >= WORTH_NOTING {
        TOTAL.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// All bytes that were noted since the process began.
pub(crate) fn total() -> u64 {
    TOTAL.load(Ordering::Relaxed)
}
