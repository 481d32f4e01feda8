//! What `interpreter.c` calls.

use std::io::Write as _;

use crate::commands;
use crate::transport;

/// Bytes of packs that are held in memory at a time, and in one piece: there is no mapped memory.
const WINDOW: usize = 4 << 20;
const WINDOWS: usize = 64 << 20;
/// Bytes of objects that are kept for a second use.
const OBJECTS: isize = 32 << 20;

/// Runs the command that the instance's arguments name; the answer is its exit status.
///
/// # Safety
/// `directory` is null, or `length` bytes of UTF-8 that stay as they are while this runs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn git_command(directory: *const u8, length: usize) -> i32 {
    if !directory.is_null() {
        // SAFETY: as the caller promises.
        let folder = unsafe { std::str::from_utf8_unchecked(std::slice::from_raw_parts(directory, length)) };
        if let Err(error) = std::env::set_current_dir(folder) {
            eprintln!("fatal: cannot change to '{folder}': {error}");
            return 128;
        }
    }
    let status = match start() {
        Ok(()) => commands::run(std::env::args().skip(1).collect()),
        Err(error) => {
            eprintln!("fatal: {}", error.message());
            128
        }
    };
    let _ = std::io::stdout().flush();
    status
}

fn start() -> Result<(), git2::Error> {
    // SAFETY: there is one thread, and nothing of libgit2 is in use yet.
    unsafe {
        git2::opts::set_mwindow_size(WINDOW)?;
        git2::opts::set_mwindow_mapped_limit(WINDOWS)?;
        git2::opts::set_cache_max_size(OBJECTS)?;
        // There is one user.
        git2::opts::set_verify_owner_validation(false)?;
    }
    transport::register()
}
