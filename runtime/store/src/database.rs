//! The connections: one that writes, and as many that read as there are readers at once.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant};

use dormouse_core::sandbox::ChunkId;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use crate::damaged::{self, Seen};
use crate::disk;
use crate::fault::{self, Answer};
use crate::folder::Folder;
use crate::log::{self, Log};
use crate::readers::{Reader, Readers};
use crate::reserve::{GivenUp, Reserve};
use crate::schema;
use crate::still::{self, Why};

/// Bytes of a page. A chunk takes whole pages.
const PAGE: u64 = 4096;
/// Most bytes of a row; more is damage.
const LONGEST_ROW: i32 = 8 << 20;
/// Bytes of the write-ahead log that are kept when it has been worked off: writing over them is quicker than making the file longer.
const KEPT_LOG: i64 = 16 << 20;
/// Pages of the log (64 MiB) after which a commit brings them into the database itself.
const LOG_PAGES: i64 = 16_384;
/// Pages (32 MiB) of one transaction that are in memory before they go into the log. A page that goes there early goes there again
/// when it is changed again, which half of them were.
const UNWRITTEN: i64 = 8_192;
/// Prepared statements that a connection keeps.
const STATEMENTS: usize = 64;
/// Waits for another process's transaction, about 8 ms each: half a minute.
const PATIENCE: i32 = 4000;
/// How long sweeps make way for a save that writes ahead.
const SHORT_SAVE: Duration = Duration::from_secs(30);
/// The same for what need not be done now.
const SHORT: i32 = 4;

/// The database. Readers never wait for a writer; writers wait for each other, in this process and in others.
pub(crate) struct Database {
    folder: Folder,
    most_bytes: Option<u64>,
    path: PathBuf,
    /// Comes before the connections: who drops the last one removes it.
    log: Log,
    writer: Mutex<Connection>,
    readers: Readers,
    reserve: Reserve,
    /// Since when each save of this process that has written ahead is under way.
    ahead: Mutex<Vec<Instant>>,
    damaged: Seen,
    /// Held by who reads, for as long as he does.
    opened: RwLock<Opened>,
    /// Comes after the connections: their files are gone when it is dropped.
    given: GivenUp,
}

/// How it is open.
#[derive(Clone, Copy)]
struct Opened {
    /// Why nothing is written, if nothing is.
    still: Option<Why>,
    /// The file: device and inode.
    file: (u64, u64),
}

/// A save that has written ahead. Dropped, it is done.
pub(crate) struct Ahead<'a> {
    database: &'a Database,
    began: Instant,
}

impl Drop for Ahead<'_> {
    fn drop(&mut self) {
        let mut ahead = self.database.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = ahead.iter().position(|began| *began == self.began) {
            ahead.swap_remove(at);
        }
    }
}

/// The device and the inode of a file, if it is there.
fn file_of(path: &Path) -> Option<(u64, u64)> {
    let about = fs::metadata(path).ok()?;
    Some((about.dev(), about.ino()))
}

impl Database {
    /// Opens it, brings it to this version and checks it.
    pub(crate) fn open(folder: &Folder, most_bytes: Option<u64>) -> Answer<Self> {
        let writes = |writer| Self::of(folder, most_bytes, writer, None);
        let fault = match Self::open_now(folder, most_bytes) {
            Ok(writer) => {
                folder.set_aside();
                return Ok(writes(writer));
            }
            Err(fault) => fault,
        };
        let Some(why) = Why::of(folder, &fault) else { return Err(fault) };
        let given = GivenUp::new(folder.reserve());
        match Self::open_still(folder, most_bytes, why) {
            // A log that somebody has left can only be read where its index can be made.
            Err(_) if why != Why::ReadOnly && given.give_up() => {
                let writer = Self::open_now(folder, most_bytes)?;
                Ok(Self { given, ..writes(writer) })
            }
            opened => opened,
        }
    }

    /// Opens it to be looked at.
    fn open_still(folder: &Folder, most_bytes: Option<u64>, why: Why) -> Answer<Self> {
        tracing::warn!("the state folder can only be read: {}", why.error());
        let path = folder.database();
        let connection = still::connect(&path)?;
        schema::is_current(&connection)?;
        schema::check(&connection)?;
        Ok(Self::of(folder, most_bytes, connection, Some(why)))
    }

    /// Refuses who wants to write where nothing can be written, or where nobody would find it: what is written to a file that has
    /// no name any more is gone with the process.
    ///
    /// # Errors
    /// `state_unavailable`.
    pub(crate) fn check_writable(&self) -> Answer<()> {
        let Opened { still, file } = *self.opened();
        match still {
            Some(why) if why.is_over(&self.path, self.reserve.needs()) => {
                self.begin_to_write()?;
                self.folder.set_aside();
                Ok(())
            }
            Some(why) => Err(why.error().into()),
            None if file_of(&self.path) == Some(file) => Ok(()),
            None => Err(fault::gone().into()),
        }
    }

    /// Opens it for writing, which was not possible before. Connections that only read go first: they share an index of the log
    /// that cannot be written.
    ///
    /// # Errors
    /// `state_unavailable` while somebody reads, and when it cannot be written after all: it is only read then, as before.
    fn begin_to_write(&self) -> Answer<()> {
        let Ok(mut opened) = self.opened.try_write() else { return Err(fault::was_still().into()) };
        let Some(why) = opened.still else { return Ok(()) };
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        self.readers.clear();
        *writer = Connection::open_in_memory()?;
        match Self::open_now(&self.folder, self.most_bytes) {
            Ok(connection) => *writer = connection,
            Err(fault) => {
                tracing::debug!(?fault, "the state folder cannot be written yet");
                *writer = still::connect(&self.path)?;
                return Err(why.error().into());
            }
        }
        *opened = Opened { still: None, file: file_of(&self.path).unwrap_or_default() };
        tracing::info!("the state folder can be written again");
        Ok(())
    }

    fn opened(&self) -> RwLockReadGuard<'_, Opened> {
        self.opened.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens it for removing, where there was no room to open it for writing: with the reserve, which is kept for this.
    ///
    /// # Errors
    /// `state_unavailable` when it can only be read.
    pub(crate) fn ready_to_remove(&self) -> Answer<()> {
        match self.check_writable() {
            Err(fault) if self.is_still() && fault.is_no_room() => {
                if !self.given.give_up() {
                    return Err(fault::nothing_kept().into());
                }
                self.begin_to_write().inspect_err(|_| self.reserve.refill())
            }
            checked => checked,
        }
    }

    /// What this process has given up of the reserve.
    pub(crate) fn given(&self) -> &GivenUp {
        &self.given
    }

    /// Whether nothing is written.
    pub(crate) fn is_still(&self) -> bool {
        self.opened().still.is_some()
    }

    /// The connection that writes, to a database of this version.
    fn open_now(folder: &Folder, most_bytes: Option<u64>) -> Answer<Connection> {
        let path = folder.database();
        // Two processes that make or migrate the same database would find each other's half.
        let lock = folder.locked("open.lock")?;
        folder.make_database(|draft| Ok(schema::make(&mut connect(draft)?)?))?;
        let mut writer = connect(&path)?;
        if let Some(bytes) = most_bytes {
            let pages = i64::try_from((bytes / PAGE).max(1)).unwrap_or(i64::MAX);
            writer.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?;
        }
        schema::migrate(&mut writer)?;
        drop(lock);
        schema::check(&writer)?;
        // A log whose index can only be read can be opened, and not be added to.
        writer.execute_batch("BEGIN IMMEDIATE; COMMIT")?;
        Ok(writer)
    }

    fn of(folder: &Folder, most_bytes: Option<u64>, connection: Connection, still: Option<Why>) -> Self {
        let path = folder.database();
        Self {
            opened: RwLock::new(Opened { still, file: file_of(&path).unwrap_or_default() }),
            folder: folder.clone(),
            most_bytes,
            log: Log::of(&path),
            path,
            writer: Mutex::new(connection),
            readers: Readers::default(),
            reserve: folder.reserve(),
            ahead: Mutex::default(),
            damaged: Seen::default(),
            given: GivenUp::new(folder.reserve()),
        }
    }

    /// One transaction that no other process writes beside. It is kept when `work` succeeds, else undone.
    pub(crate) fn write<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Answer<T>) -> Answer<T> {
        self.check_writable()?;
        // A panic inside a transaction rolled it back, so the connection is as good as before.
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let done = || -> Answer<T> {
            let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let answer = work(&transaction)?;
            transaction.commit()?;
            Ok(answer)
        };
        let answer = done().map_err(|fault| match fault {
            // The disk has become read-only, which it may tell nobody but who writes.
            fault if fault.is_of_the_disk() && disk::takes_nothing(self.folder.root()) => {
                fault::read_only().into()
            }
            fault => fault,
        })?;
        drop(writer);
        let path = self.path.clone();
        self.log.shorten(move || connect(&path));
        Ok(answer)
    }

    /// As [`Database::write`], for what makes room. On a disk that is full the log is worked off, and if that does not help the
    /// reserve is given up for it.
    pub(crate) fn clear<T>(&self, work: impl Fn(&Transaction<'_>) -> Answer<T>) -> Answer<T> {
        self.ready_to_remove()?;
        let full = match self.write(&work) {
            Err(fault) if fault.is_full() => fault,
            done => {
                self.keep_log_short();
                return done;
            }
        };
        tracing::debug!(?full, "removing from a full disk");
        // The log begins anew when all of it is in the database; that it cannot all be is seen at the next try.
        let _ = self.cut_log();
        match self.write(&work) {
            Err(fault) if fault.is_full() && self.given.give_up() => {
                // What was given up is for this; working off a long log first could take all of it.
                let done = match self.write(&work) {
                    Err(fault) if fault.is_full() => {
                        let _ = self.cut_log();
                        self.write(&work)
                    }
                    done => done,
                };
                // Before somebody else takes it.
                self.reserve.refill();
                done
            }
            Err(fault) if fault.is_full() => Err(fault::nothing_kept().into()),
            done => done,
        }
    }

    /// Brings what is in the log into the database, as far as no reader needs it there.
    pub(crate) fn work_off(&self) -> Answer<()> {
        self.plain(log::work_off)
    }

    /// The same, and gives what the log takes of the disk back. False: somebody uses it just now.
    pub(crate) fn cut_log(&self) -> Answer<bool> {
        let mut connection = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        connection.busy_handler(Some(|tries| naps(tries, SHORT)))?;
        let cut = log::cut(&connection);
        connection.busy_handler(Some(|tries| naps(tries, PATIENCE)))?;
        cut
    }

    /// Looks whether so many packed bytes can be added, and brought from the log into the database after that. The log takes them
    /// first, and is no shorter before all of it is in the database: without room for both nothing could be removed any more.
    ///
    /// # Errors
    /// `state_unavailable`, with how much is needed and how much is free.
    pub(crate) fn check_room(&self, bytes: usize) -> Answer<()> {
        let look =
            || self.reserve.check_room((bytes as u64).saturating_mul(2).saturating_add(self.log.bytes()));
        if look().is_ok() {
            return Ok(());
        }
        // What the log has may be there twice by now.
        let _ = self.cut_log();
        look().map_err(|(needed, free)| fault::too_full(needed, free).into())
    }

    /// Bytes that must be free beside what is added, so that a state can be saved at all: what the log has, and what is set aside
    /// for removing.
    pub(crate) fn needs(&self) -> u64 {
        self.reserve.needs().saturating_add(self.log.bytes())
    }

    /// After an addition: where little is free, the log is worked off at once, so that it stays short; or as soon as nobody uses it.
    /// On a disk that is full by then it could not be brought into the database, and what is removed made no room.
    pub(crate) fn keep_log_short(&self) {
        if !self.reserve.is_low() {
            return;
        }
        match self.cut_log() {
            Ok(true) => {}
            Ok(false) => {
                let path = self.path.clone();
                self.log.cut_later(move || {
                    let mut connection = connect(&path)?;
                    connection.busy_handler(Some(|tries| naps(tries, SHORT)))?;
                    Ok(connection)
                });
            }
            Err(error) => tracing::debug!(?error, "the log stays as long as it is"),
        }
    }

    /// A chunk was found to be damaged. It is marked now, unless somebody writes; then the next save marks it.
    pub(crate) fn found_damaged(&self, id: ChunkId) {
        self.damaged.note(id);
        if self.writer.try_lock().is_ok() {
            self.mark_damaged();
        }
    }

    /// Marks what was found to be damaged. Where that cannot be written nothing is mended either.
    pub(crate) fn mark_damaged(&self) {
        let seen = self.damaged.take();
        if !seen.is_empty()
            && let Err(error) = self.write(|transaction| damaged::mark(transaction, &seen))
        {
            tracing::debug!(?error, "what is damaged is not marked");
        }
    }

    /// A save begins to write ahead.
    pub(crate) fn begin_ahead(&self) -> Ahead<'_> {
        let began = Instant::now();
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner).push(began);
        Ahead { database: self, began }
    }

    /// Whether a save of this process has written ahead that began a short while ago. A sweep would take what it has written,
    /// and it would have to do it again.
    pub(crate) fn is_ahead(&self) -> bool {
        let ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        ahead.iter().any(|began| began.elapsed() < SHORT_SAVE)
    }

    /// The connection that writes, without a transaction.
    pub(crate) fn plain<T>(&self, work: impl FnOnce(&Connection) -> Answer<T>) -> Answer<T> {
        work(&self.writer.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A reader. Each statement sees all that was acknowledged before it.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&mut Reader) -> Answer<T>) -> Answer<T> {
        let opened = self.opened();
        let connect = || match opened.still {
            Some(_) => Ok(still::connect(&self.path)?),
            None => connect(&self.path),
        };
        self.readers.read(connect, work)
    }
}

/// Waits a little for another process, so many times at most. Short naps: a transaction lasts about as long as the disk needs
/// to write it.
fn naps(tries: i32, most: i32) -> bool {
    std::thread::sleep(Duration::from_millis(if tries < 4 { 1 } else { 8 }));
    tries < most
}

fn connect(path: &Path) -> Answer<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    prepared(Connection::open_with_flags(path, flags)?)
}

/// The connection as all are.
pub(crate) fn prepared(mut connection: Connection) -> Answer<Connection> {
    connection.busy_handler(Some(|tries| naps(tries, PATIENCE)))?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST_ROW)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update_and_check(None, "journal_size_limit", KEPT_LOG, |_| Ok(()))?;
    connection.pragma_update_and_check(None, "wal_autocheckpoint", LOG_PAGES, |_| Ok(()))?;
    connection.pragma_update(None, "cache_spill", UNWRITTEN)?;
    Ok(connection)
}

#[cfg(test)]
mod tests {
    use dormouse_core::Error;

    use super::*;
    use crate::fault::Fault;

    fn opened(place: &tempfile::TempDir) -> Database {
        Database::open(&Folder::open(place.path()).unwrap(), None).unwrap()
    }

    #[test]
    fn what_is_acknowledged_is_on_the_disk() {
        let place = tempfile::tempdir().unwrap();
        let database = opened(&place);
        let settings = |connection: &Connection| -> Answer<(i64, String)> {
            let level = connection.pragma_query_value(None, "synchronous", |row| row.get(0))?;
            Ok((level, connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?))
        };
        let full = (2, "wal".to_owned());
        assert_eq!(database.plain(settings).unwrap(), full);
        assert_eq!(database.read(|reader| settings(&reader.connection)).unwrap(), full);
    }

    #[test]
    fn what_could_only_be_read_is_written_when_it_can_be() {
        let place = tempfile::tempdir().unwrap();
        drop(opened(&place));
        let folder = Folder::open(place.path()).unwrap();
        let database = Database::open_still(&folder, None, Why::Full).unwrap();
        let mark = |key: u32| {
            move |transaction: &Transaction<'_>| -> Answer<()> {
                let insert = "INSERT INTO chunks (id, form, size, data) VALUES (?1, 1, 1, x'00')";
                transaction.execute(insert, [format!("{key}").into_bytes()]).map(drop)?;
                Ok(())
            }
        };
        let count = |reader: &mut Reader| -> Answer<i64> {
            Ok(reader.connection.query_row("SELECT count(*) FROM chunks", (), |row| row.get(0))?)
        };
        // Somebody reads, so nobody writes yet; and nothing is lost by having tried.
        let told = database.read(|reader| {
            assert_eq!(count(reader)?, 0);
            Ok(database.write(mark(1)).map_err(Error::from).unwrap_err())
        });
        assert_eq!(told.unwrap().message(), fault::was_still().message());
        database.write(mark(1)).unwrap();
        assert!(!database.is_still());
        assert_eq!(database.read(count).unwrap(), 1);
        let other = opened(&place);
        other.write(mark(2)).unwrap();
        assert_eq!(database.read(count).unwrap(), 2, "it reads what others have written");
    }

    #[test]
    fn who_reads_does_not_wait_for_who_writes_and_cannot_write() {
        let place = tempfile::tempdir().unwrap();
        let database = opened(&place);
        let insert = "INSERT INTO chunks (id, form, size, data) VALUES (x'00', 0, 1, x'00')";
        let count = |connection: &Connection| -> Answer<i64> {
            Ok(connection.query_row("SELECT count(*) FROM chunks", (), |row| row.get(0))?)
        };
        let undone = database.write(|transaction| {
            transaction.execute(insert, ())?;
            assert_eq!(count(transaction)?, 1);
            assert_eq!(database.read(|reader| count(&reader.connection))?, 0);
            Err::<(), Fault>(dormouse_core::Error::args_invalid("undo it").into())
        });
        assert!(undone.is_err());
        assert_eq!(database.read(|reader| count(&reader.connection)).unwrap(), 0);
        assert!(database.read(|reader| Ok(reader.connection.execute(insert, ())?)).is_err());
    }
}
