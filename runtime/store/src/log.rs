//! The write-ahead log beside the database, and who brings what is in it into the database.
//!
//! SQLite would do that in the commit that makes the log too long, so that every second save of 10 MB took 18 ms more. It is done in a
//! thread of its own, by a connection of its own; writers go on meanwhile. Where they write more than it brings over, their
//! connection still does it, at a longer log.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use rusqlite::Connection;

use crate::fault::Answer;

/// Bytes of a log that is long.
const LONG: u64 = 16 << 20;

/// The log of one database. Dropped, nobody works on it any more.
pub(crate) struct Log {
    path: PathBuf,
    worker: Mutex<Option<JoinHandle<()>>>,
}

impl Log {
    /// The log of the database at `database`.
    pub(crate) fn of(database: &Path) -> Self {
        Self { path: database.with_extension("db-wal"), worker: Mutex::default() }
    }

    /// Bytes of the file.
    pub(crate) fn bytes(&self) -> u64 {
        fs::metadata(&self.path).map_or(0, |log| log.len())
    }

    /// Has a long log brought into the database, by a connection that `connect` makes. Nobody waits for it.
    pub(crate) fn shorten(&self, connect: impl FnOnce() -> Answer<Connection> + Send + 'static) {
        if self.bytes() <= LONG {
            return;
        }
        let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        if worker.as_ref().is_some_and(|worker| !worker.is_finished()) {
            return;
        }
        let work = || {
            if let Err(error) = connect().and_then(|connection| work_off(&connection)) {
                tracing::debug!(?error, "the log stays as long as it is");
            }
        };
        // Without a thread a later commit does it.
        *worker = Builder::new().name("log".to_owned()).spawn(work).ok();
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        let worker = self.worker.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(worker) = worker {
            let _ = worker.join();
        }
    }
}

/// Brings what is in the log into the database, as far as no reader needs it there. Writers go on meanwhile.
pub(crate) fn work_off(connection: &Connection) -> Answer<()> {
    Ok(connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", (), |_| Ok(()))?)
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    #[test]
    fn a_long_log_is_brought_into_the_database_by_nobody_who_writes() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a.db");
        let open = |path: &Path| {
            let connection = Connection::open(path)?;
            connection.pragma_update(None, "journal_mode", "WAL")?;
            connection.pragma_update_and_check(None, "wal_autocheckpoint", 0, |_| Ok(()))?;
            Answer::Ok(connection)
        };
        let mut log = Log::of(&path);
        let connection = open(&path).unwrap();
        connection.execute_batch("CREATE TABLE t (data)").unwrap();
        let worked_off = |log: &mut Log| {
            let path = path.clone();
            log.shorten(move || open(&path));
            if let Some(worker) = log.worker.get_mut().unwrap().take() {
                worker.join().unwrap();
            }
            fs::metadata(place.path().join("a.db")).unwrap().len()
        };
        assert!(worked_off(&mut log) < LONG, "a short one is left");
        connection.execute("INSERT INTO t VALUES (randomblob(?1))", [LONG.cast_signed()]).unwrap();
        assert!(log.bytes() > LONG);
        assert!(worked_off(&mut log) > LONG);
        let whole: i64 = connection.query_row("SELECT length(data) FROM t", (), |row| row.get(0)).unwrap();
        assert_eq!(whole, LONG.cast_signed());
    }
}
