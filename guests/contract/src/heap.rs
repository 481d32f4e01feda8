//! How much of the heap is in use, and how much has been since somebody asked: free memory that was never used needs no
//! clearing before the state is saved.

#![allow(unsafe_code, reason = "the border to C")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The C allocator, counted. Where there are several threads, the counts are no more than estimates.
pub struct Counted;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

/// Counts what the C allocator has given to someone else.
pub(crate) fn add(bytes: usize) {
    let held = HELD.load(Relaxed).wrapping_add(bytes);
    HELD.store(held, Relaxed);
    if held > MOST.load(Relaxed) {
        MOST.store(held, Relaxed);
    }
}

fn subtract(bytes: usize) {
    HELD.store(HELD.load(Relaxed).wrapping_sub(bytes), Relaxed);
}

// SAFETY: every call is the system allocator's own, with the same arguments; counting touches no memory of it.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        subtract(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        add(size);
        subtract(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.realloc(block, layout, size) }
    }
}

/// Bytes that were in use since the last call and are not now.
pub fn freed() -> usize {
    let held = HELD.load(Relaxed);
    MOST.swap(held, Relaxed).saturating_sub(held)
}
