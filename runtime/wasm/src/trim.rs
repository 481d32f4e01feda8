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

/// Gives back what is free. Takes milliseconds: not for the event loop. From the first call on, blocks of [`WORTH`] go back as soon
/// as they are free: the C library would raise that bound with each larger block, and keeps what lies at the end of a thread's
/// heap below it, however often it is asked.
#[cfg(target_env = "gnu")]
#[allow(unsafe_code, reason = "the C library has no safe way to be asked")]
pub(crate) fn trim() {
    let bound = libc::c_int::try_from(WORTH).unwrap_or(libc::c_int::MAX);
    // SAFETY: none takes a pointer or needs a state of the caller's, and each may be called at any time from any thread. The
    // settings choose where later blocks come from and when they go; the last changes nothing but which free pages the system
    // backs (`MT-Safe` in its manual).
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, bound);
        libc::mallopt(libc::M_TRIM_THRESHOLD, bound);
        libc::malloc_trim(0);
    }
}

/// Other C libraries give memory back by themselves, or cannot.
#[cfg(not(target_env = "gnu"))]
pub(crate) fn trim() {}
