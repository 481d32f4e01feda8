//! Records of sandboxes: how one lies in its row, and how it is found.

use dormouse_core::sandbox::{Owner, Sandbox, SandboxId, SavedState, SessionKey};
use dormouse_core::{Error, ErrorCode};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, Params, Row, params_from_iter};

use crate::fault::Answer;
use crate::row::{Draft, Fields, word};

const TABLE: &str = "sandboxes";
/// Columns before the seal.
const COUNT: usize = 14;
/// All columns, in the order of [`draft`] and [`sandbox`].
macro_rules! columns {
    () => {
        "id, owner, name, session_key, phase, stop_reason, spec, state_root, state_bytes, generation, created_at, \
         last_activity_at, stopped_at, used, seal"
    };
}

fn draft(sandbox: &Sandbox) -> Answer<Vec<Value>> {
    let spec = serde_json::to_string(&sandbox.spec)
        .map_err(|error| Error::internal("a specification cannot be written", error))?;
    let reason = sandbox.stop_reason.map(word).transpose()?;
    Ok(Draft::new(TABLE)
        .text(sandbox.id.as_str())
        .text(sandbox.owner.as_str())
        .text(sandbox.name.as_str())
        .option(sandbox.session_key.as_ref().map(SessionKey::as_str))
        .text(word(sandbox.phase)?)
        .option(reason.as_deref())
        .text(spec)
        .state(sandbox.state)
        .number(sandbox.generation)
        .time(Some(sandbox.created_at))
        .time(Some(sandbox.last_activity_at))
        .time(sandbox.stopped_at)
        .number(sandbox.used.into())
        .sealed())
}

/// Reads a row of all columns.
pub(crate) fn read(row: &Row<'_>) -> Answer<Sandbox> {
    sandbox(row)
}

fn sandbox(row: &Row<'_>) -> Answer<Sandbox> {
    let mut fields = Fields::of(TABLE, row, COUNT)?;
    Ok(Sandbox {
        id: fields.text()?,
        owner: fields.text()?,
        name: fields.text()?,
        session_key: fields.option()?,
        phase: fields.word()?,
        stop_reason: fields.word_option()?,
        spec: fields.json()?,
        state: fields.state()?,
        generation: fields.number()?,
        created_at: fields.time()?.ok_or_else(|| fields.bad())?,
        last_activity_at: fields.time()?.ok_or_else(|| fields.bad())?,
        stopped_at: fields.time()?,
        used: fields.number()? != 0,
    })
}

/// Which records are meant: the text after `WHERE`.
macro_rules! select {
    ($rest:literal) => {
        concat!("SELECT ", columns!(), " FROM sandboxes WHERE ", $rest)
    };
}

/// Every one.
pub(crate) const EVERY: &str = select!("TRUE ORDER BY created_at, id");
/// By id.
pub(crate) const BY_ID: &str = select!("id = ?2 AND owner = ?1");
/// By name.
pub(crate) const BY_NAME: &str = select!("owner = ?1 AND name = ?2");
/// By session key.
pub(crate) const BY_KEY: &str = select!("owner = ?1 AND session_key = ?2");
/// All in a phase.
pub(crate) const BY_PHASE: &str = select!("phase = ?1 ORDER BY created_at, id");
/// A listing from some place on.
pub(crate) const PAGE: &str = select!(
    "owner = ?1 AND (created_at, id) > (?2, ?3) AND (?4 IS NULL OR phase = ?4) ORDER BY created_at, id"
);

/// All that a selection gives.
pub(crate) fn all(connection: &Connection, select: &str, with: impl Params) -> Answer<Vec<Sandbox>> {
    let mut statement = connection.prepare_cached(select)?;
    let mut rows = statement.query(with)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(sandbox(row)?);
    }
    Ok(found)
}

/// The first `most` that a selection gives, but for those that are damaged, which are nobody else's concern.
pub(crate) fn whole(
    connection: &Connection,
    select: &str,
    with: impl Params,
    most: usize,
) -> Answer<Vec<Sandbox>> {
    let mut statement = connection.prepare_cached(select)?;
    let mut rows = statement.query(with)?;
    let mut found = Vec::new();
    while found.len() < most
        && let Some(row) = rows.next()?
    {
        match sandbox(row) {
            Ok(sandbox) => found.push(sandbox),
            Err(fault) => {
                let error = Error::from(fault);
                if error.code() != ErrorCode::StateDamaged {
                    return Err(error.into());
                }
                tracing::warn!(%error, "a sandbox is left out");
            }
        }
    }
    Ok(found)
}

/// Removes the owner's sandbox of that id or name if its record is damaged. Its id.
pub(crate) fn discard(connection: &Connection, owner: &Owner, what: &str) -> Answer<Option<SandboxId>> {
    for select in [BY_ID, BY_NAME, BY_KEY] {
        let mut statement = connection.prepare_cached(select)?;
        let mut rows = statement.query((owner.as_str(), what))?;
        while let Some(row) = rows.next()? {
            let Err(fault) = sandbox(row) else { continue };
            if Error::from(fault).code() != ErrorCode::StateDamaged {
                continue;
            }
            let id: String = row.get(0)?;
            let Some(id) = SandboxId::parse(&id) else { continue };
            remove(connection, &id)?;
            return Ok(Some(id));
        }
    }
    Ok(None)
}

/// The one that a selection gives, if any: [`BY_ID`], [`BY_NAME`] or [`BY_KEY`].
pub(crate) fn one(
    connection: &Connection,
    select: &str,
    owner: &Owner,
    what: &str,
) -> Answer<Option<Sandbox>> {
    let mut statement = connection.prepare_cached(select)?;
    let mut rows = statement.query((owner.as_str(), what))?;
    Ok(match rows.next()? {
        Some(row) => Some(sandbox(row)?),
        None => None,
    })
}

/// The one with this id, whoever owns it.
pub(crate) fn by_id(connection: &Connection, id: &SandboxId) -> Answer<Option<Sandbox>> {
    Ok(all(connection, select!("id = ?1"), [id.as_str()])?.pop())
}

/// Adds a record.
pub(crate) fn insert(connection: &Connection, sandbox: &Sandbox) -> Answer<()> {
    let values = draft(sandbox)?;
    let sql = concat!(
        "INSERT INTO sandboxes (",
        columns!(),
        ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)"
    );
    connection.prepare_cached(sql)?.execute(params_from_iter(values))?;
    Ok(())
}

/// Replaces a record.
pub(crate) fn replace(connection: &Connection, sandbox: &Sandbox) -> Answer<()> {
    let values = draft(sandbox)?;
    let sql = concat!(
        "UPDATE sandboxes SET (",
        columns!(),
        ") = (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15) WHERE id = ?1"
    );
    connection.prepare_cached(sql)?.execute(params_from_iter(values))?;
    Ok(())
}

/// Removes a record and its checkpoints.
pub(crate) fn remove(connection: &Connection, id: &SandboxId) -> Answer<()> {
    connection.prepare_cached("DELETE FROM sandboxes WHERE id = ?1")?.execute([id.as_str()])?;
    Ok(())
}

/// How many records the owner has, and all owners together.
pub(crate) fn count(connection: &Connection, owner: &Owner) -> Answer<(u32, u32)> {
    let mut statement = connection.prepare_cached(
        "SELECT (SELECT count(*) FROM sandboxes WHERE owner = ?1), count(*) FROM sandboxes",
    )?;
    Ok(statement.query_row([owner.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))?)
}

/// Checks that a record or a checkpoint holds a state, so that no sweep has taken, or is taking, a chunk of it.
///
/// # Errors
/// `conflict`: who held it has let it go.
pub(crate) fn held(connection: &Connection, state: &SavedState) -> Answer<()> {
    let sql = "SELECT 1 FROM sandboxes WHERE state_root = ?1 UNION ALL \
               SELECT 1 FROM checkpoints WHERE state_root = ?1 LIMIT 1";
    let held = connection.prepare_cached(sql)?.query_row([state.root.as_bytes()], |_| Ok(())).optional()?;
    Ok(held.ok_or_else(|| {
        Error::new(ErrorCode::Conflict, "the saved state was removed meanwhile")
            .with_hint("look at the sandbox and its checkpoints again")
    })?)
}

/// The states that records and checkpoints hold, each once.
pub(crate) fn states(connection: &Connection) -> Answer<Vec<SavedState>> {
    let sql = "SELECT state_root, state_bytes FROM sandboxes WHERE state_root IS NOT NULL UNION \
               SELECT state_root, state_bytes FROM checkpoints";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(())?;
    let mut states = Vec::new();
    while let Some(row) = rows.next()? {
        // A name of another form is damage: there is nothing to follow.
        let (Ok(root), Ok(bytes)) = (row.get(0), row.get::<_, i64>(1)) else { continue };
        let root = dormouse_core::sandbox::ChunkId::from_bytes(root);
        states.push(SavedState { root, bytes: u64::try_from(bytes).unwrap_or_default() });
    }
    Ok(states)
}

/// The error for a sandbox that the owner has not.
pub(crate) fn unknown(what: &str) -> Error {
    let shown: String = what.escape_debug().take(64).collect();
    Error::new(ErrorCode::UnknownSandbox, format!("there is no sandbox `{shown}`"))
        .with_hint("sandbox_list lists the existing ones; a destroyed sandbox does not come back")
}
