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
    fn get(&self, id: &ChunkId) -> Result<Arc<[u8]>> {
        Ok(self.0.read(|reader| one(reader, id))?)
    }

    fn get_many(&self, ids: &[ChunkId]) -> Result<Vec<Arc<[u8]>>> {
        Ok(self.0.read(|reader| ids.iter().map(|id| one(reader, id)).collect())?)
    }
}

fn one(reader: &mut Reader, id: &ChunkId) -> Answer<Arc<[u8]>> {
    let mut statement =
        reader.connection.prepare_cached("SELECT form, size, data FROM chunks WHERE id = ?1")?;
    let mut rows = statement.query([id.0])?;
    let Some(row) = rows.next()? else {
        return Err(damaged(format_args!("chunk {id} is missing")).into());
    };
    let data =
        row.get_ref(2)?.as_blob().map_err(|_| damaged(format_args!("chunk {id} is not what it was")))?;
    Ok(reader.unpacker.unpack(id, row.get(0)?, row.get(1)?, data)?.into())
}

/// Whether a chunk is there.
pub(crate) fn has(connection: &Connection, id: &ChunkId) -> Answer<bool> {
    let mut statement = connection.prepare_cached("SELECT 1 FROM chunks WHERE id = ?1")?;
    Ok(statement.query_row([id.0], |_| Ok(())).optional()?.is_some())
}

/// Adds a chunk, unless it is there.
pub(crate) fn insert(connection: &Connection, id: &ChunkId, packed: &Packed) -> Answer<()> {
    let sql = "INSERT INTO chunks (id, form, size, data) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (id) DO NOTHING";
    let size = i64::try_from(packed.size).unwrap_or(i64::MAX);
    connection.prepare_cached(sql)?.execute((id.0, packed.form, size, packed.data.as_slice()))?;
    Ok(())
}

/// At most `most` ids of chunks after `last`, in their order.
pub(crate) fn after(connection: &Connection, last: Option<&ChunkId>, most: i64) -> Answer<Vec<ChunkId>> {
    // Only the index is read, no chunk.
    let sql = "SELECT id FROM chunks WHERE id > ?1 ORDER BY id LIMIT ?2";
    let last: &[u8] = last.map_or(&[], |id| &id.0);
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map((last, most), |row| Ok(ChunkId(row.get(0)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Removes a chunk; returns its bytes on the disk, if it was there.
pub(crate) fn remove(connection: &Connection, id: &ChunkId) -> Answer<Option<u64>> {
    let sql = "DELETE FROM chunks WHERE id = ?1 RETURNING length(data)";
    let mut statement = connection.prepare_cached(sql)?;
    let bytes: Option<i64> = statement.query_row([id.0], |row| row.get(0)).optional()?;
    Ok(bytes.map(|bytes| u64::try_from(bytes).unwrap_or_default()))
}
