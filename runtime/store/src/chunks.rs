//! Chunks in the database, and the door through which saved state is read.

use std::sync::Arc;

use dormouse_core::sandbox::chunk::{damaged_chunk, is_damaged_chunk};
use dormouse_core::sandbox::{ChunkId, ChunkSource};
use dormouse_core::{Error, Result};
use rusqlite::{Connection, OptionalExtension as _, Row};

use crate::database::Database;
use crate::fault::Answer;
use crate::pack::Packed;
use crate::readers::Reader;
use crate::{damaged, doomed};

/// Gives chunks out of the database.
pub(crate) struct Chunks(pub(crate) Arc<Database>);

impl ChunkSource for Chunks {
    fn get(&self, id: &ChunkId) -> Result<Option<Vec<u8>>> {
        let read: Result<_> = self.0.read(|reader| one(reader, id)).map_err(Error::from);
        if read.as_ref().err().and_then(is_damaged_chunk).is_some() {
            self.0.found_damaged(*id);
        }
        read
    }
}

/// One chunk, unpacked and checked.
pub(crate) fn one(reader: &mut Reader, id: &ChunkId) -> Answer<Option<Vec<u8>>> {
    let mut statement =
        reader.connection.prepare_cached("SELECT form, size, data FROM chunks WHERE id = ?1")?;
    let mut rows = statement.query([id.as_bytes()])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let data = row.get_ref(2)?.as_blob().map_err(|_| damaged_chunk(*id, "is not what it was"))?;
    Ok(Some(reader.unpacker.unpack(id, row.get(0)?, row.get(1)?, data)?))
}

/// Whether a chunk is there, not doomed, and not known to be damaged.
pub(crate) fn has(connection: &Connection, id: &ChunkId) -> Answer<bool> {
    let sql = "SELECT 1 FROM chunks WHERE id = ?1 AND NOT (\
               EXISTS (SELECT 1 FROM doomed WHERE number = 0) AND \
               EXISTS (SELECT 1 FROM doomed WHERE number = chunks.number)) \
               AND NOT EXISTS (SELECT 1 FROM doomed WHERE number = -chunks.number)";
    let mut statement = connection.prepare_cached(sql)?;
    Ok(statement.query_row([id.as_bytes()], |_| Ok(())).optional()?.is_some())
}

/// Adds a chunk after those that it names, unless it is there and not doomed.
pub(crate) fn insert(connection: &Connection, id: &ChunkId, packed: &Packed) -> Answer<()> {
    if let Some(number) = number_of_doomed(connection, id)? {
        // It gets another number: what it names may just have been added too, and has to have a lower one.
        doomed::spare(connection, [number])?;
        connection.prepare_cached("DELETE FROM chunks WHERE number = ?1")?.execute([number])?;
        connection.prepare_cached("DELETE FROM doomed WHERE number = ?1")?.execute([-number])?;
    } else if damaged::mend(connection, id, packed)? {
        return Ok(());
    }
    let sql = "INSERT INTO chunks (number, id, form, size, data) VALUES (1 + max(\
               coalesce((SELECT used FROM numbers), 0), (SELECT coalesce(max(number), 0) FROM chunks)\
               ), ?1, ?2, ?3, ?4) ON CONFLICT (id) DO NOTHING";
    let size = i64::try_from(packed.size).unwrap_or(i64::MAX);
    connection.prepare_cached(sql)?.execute((id.as_bytes(), packed.form, size, packed.data.as_slice()))?;
    Ok(())
}

/// The number of a chunk that is there and doomed.
fn number_of_doomed(connection: &Connection, id: &ChunkId) -> Answer<Option<i64>> {
    let sql = "SELECT number FROM chunks WHERE id = ?1 AND EXISTS (SELECT 1 FROM doomed WHERE number = 0) \
               AND EXISTS (SELECT 1 FROM doomed WHERE number = chunks.number)";
    Ok(connection.prepare_cached(sql)?.query_row([id.as_bytes()], |row| row.get(0)).optional()?)
}

/// A chunk's number, which grows with each that is added, and its name.
pub(crate) type Numbered = (i64, ChunkId);

/// The number of the latest chunk; 0: there is none.
pub(crate) fn latest(connection: &Connection) -> Answer<i64> {
    let mut statement = connection.prepare_cached("SELECT coalesce(max(number), 0) FROM chunks")?;
    Ok(statement.query_row((), |row| row.get(0))?)
}

/// At most `most` chunks after the name `last`, in the order of their names.
pub(crate) fn after(connection: &Connection, last: Option<&ChunkId>, most: i64) -> Answer<Vec<Numbered>> {
    // Only the index is read, no chunk.
    let sql = "SELECT number, id FROM chunks WHERE id > ?1 ORDER BY id LIMIT ?2";
    let last: &[u8] = last.map_or(&[], |id| id.as_bytes());
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map((last, most), numbered)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Chunks that were added after the one of that number.
pub(crate) fn since(connection: &Connection, number: i64) -> Answer<Vec<Numbered>> {
    let mut statement = connection.prepare_cached("SELECT number, id FROM chunks WHERE number > ?1")?;
    let rows = statement.query_map([number], numbered)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn numbered(row: &Row<'_>) -> rusqlite::Result<Numbered> {
    Ok((row.get(0)?, ChunkId::from_bytes(row.get(1)?)))
}
