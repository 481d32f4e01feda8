//! The connections that read: as many as there are readers at once, of which a few are kept.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::Connection;

use crate::fault::Answer;
use crate::pack::Unpacker;

/// Readers that are kept when nobody uses them.
const KEPT: usize = 8;
/// How long to wait for a reader that is in use, where the process has no descriptor left for another one.
const WAIT: Duration = Duration::from_secs(2);

/// What a reader needs: a connection, and the room in which chunks are unpacked.
pub(crate) struct Reader {
    pub(crate) connection: Connection,
    pub(crate) unpacker: Unpacker,
}

/// All readers of one database.
#[derive(Default)]
pub(crate) struct Readers {
    state: Mutex<State>,
    /// One was given back.
    given_back: Condvar,
}

#[derive(Default)]
struct State {
    /// Those that nobody uses.
    kept: Vec<Reader>,
    /// How many are in use.
    used: usize,
}

/// A reader in use. Dropped, it is given back.
struct Lent<'a> {
    readers: &'a Readers,
    reader: Option<Reader>,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let mut state = self.readers.state();
        state.used -= 1;
        if state.kept.len() < KEPT {
            state.kept.extend(self.reader.take());
        }
        drop(state);
        self.readers.given_back.notify_one();
    }
}

impl Readers {
    /// Reads with one that is kept, or else with one that `connect` opens.
    ///
    /// # Errors
    /// Those of `connect` and of `work`.
    pub(crate) fn read<T>(
        &self,
        connect: impl FnOnce() -> Answer<Connection>,
        work: impl FnOnce(&mut Reader) -> Answer<T>,
    ) -> Answer<T> {
        let mut lent = Lent { readers: self, reader: self.kept() };
        let reader = match &mut lent.reader {
            Some(reader) => reader,
            none => none.insert(self.another(connect)?),
        };
        work(reader)
    }

    /// Closes those that nobody uses.
    pub(crate) fn clear(&self) {
        self.state().kept.clear();
    }

    /// Notes that a reader is in use: this one, if one is kept.
    fn kept(&self) -> Option<Reader> {
        let mut state = self.state();
        state.used += 1;
        state.kept.pop()
    }

    /// One more. Where it cannot be opened because the process has no descriptor left, the next one that is given back.
    fn another(&self, connect: impl FnOnce() -> Answer<Connection>) -> Answer<Reader> {
        let fault = match connect().and_then(opened) {
            Err(fault) if fault.is_not_opened() => fault,
            done => return done,
        };
        let nobody_gives = |state: &mut State| state.kept.is_empty() && state.used > 1;
        let waited = self.given_back.wait_timeout_while(self.state(), WAIT, nobody_gives);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.kept.pop().ok_or(fault)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn opened(connection: Connection) -> Answer<Reader> {
    connection.pragma_update(None, "query_only", true)?;
    // The log, too, is opened now and not by what is read first.
    connection.pragma_query_value(None, "schema_version", |_| Ok(()))?;
    Ok(Reader { connection, unpacker: Unpacker::new()? })
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use rusqlite::ffi;

    use super::*;
    use crate::fault::Fault;

    fn no_descriptor() -> Answer<Connection> {
        Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_CANTOPEN), None).into())
    }

    #[test]
    fn who_cannot_open_a_reader_takes_one_that_is_given_back() {
        let readers = Readers::default();
        let one = |reader: &mut Reader| -> Answer<i64> {
            Ok(reader.connection.query_row("SELECT 1", (), |row| row.get(0))?)
        };
        let refused = readers.read(no_descriptor, one);
        assert!(refused.is_err_and(|fault: Fault| fault.is_not_opened()), "nobody has one");
        let (taken, is_taken) = channel();
        std::thread::scope(|scope| {
            let readers = &readers;
            scope.spawn(move || {
                let memory = || Ok(Connection::open_in_memory()?);
                readers.read(memory, |_| {
                    taken.send(()).unwrap();
                    std::thread::sleep(Duration::from_millis(50));
                    Ok(())
                })
            });
            is_taken.recv().unwrap();
            assert_eq!(readers.read(no_descriptor, one).unwrap(), 1);
        });
        assert_eq!(readers.state().used, 0);
    }
}
