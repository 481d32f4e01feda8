//! Checkpoints: how one lies in its row, and how it is found.

use dormouse_core::sandbox::{Checkpoint, CheckpointId, Name, NewCheckpoint, Owner, SandboxId};
use dormouse_core::{Error, ErrorCode};
use rusqlite::{Connection, Row, params_from_iter};

use crate::fault::Answer;
use crate::row::{Draft, Fields, word};

const TABLE: &str = "checkpoints";
/// Columns before the seal.
const COUNT: usize = 7;

/// Every one.
pub(crate) const EVERY: &str = "SELECT * FROM checkpoints ORDER BY created_at, id";

/// Reads a row of all columns.
pub(crate) fn read(row: &Row<'_>) -> Answer<Checkpoint> {
    checkpoint(row)
}

fn checkpoint(row: &Row<'_>) -> Answer<Checkpoint> {
    let mut fields = Fields::of(TABLE, row, COUNT)?;
    let label = NewCheckpoint {
        id: fields.text()?,
        sandbox: fields.text()?,
        name: fields.option()?,
        include: fields.word()?,
        created_at: fields.time()?.ok_or_else(|| fields.bad())?,
    };
    Ok(Checkpoint { label, note: None, state: fields.state()?.ok_or_else(|| fields.bad())? })
}

/// Adds a checkpoint, or puts it in the place of the one with its id. Its sandbox must be there.
pub(crate) fn put(connection: &Connection, checkpoint: &Checkpoint) -> Answer<()> {
    let label = &checkpoint.label;
    let values = Draft::new(TABLE)
        .text(label.id.as_str())
        .text(label.sandbox.as_str())
        .option(label.name.as_ref().map(Name::as_str))
        .text(word(label.include)?)
        .time(Some(label.created_at))
        .state(Some(checkpoint.state))
        .sealed();
    let sql = "INSERT OR REPLACE INTO checkpoints VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    connection.prepare_cached(sql)?.execute(params_from_iter(values))?;
    Ok(())
}

/// The owner's checkpoint with this id.
///
/// # Errors
/// `unknown_checkpoint`.
pub(crate) fn one(connection: &Connection, owner: &Owner, id: &CheckpointId) -> Answer<Checkpoint> {
    let sql = "SELECT checkpoints.* FROM checkpoints JOIN sandboxes ON sandboxes.id = checkpoints.sandbox \
               WHERE checkpoints.id = ?1 AND sandboxes.owner = ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query((id.as_str(), owner.as_str()))?;
    match rows.next()? {
        Some(row) => checkpoint(row),
        None => Err(unknown(id).into()),
    }
}

/// The checkpoint with this id, whoever owns it.
///
/// # Errors
/// `unknown_checkpoint`.
pub(crate) fn by_id(connection: &Connection, id: &CheckpointId) -> Answer<Checkpoint> {
    let mut statement = connection.prepare_cached("SELECT * FROM checkpoints WHERE id = ?1")?;
    let mut rows = statement.query([id.as_str()])?;
    match rows.next()? {
        Some(row) => checkpoint(row),
        None => Err(unknown(id).into()),
    }
}

/// Those of a sandbox, in the order in which they were made, whatever the clock said then, but for those whose rows are damaged.
pub(crate) fn all(connection: &Connection, sandbox: &SandboxId) -> Answer<Vec<Checkpoint>> {
    let sql = "SELECT * FROM checkpoints WHERE sandbox = ?1 ORDER BY rowid";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([sandbox.as_str()])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        match checkpoint(row) {
            Ok(checkpoint) => found.push(checkpoint),
            Err(fault) => {
                let error = Error::from(fault);
                if error.code() != ErrorCode::StateDamaged {
                    return Err(error.into());
                }
                tracing::warn!(%error, "a checkpoint is left out");
            }
        }
    }
    Ok(found)
}

/// Whether there is a row of it, whole or not.
pub(crate) fn is_there(connection: &Connection, id: &CheckpointId) -> Answer<bool> {
    let mut statement = connection.prepare_cached("SELECT 1 FROM checkpoints WHERE id = ?1")?;
    Ok(statement.exists([id.as_str()])?)
}

/// How many a sandbox has.
pub(crate) fn count(connection: &Connection, sandbox: &SandboxId) -> Answer<u32> {
    let mut statement = connection.prepare_cached("SELECT count(*) FROM checkpoints WHERE sandbox = ?1")?;
    Ok(statement.query_row([sandbox.as_str()], |row| row.get(0))?)
}

/// Removes one.
///
/// # Errors
/// `unknown_checkpoint`.
pub(crate) fn remove(connection: &Connection, id: &CheckpointId) -> Answer<()> {
    let mut statement = connection.prepare_cached("DELETE FROM checkpoints WHERE id = ?1")?;
    if statement.execute([id.as_str()])? == 0 { Err(unknown(id).into()) } else { Ok(()) }
}

fn unknown(id: &CheckpointId) -> Error {
    Error::new(ErrorCode::UnknownCheckpoint, format!("there is no checkpoint `{id}`"))
        .with_hint("sandbox_list_checkpoints lists the existing ones")
}
