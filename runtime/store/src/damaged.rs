//! Chunks that were found to be damaged: a save does not see them, and who has their bytes writes them anew.
//!
//! A mark is a row of the table of what is doomed, with the chunk's number below zero; an installation that knows no marks takes them
//! away with its notes, and nothing else. A chunk that is mended keeps its number: what names it was added after it, and what it names before.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use dormouse_core::sandbox::ChunkId;
use rusqlite::{Connection, OptionalExtension as _};

use crate::fault::Answer;
use crate::pack::{Packed, Unpacker};

/// Chunks that this process has found to be damaged and not marked yet.
#[derive(Default)]
pub(crate) struct Seen(Mutex<HashSet<ChunkId>>);

impl Seen {
    /// Remembers one.
    pub(crate) fn note(&self, id: ChunkId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
    }

    /// Those that are to be marked, which are forgotten here.
    pub(crate) fn take(&self) -> HashSet<ChunkId> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Marks those of some chunks that are damaged indeed: another look can find them whole, when it was not the disk that erred.
pub(crate) fn mark(connection: &Connection, seen: &HashSet<ChunkId>) -> Answer<()> {
    let mut unpacker = Unpacker::new()?;
    let mut select =
        connection.prepare_cached("SELECT number, form, size, data FROM chunks WHERE id = ?1")?;
    let mut insert = connection.prepare_cached("INSERT OR IGNORE INTO doomed VALUES (-?1)")?;
    for id in seen {
        let mut rows = select.query([id.as_bytes()])?;
        let Some(row) = rows.next()? else { continue };
        let data = row.get_ref(3)?.as_blob().unwrap_or_default();
        if unpacker.unpack(id, row.get(1)?, row.get(2)?, data).is_err() {
            insert.execute([row.get::<_, i64>(0)?])?;
            tracing::warn!(chunk = %id, "a chunk of the state folder is damaged; a save that has its bytes mends it");
        }
    }
    Ok(())
}

/// Whether any chunk is marked.
pub(crate) fn any(connection: &Connection) -> Answer<bool> {
    let mut statement = connection.prepare_cached("SELECT 1 FROM doomed WHERE number < 0 LIMIT 1")?;
    Ok(statement.query_row((), |_| Ok(())).optional()?.is_some())
}

/// The number of a chunk that is marked.
pub(crate) fn number(connection: &Connection, id: &ChunkId) -> Answer<Option<i64>> {
    let sql = "SELECT number FROM chunks WHERE id = ?1 AND EXISTS (SELECT 1 FROM doomed WHERE number = -chunks.number)";
    Ok(connection.prepare_cached(sql)?.query_row([id.as_bytes()], |row| row.get(0)).optional()?)
}

/// Writes a chunk anew that is marked. False: it is not.
pub(crate) fn mend(connection: &Connection, id: &ChunkId, packed: &Packed) -> Answer<bool> {
    let Some(number) = number(connection, id)? else { return Ok(false) };
    let size = i64::try_from(packed.size).unwrap_or(i64::MAX);
    connection
        .prepare_cached("UPDATE chunks SET form = ?2, size = ?3, data = ?4 WHERE number = ?1")?
        .execute((number, packed.form, size, packed.data.as_slice()))?;
    connection.prepare_cached("DELETE FROM doomed WHERE number = ?1")?.execute([-number])?;
    tracing::info!(chunk = %id, "a damaged chunk of the state folder is whole again");
    Ok(true)
}

/// Forgets the marks of chunks that are gone.
pub(crate) fn forget_gone(connection: &Connection) -> Answer<()> {
    let sql = "DELETE FROM doomed WHERE number < 0 AND NOT EXISTS (SELECT 1 FROM chunks WHERE number = -doomed.number)";
    connection.prepare_cached(sql)?.execute(())?;
    Ok(())
}
