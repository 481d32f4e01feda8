//! The form of the database, by version, and the way from an older one to this.

use dormouse_core::{Error, ErrorCode};
use rusqlite::{Connection, TransactionBehavior};

use crate::fault::{Answer, broken};

/// The version of the database's form, its `user_version`. A folder of a later version is refused, an earlier one is
/// brought to this one when it is opened.
pub const VERSION: usize = STEPS.len();

/// `DORM`: tells our databases from others.
const APPLICATION: i64 = 0x444F_524D;

/// What leads from each version to the next. A step that was ever released is never changed.
const STEPS: &[&str] = &[
    // Every row of the first two tables ends with a seal over its other columns, see `row`.
    "CREATE TABLE sandboxes (
        id TEXT NOT NULL PRIMARY KEY,
        owner TEXT NOT NULL,
        name TEXT NOT NULL,
        session_key TEXT,
        phase TEXT NOT NULL,
        stop_reason TEXT,
        spec TEXT NOT NULL,
        state_root BLOB,
        state_bytes INTEGER,
        generation INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        last_activity_at INTEGER NOT NULL,
        stopped_at INTEGER,
        used INTEGER NOT NULL,
        seal BLOB NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX sandboxes_by_name ON sandboxes (owner, name);
    CREATE UNIQUE INDEX sandboxes_by_key ON sandboxes (owner, session_key) WHERE session_key IS NOT NULL;
    CREATE INDEX sandboxes_by_age ON sandboxes (owner, created_at, id);
    CREATE INDEX sandboxes_by_phase ON sandboxes (phase);
    CREATE INDEX sandboxes_by_state ON sandboxes (state_root) WHERE state_root IS NOT NULL;
    CREATE TABLE checkpoints (
        id TEXT NOT NULL PRIMARY KEY,
        sandbox TEXT NOT NULL REFERENCES sandboxes (id) ON DELETE CASCADE,
        name TEXT,
        include TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        state_root BLOB NOT NULL,
        state_bytes INTEGER NOT NULL,
        seal BLOB NOT NULL
    ) STRICT;
    CREATE INDEX checkpoints_by_age ON checkpoints (sandbox, created_at, id);
    CREATE INDEX checkpoints_by_state ON checkpoints (state_root);
    CREATE TABLE chunks (
        number INTEGER PRIMARY KEY,
        id BLOB NOT NULL UNIQUE,
        form INTEGER NOT NULL,
        size INTEGER NOT NULL,
        data BLOB NOT NULL
    ) STRICT;",
    // Chunks that are to be removed, and what is known of all chunks' numbers, see `doomed`. Until now chunks that were added
    // together had numbers in no order.
    "CREATE TABLE doomed (number INTEGER PRIMARY KEY) STRICT;
    CREATE TABLE numbers (unordered INTEGER NOT NULL, used INTEGER NOT NULL) STRICT;
    INSERT INTO numbers SELECT coalesce(max(number), 0), coalesce(max(number), 0) FROM chunks;",
    // Runs that outlive their call, their calls, and what somebody has answered about them, see `runs`. A run's record stays when
    // its sandbox is gone.
    "CREATE TABLE runs (
        id TEXT NOT NULL PRIMARY KEY,
        owner TEXT NOT NULL,
        sandbox TEXT NOT NULL,
        open INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        record TEXT NOT NULL,
        source TEXT NOT NULL,
        seal BLOB NOT NULL
    ) STRICT;
    CREATE INDEX runs_by_age ON runs (owner, created_at, id);
    CREATE INDEX runs_open ON runs (sandbox) WHERE open = 1;
    CREATE TABLE run_calls (
        run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        number INTEGER NOT NULL,
        record TEXT NOT NULL,
        seal BLOB NOT NULL,
        PRIMARY KEY (run, number)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE run_answers (
        run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        number INTEGER NOT NULL,
        decision TEXT NOT NULL,
        seal BLOB NOT NULL,
        PRIMARY KEY (run, number)
    ) STRICT, WITHOUT ROWID;",
];

/// Fills an empty database.
pub(crate) fn make(connection: &mut Connection) -> Answer<()> {
    // Both take effect only before the first table, and stay in the file.
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    connection.pragma_update(None, "application_id", APPLICATION)?;
    take(connection, STEPS)
}

/// Refuses a database that is not ours, or of a later version: what it holds may mean something that is not known here.
///
/// # Errors
/// `state_unavailable`.
pub(crate) fn is_known(connection: &Connection) -> Answer<()> {
    left(connection).map(drop)
}

/// The steps that lead from the database's version to [`VERSION`].
fn left(connection: &Connection) -> Answer<&'static [&'static str]> {
    if pragma(connection, "application_id")? != APPLICATION {
        return Err(refuse("`state.db` is another program's database", "choose another state folder").into());
    }
    let version = pragma(connection, "user_version")?;
    let at = usize::try_from(version).ok().filter(|at| *at > 0).unwrap_or(usize::MAX);
    STEPS.get(at..).ok_or_else(|| {
        let what = format!("the state folder has version {version}, this Dormouse supports up to {VERSION}");
        refuse(&what, "use the Dormouse that wrote it or a later one, or another folder").into()
    })
}

/// Brings a database to [`VERSION`]. Only one process at a time may do this.
///
/// # Errors
/// `state_unavailable` for a later version or another program's database; `state_damaged` for an empty one.
pub(crate) fn migrate(connection: &mut Connection) -> Answer<()> {
    let version = pragma(connection, "user_version")?;
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", (), |row| row.get(0))?;
    if tables == 0 && version == 0 {
        return Err(broken("it is empty").into());
    }
    let steps = left(connection)?;
    let mode: String = connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    if mode != "wal" {
        let what = format!("the state folder cannot have a write-ahead log (`{mode}`)");
        return Err(refuse(&what, "choose a state folder on a local disk").into());
    }
    if steps.is_empty() { Ok(()) } else { take(connection, steps) }
}

/// Refuses a database that would have to be brought to [`VERSION`] first.
///
/// # Errors
/// `state_unavailable`.
pub(crate) fn is_current(connection: &Connection) -> Answer<()> {
    if pragma(connection, "application_id")? != APPLICATION {
        return Err(refuse("`state.db` is another program's database", "choose another state folder").into());
    }
    let version = pragma(connection, "user_version")?;
    if usize::try_from(version).is_ok_and(|version| version == VERSION) {
        return Ok(());
    }
    let what = format!(
        "the state folder has version {version} and cannot be written, this Dormouse reads {VERSION}"
    );
    Err(refuse(&what, "open it once where it can be written, with the Dormouse that is to use it").into())
}

/// Takes the last steps, all or none.
fn take(connection: &mut Connection, steps: &[&str]) -> Answer<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for step in steps {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "user_version", i64::try_from(VERSION).unwrap_or(i64::MAX))?;
    Ok(transaction.commit()?)
}

/// Checks that the tables are those of [`VERSION`] and that the records with their indexes hold together. Reads the
/// records, not the chunks: each of those is checked when it is read.
///
/// # Errors
/// `state_damaged`.
pub(crate) fn check(connection: &Connection) -> Answer<()> {
    let ours = Connection::open_in_memory()?;
    for step in STEPS {
        ours.execute_batch(step)?;
    }
    if texts(connection)? != texts(&ours)? {
        return Err(broken("its tables are not those that were made").into());
    }
    for table in ["sandboxes", "checkpoints"] {
        let found: String =
            connection.query_row(&format!("PRAGMA integrity_check({table})"), (), |row| row.get(0))?;
        if found != "ok" {
            return Err(broken(&format!("in its {table}")).with_source(found).into());
        }
    }
    Ok(())
}

/// What makes up the database: kind, name and text of each of its parts.
fn texts(connection: &Connection) -> Answer<Vec<(String, String, Option<String>)>> {
    let mut statement = connection.prepare("SELECT type, name, sql FROM sqlite_schema ORDER BY name")?;
    let rows = statement.query_map((), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn pragma(connection: &Connection, name: &str) -> Answer<i64> {
    Ok(connection.pragma_query_value(None, name, |row| row.get(0))?)
}

fn refuse(what: &str, hint: &str) -> Error {
    Error::new(ErrorCode::StateUnavailable, what).with_hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(place: &tempfile::TempDir) -> Connection {
        Connection::open(place.path().join("state.db")).unwrap()
    }

    #[test]
    fn a_new_database_is_of_this_version_and_stays_so() {
        let place = tempfile::tempdir().unwrap();
        make(&mut opened(&place)).unwrap();
        for _ in 0..2 {
            let mut connection = opened(&place);
            migrate(&mut connection).unwrap();
            check(&connection).unwrap();
            assert_eq!(pragma(&connection, "user_version").unwrap(), i64::try_from(VERSION).unwrap());
            assert_eq!(pragma(&connection, "auto_vacuum").unwrap(), 2);
        }
    }

    #[test]
    fn a_later_version_and_another_program_are_refused_and_left_alone() {
        for sql in [
            format!("PRAGMA application_id = {APPLICATION}; PRAGMA user_version = 99"),
            format!("PRAGMA application_id = {APPLICATION}; PRAGMA user_version = -1"),
            "CREATE TABLE theirs (a)".into(),
            "PRAGMA user_version = 1".into(),
        ] {
            let place = tempfile::tempdir().unwrap();
            let mut connection = opened(&place);
            connection.execute_batch(&sql).unwrap();
            let before = std::fs::read(place.path().join("state.db")).unwrap();
            for refused in [migrate(&mut connection), is_known(&connection)] {
                let error = Error::from(refused.unwrap_err());
                assert_eq!(error.code(), ErrorCode::StateUnavailable, "{sql}");
                assert!(error.hint().is_some());
            }
            assert_eq!(std::fs::read(place.path().join("state.db")).unwrap(), before, "{sql}");
        }
    }

    #[test]
    fn a_table_that_is_not_ours_is_seen() {
        let place = tempfile::tempdir().unwrap();
        let mut connection = opened(&place);
        make(&mut connection).unwrap();
        connection.execute_batch("DROP INDEX sandboxes_by_name").unwrap();
        let error = Error::from(check(&connection).unwrap_err());
        assert_eq!(error.code(), ErrorCode::StateDamaged);
    }
}
