//! Memory that was given back to the allocator, given back to the system.
//!
//! Blocks of files are of a size that the C library keeps: between pieces that are still in use they stay this process's, so
//! a server that has let go of gigabytes would be as large as before.

/// Less is not worth looking for (8 MiB).
const WORTH: u64 = 8 << 20;

/// Gives back what is free, after so many bytes were let go of. Takes milliseconds: not for the event loop.
pub(crate) fn after(bytes: u64) {
    if bytes >= WORTH {
        trim();
    }
}

/// Gives back what is free. Takes milliseconds: not for the event loop.
#[cfg(target_env = "gnu")]
#[allow(unsafe_code, reason = "the C library has no safe way to be asked")]
pub(crate) fn trim() {
    // SAFETY: it takes no pointer and needs no state of the caller's; it may be called at any time from any thread (`MT-Safe`
    // in its manual), and changes nothing but which free pages the system backs.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Other C libraries give memory back by themselves, or cannot.
#[cfg(not(target_env = "gnu"))]
pub(crate) fn trim() {}
