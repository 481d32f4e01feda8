//! Chunks that are to be removed: first noted one after the other, then doomed all at once, then removed one after the other.
//!
//! A chunk that is doomed is as if it were not there for a save ([`chunks::has`](crate::chunks::has)). So all of them go at one moment, however long
//! it takes to remove them. A save that needs one puts it again.
//!
//! A row has the number of a chunk that is noted, or 0, which no chunk has: what is noted is doomed. Numbers below zero are `damaged`'s. A number that was used before
//! something was doomed is not used again, so that what was added since can be told by its number.

use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension as _, Transaction};

use crate::fault::Answer;

/// Chunks that one transaction removes at most.
const BATCH: i64 = 128;
/// Time after which a transaction removes no more.
const TURN: Duration = Duration::from_millis(10);

/// Whether the noted chunks are doomed.
pub(crate) fn is_set(connection: &Connection) -> Answer<bool> {
    let mut statement = connection.prepare_cached("SELECT 1 FROM doomed WHERE number = 0")?;
    Ok(statement.query_row((), |_| Ok(())).optional()?.is_some())
}

/// The number up to which a chunk's can be below that of one that it names. An older form of the database had such; 0: none.
pub(crate) fn unordered(connection: &Connection) -> Answer<i64> {
    let mut statement = connection.prepare_cached("SELECT coalesce(max(unordered), 0) FROM numbers")?;
    Ok(statement.query_row((), |row| row.get(0))?)
}

/// Forgets all notes.
pub(crate) fn clear(connection: &Connection) -> Answer<()> {
    // Below zero stand the marks of what is damaged.
    connection.prepare_cached("DELETE FROM doomed WHERE number >= 0")?.execute(())?;
    Ok(())
}

/// Notes chunks by their numbers.
pub(crate) fn note(connection: &Connection, numbers: impl IntoIterator<Item = i64>) -> Answer<()> {
    let mut statement = connection.prepare_cached("INSERT INTO doomed VALUES (?1)")?;
    numbers.into_iter().try_for_each(|number| Ok(statement.execute([number]).map(drop)?))
}

/// Takes notes back.
pub(crate) fn spare(connection: &Connection, numbers: impl IntoIterator<Item = i64>) -> Answer<()> {
    let mut statement = connection.prepare_cached("DELETE FROM doomed WHERE number = ?1")?;
    numbers.into_iter().try_for_each(|number| Ok(statement.execute([number]).map(drop)?))
}

/// Dooms what is noted. The highest number that was used until now.
pub(crate) fn set(transaction: &Transaction<'_>) -> Answer<i64> {
    note(transaction, [0])?;
    let sql =
        "UPDATE numbers SET used = max(used, (SELECT coalesce(max(number), 0) FROM chunks)) RETURNING used";
    Ok(transaction.prepare_cached(sql)?.query_row((), |row| row.get(0))?)
}

/// Removes some doomed chunks, the latest first: how many, and their bytes on the disk. None: there are no more, and nothing is doomed
/// now.
pub(crate) fn remove(transaction: &Transaction<'_>) -> Answer<Option<(u64, u64)>> {
    let begin = Instant::now();
    // What lies at the end of the file goes first, so that little has to be moved to make the file shorter.
    let sql = "SELECT number FROM doomed WHERE number > 0 ORDER BY number DESC LIMIT ?1";
    let mut listed = transaction.prepare_cached(sql)?;
    let numbers = listed.query_map([BATCH], |row| row.get(0))?.collect::<rusqlite::Result<Vec<i64>>>()?;
    if numbers.is_empty() {
        clear(transaction)?;
        return Ok(None);
    }
    let mut length = transaction.prepare_cached("SELECT length(data) FROM chunks WHERE number = ?1")?;
    let mut remove = transaction.prepare_cached("DELETE FROM chunks WHERE number = ?1")?;
    let (mut count, mut bytes) = (0, 0);
    for number in numbers {
        let found: Option<i64> = length.query_row([number], |row| row.get(0)).optional()?;
        if let Some(found) = found {
            remove.execute([number])?;
            (count, bytes) = (count + 1, bytes + found.unsigned_abs());
        }
        spare(transaction, [number])?;
        if begin.elapsed() > TURN {
            break;
        }
    }
    Ok(Some((count, bytes)))
}
