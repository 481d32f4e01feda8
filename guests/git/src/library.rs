//! How libgit2 is set up.

#![allow(
    unsafe_code,
    reason = "its settings hold for the whole process, so git2 offers them as unsafe functions"
)]

use crate::transport;

/// Bytes of packs that are held in memory at a time, and in one piece: there is no mapped memory.
const WINDOW: usize = 4 << 20;
const WINDOWS: usize = 64 << 20;
/// Bytes of objects that are kept for a second use.
const OBJECTS: isize = 32 << 20;

/// Sets it up; called once, before anything else of it.
pub(crate) fn start() -> Result<(), git2::Error> {
    // SAFETY: there is one thread, and nothing of libgit2 is in use yet.
    unsafe {
        git2::opts::set_mwindow_size(WINDOW)?;
        git2::opts::set_mwindow_mapped_limit(WINDOWS)?;
        git2::opts::set_cache_max_size(OBJECTS)?;
        // There is one user.
        git2::opts::set_verify_owner_validation(false)?;
        for scheme in ["http", "https"] {
            git2::transport::register(scheme, transport::http)?;
        }
    }
    Ok(())
}
