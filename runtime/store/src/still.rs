//! A state folder that cannot be written, and can be read all the same: on a disk that is read-only or full, or in a folder that is
//! somebody else's to write. Nothing is made beside the database, no lock and no index of the log; whoever wants to change something
//! is told why that cannot be.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;

use dormouse_core::Error;
use rusqlite::{Connection, OpenFlags};
use rustix::fs::{Access, access};

use crate::database;
use crate::disk;
use crate::fault::{self, Answer, Fault};
use crate::folder::Folder;

/// Files that a database has beside it while it is open for writing.
const LOG_FILES: u64 = 2;

/// Why a folder is only read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// It is read-only.
    ReadOnly,
    /// Its disk is full.
    Full,
    /// Its disk takes no more files.
    NoInodes,
}

impl Why {
    /// Why the folder cannot be opened for writing; none: it is something else that is wrong.
    pub(crate) fn of(folder: &Folder, fault: &Fault) -> Option<Self> {
        if !fault.is_unavailable() || !folder.database().exists() {
            return None;
        }
        match disk::free(folder.root(), 0) {
            Err(error) => Some(Self::told(&error)),
            Ok(_) if fault.is_full() => Some(Self::Full),
            Ok(_) if fault.is_denied() => Some(Self::ReadOnly),
            // One is too little for the log and its index.
            Ok(_) if !disk::has_inodes(folder.root(), LOG_FILES) => Some(Self::NoInodes),
            Ok(_) => None,
        }
    }

    fn told(error: &Error) -> Self {
        let is = |other: &Error| error.message() == other.message();
        if is(&fault::read_only()) {
            Self::ReadOnly
        } else if is(&fault::no_inodes()) {
            Self::NoInodes
        } else {
            Self::Full
        }
    }

    /// Whether the database can be written by now, with so many bytes to spare.
    pub(crate) fn is_over(self, database: &Path, needs: u64) -> bool {
        let room = database.parent().is_some_and(|folder| disk::free(folder, needs).is_ok());
        room && access(database, Access::WRITE_OK).is_ok()
    }

    /// What who wants to write is told.
    pub(crate) fn error(self) -> Error {
        match self {
            Self::ReadOnly => fault::read_only(),
            Self::Full => fault::full_disk(),
            Self::NoInodes => fault::no_inodes(),
        }
    }
}

/// A connection that makes and changes nothing.
///
/// # Errors
/// `state_unavailable` when the log holds what was not worked off, and its index is gone: that can only be read by who may write.
pub(crate) fn connect(path: &Path) -> Answer<Connection> {
    let log = fs::metadata(path.with_extension("db-wal")).map_or(0, |log| log.len());
    let how = match log {
        // Nobody has it open: it is as it is.
        0 => "immutable=1",
        _ if path.with_extension("db-shm").exists() => "mode=ro&readonly_shm=1",
        _ => {
            let told = fault::unavailable(
                "the state folder cannot be read before its log is merged",
                "open it once where it can be written",
            );
            return Err(told.into());
        }
    };
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    database::prepared(Connection::open_with_flags(address(path, how), flags)?)
}

/// The path as an address with parameters.
fn address(path: &Path, how: &str) -> OsString {
    let mut address = b"file:".to_vec();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'%' | b'?' | b'#' => address.extend(format!("%{byte:02X}").bytes()),
            byte => address.push(*byte),
        }
    }
    address.extend(b"?");
    address.extend(how.bytes());
    OsString::from_vec(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_something_in_an_address_is_written_out() {
        let address = address(Path::new("/a b/50%?#/state.db"), "immutable=1");
        assert_eq!(address, "file:/a b/50%25%3F%23/state.db?immutable=1");
    }

    #[test]
    fn each_reason_is_told_as_what_it_is() {
        for why in [Why::ReadOnly, Why::Full, Why::NoInodes] {
            assert_eq!(Why::told(&why.error()), why);
        }
    }
}
