//! The write-ahead log beside the database, and who brings what is in it into the database.
//!
//! SQLite would do that in the commit that makes the log too long, so that every second save of 10 MB took 18 ms more. It is done in a
//! thread of its own, by a connection of its own; writers go on meanwhile. Where they write more than it brings over, their
//! connection still does it, at a longer log.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use rusqlite::Connection;

use crate::fault::Answer;

/// Bytes of a log that is long.
const LONG: u64 = 16 << 20;

/// How often a log that somebody uses is tried to be cut beside the calls, and the pause between two tries: for 30 s.
const TRIES: u32 = 300;
const PAUSE: Duration = Duration::from_millis(100);

/// The log of one database. Dropped, nobody works on it any more.
pub(crate) struct Log {
    path: PathBuf,
    worker: Mutex<Option<JoinHandle<()>>>,
    ends: Arc<AtomicBool>,
}

impl Log {
    /// The log of the database at `database`.
    pub(crate) fn of(database: &Path) -> Self {
        Self { path: database.with_extension("db-wal"), worker: Mutex::default(), ends: Arc::default() }
    }

    /// Bytes of the file.
    pub(crate) fn bytes(&self) -> u64 {
        fs::metadata(&self.path).map_or(0, |log| log.len())
    }

    /// Has a long log brought into the database, by a connection that `connect` makes. Nobody waits for it.
    pub(crate) fn shorten(&self, connect: impl FnOnce() -> Answer<Connection> + Send + 'static) {
        if self.bytes() > LONG {
            self.work(|| work_off(&connect()?));
        }
    }

    /// Has the log cut as soon as nobody uses it, by a connection that `connect` makes. Nobody waits for it.
    pub(crate) fn cut_later(&self, connect: impl FnOnce() -> Answer<Connection> + Send + 'static) {
        let ends = self.ends.clone();
        self.work(move || {
            let connection = connect()?;
            for _ in 0..TRIES {
                if ends.load(Ordering::Relaxed) || cut(&connection)? {
                    break;
                }
                std::thread::sleep(PAUSE);
            }
            Ok(())
        });
    }

    /// Does the work in a thread, unless some is under way.
    fn work(&self, work: impl FnOnce() -> Answer<()> + Send + 'static) {
        let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        if worker.as_ref().is_some_and(|worker| !worker.is_finished()) {
            return;
        }
        let work = || {
            if let Err(error) = work() {
                tracing::debug!(?error, "the log stays as long as it is");
            }
        };
        // Without a thread a later commit does it.
        *worker = Builder::new().name("log".to_owned()).spawn(work).ok();
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
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

/// Brings all that is in the log into the database, and gives what the log takes of the disk back. False: somebody uses it. Nobody
/// writes meanwhile, so the connection should not be patient.
pub(crate) fn cut(connection: &Connection) -> Answer<bool> {
    Ok(connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |row| Ok(row.get::<_, i64>(0)? == 0))?)
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    #[test]
    fn a_log_that_somebody_reads_is_cut_when_he_has_done() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a.db");
        let open = |path: &Path| {
            let connection = Connection::open(path)?;
            connection.pragma_update(None, "journal_mode", "WAL")?;
            Answer::Ok(connection)
        };
        let log = Log::of(&path);
        let connection = open(&path).unwrap();
        connection.execute_batch("CREATE TABLE t (data); INSERT INTO t VALUES (1)").unwrap();
        let mut reader = open(&path).unwrap();
        let reading = reader.transaction().unwrap();
        reading.query_row("SELECT count(*) FROM t", (), |_| Ok(())).unwrap();
        connection.execute_batch("INSERT INTO t VALUES (2)").unwrap();
        assert!(!cut(&connection).unwrap(), "it is read");
        log.cut_later(move || open(&path));
        assert!(log.bytes() > 0);
        drop(reading);
        let begun = std::time::Instant::now();
        while log.bytes() > 0 && begun.elapsed() < Duration::from_secs(20) {
            std::thread::yield_now();
        }
        assert_eq!(log.bytes(), 0);
    }

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
