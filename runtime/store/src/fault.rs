//! What a failure of SQLite means to a caller.

use bytesize::ByteSize;
use dormouse_core::{Error, ErrorCode};
use rusqlite::ffi::{self, ErrorCode as Sql};

/// The result of everything inside this crate.
pub(crate) type Answer<T> = Result<T, Fault>;

/// What can go wrong inside: the database's reason, or an error that is worded already.
#[derive(Debug)]
pub(crate) enum Fault {
    Sql(rusqlite::Error),
    Told(Error),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Told(error)
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Told(error) => error,
            Fault::Sql(error) => told(error),
        }
    }
}

impl Fault {
    /// Whether there was no room on the disk.
    pub(crate) fn is_full(&self) -> bool {
        match self {
            Self::Sql(error) => error.sqlite_error().is_some_and(full),
            Self::Told(error) => says(error, &full_disk()),
        }
    }

    /// Whether there was no room on the disk, or no inode.
    pub(crate) fn is_no_room(&self) -> bool {
        match self {
            Self::Sql(_) => self.is_full(),
            Self::Told(error) => is_no_room(error),
        }
    }

    /// Whether the folder cannot be used as it is, and is not damaged.
    pub(crate) fn is_unavailable(&self) -> bool {
        match self {
            Self::Sql(error) => error.sqlite_error().is_some_and(|cause| {
                full(cause)
                    || matches!(
                        cause.code,
                        Sql::ReadOnly | Sql::PermissionDenied | Sql::CannotOpen | Sql::SystemIoFailure
                    )
            }),
            Self::Told(error) => error.code() == ErrorCode::StateUnavailable,
        }
    }

    /// Whether the disk could not be read or written.
    pub(crate) fn is_of_the_disk(&self) -> bool {
        matches!(self, Self::Sql(error) if error.sqlite_error().is_some_and(|cause| cause.code == Sql::SystemIoFailure))
    }

    /// Whether a file could not be opened: most often because the process has no descriptor left.
    pub(crate) fn is_not_opened(&self) -> bool {
        matches!(self, Self::Sql(error) if error.sqlite_error().is_some_and(|cause| cause.code == Sql::CannotOpen))
    }

    /// Whether it may not be written.
    pub(crate) fn is_denied(&self) -> bool {
        match self {
            Self::Sql(error) => error
                .sqlite_error()
                .is_some_and(|cause| matches!(cause.code, Sql::ReadOnly | Sql::PermissionDenied)),
            Self::Told(error) => error.message() == read_only().message(),
        }
    }
}

/// The index of the log, too, has to find room: it says so in words of its own.
fn full(cause: &ffi::Error) -> bool {
    cause.code == Sql::DiskFull || cause.extended_code == ffi::SQLITE_IOERR_SHMSIZE
}

/// The error for a database that does not hold together.
pub(crate) fn broken(what: &str) -> Error {
    Error::new(ErrorCode::StateDamaged, format!("the database of the state folder is damaged: {what}"))
        .with_hint("keep a copy of the folder for `sqlite3 state.db .recover`, and start with another folder")
}

/// The error for a disk without room.
pub(crate) fn full_disk() -> Error {
    unavailable(
        "the disk is full",
        "remove checkpoints (sandbox_remove_checkpoint) and sandboxes (sandbox_destroy), which works on a full disk too; or free space on the disk of the state folder, or raise its limit (`--quota saved-in-all=SIZE`)",
    )
}

/// The same, where it is known how many bytes are needed and how many are free.
pub(crate) fn too_full(needed: u64, free: u64) -> Error {
    let shown = |bytes| ByteSize::b(bytes).display().iec();
    let (full, needed, free) = (full_disk(), shown(needed), shown(free));
    unavailable(
        &format!("{}: at least {needed} is needed, and {free} is free", full.message()),
        full.hint().unwrap_or_default(),
    )
}

/// The error for a disk that takes no more files.
pub(crate) fn no_inodes() -> Error {
    unavailable(
        "no inodes are left on the disk",
        "remove files on the disk of the state folder: its number of files is used up",
    )
}

/// Whether an error says that the disk takes no more bytes, or no more files.
pub(crate) fn is_no_room(error: &Error) -> bool {
    [full_disk(), no_inodes()].iter().any(|other| says(error, other))
}

/// Whether an error says that nothing can be written.
pub(crate) fn is_read_only(error: &Error) -> bool {
    says(error, &read_only())
}

/// Whether an error says what another one says, and perhaps more.
fn says(error: &Error, other: &Error) -> bool {
    error.message().starts_with(other.message())
}

/// The error for a disk on which nothing is left of what is kept for removing.
pub(crate) fn nothing_kept() -> Error {
    unavailable(
        full_disk().message(),
        "free space on the disk of the state folder: even removing needs a little, and the reserve for it is used up",
    )
}

/// The error for a folder that can only be read.
pub(crate) fn read_only() -> Error {
    unavailable(
        "the state folder is read-only",
        "sandboxes can be listed and their files copied; to change them, choose a state folder that you can write, on a local disk",
    )
}

/// The error for a folder that somebody has taken away while it was in use.
pub(crate) fn gone() -> Error {
    unavailable(
        "the state folder was removed or replaced while it was in use",
        "start the server again: it creates the folder, or uses what has been put there; what was saved before is gone",
    )
}

/// The error for a folder that could not be written, and can be in a moment.
pub(crate) fn was_still() -> Error {
    unavailable("the state folder could not be written until now", "try again in a moment")
}

pub(crate) fn unavailable(what: &str, hint: &str) -> Error {
    Error::new(ErrorCode::StateUnavailable, what).with_hint(hint)
}

fn told(error: rusqlite::Error) -> Error {
    let Some(cause) = error.sqlite_error().copied() else {
        // A column of another type than the schema's, or text that is not UTF-8.
        return broken("a row is not of the form that was written").with_source(error);
    };
    let short = cause.extended_code == ffi::SQLITE_IOERR_SHORT_READ;
    match cause.code {
        Sql::NotADatabase => broken("the file is not a database"),
        Sql::DatabaseCorrupt => broken("its pages do not fit together"),
        Sql::SystemIoFailure if short => broken("it is shorter than it was"),
        _ if full(&cause) => full_disk(),
        Sql::ReadOnly | Sql::PermissionDenied => read_only(),
        Sql::CannotOpen => unavailable(
            "the state folder cannot be opened",
            "choose a state folder that you can write, on a local disk; check that the disk has free inodes and the process free descriptors",
        ),
        Sql::SystemIoFailure | Sql::NoLargeFileSupport | Sql::FileLockingProtocolFailed => {
            unavailable("the state folder cannot be read or written", "check its disk: free space, quotas, faults")
        }
        Sql::DatabaseBusy | Sql::DatabaseLocked => unavailable(
            "the state folder is held by another process",
            "try again; look for a process that hangs while it writes",
        ),
        // What fits no table of ours: the schema was checked when it was opened, so it has changed since.
        Sql::SchemaChanged => broken("its tables were changed"),
        _ => return Error::internal("the state folder answered unexpectedly", error),
    }
    .with_source(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_has_a_code_and_a_hint() {
        let code = |sql: i32| {
            let error = Error::from(Fault::Sql(rusqlite::Error::SqliteFailure(ffi::Error::new(sql), None)));
            assert!(error.hint().is_some() || error.code() == ErrorCode::Internal);
            error.code()
        };
        for sql in [ffi::SQLITE_CORRUPT, ffi::SQLITE_NOTADB, ffi::SQLITE_IOERR_SHORT_READ] {
            assert_eq!(code(sql), ErrorCode::StateDamaged);
        }
        for sql in [
            ffi::SQLITE_FULL,
            ffi::SQLITE_IOERR_SHMSIZE,
            ffi::SQLITE_READONLY,
            ffi::SQLITE_CANTOPEN,
            ffi::SQLITE_IOERR_WRITE,
            ffi::SQLITE_BUSY,
        ] {
            assert_eq!(code(sql), ErrorCode::StateUnavailable);
        }
        assert_eq!(code(ffi::SQLITE_MISUSE), ErrorCode::Internal);
    }
}
