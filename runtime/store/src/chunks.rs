//! Chunks in the database, and the door through which saved state is read.

use std::sync::Arc;

use dormouse_core::Result;
use dormouse_core::sandbox::chunk::damaged;
use dormouse_core::sandbox::{ChunkId, ChunkSource};
use rusqlite::{Connection, OptionalExtension as _};

use crate::database::{Database, Reader};
use crate::fault::Answer;
use crate::pack::Packed;

/// Gives chunks out of the database.
pub(crate) struct Chunks(pub(crate) Arc<Database>);

impl ChunkSource for Chunks {
    fn get(&self, id: &ChunkId) -> Result<Option<Vec<u8>>> {
        Ok(self.0.read(|reader| one(reader, id))?)
    }
}

fn one(reader: &mut Reader, id: &ChunkId) -> Answer<Option<Vec<u8>>> {
    let mut statement =
        reader.connection.prepare_cached("SELECT form, size, data FROM chunks WHERE id = ?1")?;
    let mut rows = statement.query([id.as_bytes()])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let data =
        row.get_ref(2)?.as_blob().map_err(|_| damaged(format_args!("chunk {id} is not what it was")))?;
    Ok(Some(reader.unpacker.unpack(id, row.get(0)?, row.get(1)?, data)?))
}

/// Whether a chunk is there.
pub(crate) fn has(connection: &Connection, id: &ChunkId) -> Answer<bool> {
    let mut statement = connection.prepare_cached("SELECT 1 FROM chunks WHERE id = ?1")?;
    Ok(statement.query_row([id.as_bytes()], |_| Ok(())).optional()?.is_some())
}

/// Adds a chunk, unless it is there.
pub(crate) fn insert(connection: &Connection, id: &ChunkId, packed: &Packed) -> Answer<()> {
    let sql = "INSERT INTO chunks (id, form, size, data) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (id) DO NOTHING";
    let size = i64::try_from(packed.size).unwrap_or(i64::MAX);
    connection.prepare_cached(sql)?.execute((id.as_bytes(), packed.form, size, packed.data.as_slice()))?;
    Ok(())
}

/// At most `most` ids of chunks after `last`, in their order.
pub(crate) fn after(connection: &Connection, last: Option<&ChunkId>, most: i64) -> Answer<Vec<ChunkId>> {
    // Only the index is read, no chunk.
    let sql = "SELECT id FROM chunks WHERE id > ?1 ORDER BY id LIMIT ?2";
    let last: &[u8] = last.map_or(&[], |id| id.as_bytes());
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map((last, most), |row| Ok(ChunkId::from_bytes(row.get(0)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Removes a chunk; returns its bytes on the disk, if it was there.
pub(crate) fn remove(connection: &Connection, id: &ChunkId) -> Answer<Option<u64>> {
    let sql = "DELETE FROM chunks WHERE id = ?1 RETURNING length(data)";
    let mut statement = connection.prepare_cached(sql)?;
    let bytes: Option<i64> = statement.query_row([id.as_bytes()], |row| row.get(0)).optional()?;
    Ok(bytes.map(|bytes| u64::try_from(bytes).unwrap_or_default()))
}
