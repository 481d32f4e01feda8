//! Calls of the C library that the standard library lacks on WASI.

#![allow(unsafe_code, reason = "the border to C")]

use std::ffi::CString;
use std::io;
use std::path::Path;
use std::time::SystemTime;

/// Fills a buffer with random bytes of the host's.
///
/// # Errors
///
/// The host gives none.
pub fn random(bytes: &mut [u8]) -> io::Result<()> {
    // More than 256 bytes in one call are refused.
    for part in bytes.chunks_mut(256) {
        // SAFETY: the buffer has the length that is given.
        done(unsafe { libc::getentropy(part.as_mut_ptr().cast(), part.len()) })?;
    }
    Ok(())
}

/// Makes a symbolic link.
///
/// # Errors
///
/// A path with a NUL byte, or whatever the host says.
pub fn symlink(target: &Path, link: &Path) -> io::Result<()> {
    let (target, link) = (c_path(target)?, c_path(link)?);
    // SAFETY: both are strings that end with NUL and outlive the call.
    done(unsafe { libc::symlink(target.as_ptr(), link.as_ptr()) })
}

/// Sets when a file was last modified and accessed. Times before 1970 become 1970.
///
/// # Errors
///
/// A path with a NUL byte, or whatever the host says.
pub fn set_modified_time(path: &Path, time: SystemTime) -> io::Result<()> {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let out_of_range = |_| io::Error::from(io::ErrorKind::InvalidInput);
    let modified = libc::timespec {
        tv_sec: since.as_secs().try_into().map_err(out_of_range)?,
        // Below 1,000,000,000, which a `long` holds everywhere.
        tv_nsec: since.subsec_nanos() as libc::c_long,
    };
    let path = c_path(path)?;
    // SAFETY: the path ends with NUL, and there are two times.
    done(unsafe { libc::utimensat(libc::AT_FDCWD, path.as_ptr(), [modified, modified].as_ptr(), 0) })
}

/// Sets an environment variable, for C code that reads it. Does nothing where there can be other threads, which is everywhere but
/// in a guest.
pub fn set_variable(name: &str, value: &str) {
    if cfg!(target_family = "wasm") {
        // SAFETY: a guest has one thread.
        unsafe { std::env::set_var(name, value) };
    }
}

fn done(status: libc::c_int) -> io::Result<()> {
    match status {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn c_path(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_encoded_bytes()).map_err(|_| io::ErrorKind::InvalidInput.into())
}
