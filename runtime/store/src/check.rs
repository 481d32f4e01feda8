//! What of a state folder is whole: everything is read, and nothing is changed.
//!
//! Works beside processes that have the folder open, and on a folder that cannot be written. There the log of a process that died is
//! not read, and the answer says so.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use dormouse_core::sandbox::chunk::is_damaged_chunk;
use dormouse_core::sandbox::{ChunkId, ChunkSource, Reached, SavedState};
use dormouse_core::{Error, ErrorCode, Result};
use rusqlite::{Connection, OpenFlags, Row};

use crate::chunks;
use crate::fault::Answer;
use crate::pack::Unpacker;
use crate::readers::Reader;
use crate::schema;

/// Chunks between two words of progress.
const STEP: u64 = 256;
/// Most lines that the database says of itself, and most chunks that are named for one state.
const NAMED: usize = 100;

/// What a look found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checked {
    /// Chunks that were read, and their bytes on the disk.
    pub chunks: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Sandboxes.
    pub sandboxes: u64,
    /// Checkpoints.
    pub checkpoints: u64,
    /// The chunks that are not what was saved, at most 100.
    pub damaged_chunks: Vec<ChunkId>,
    /// What is wrong with the database itself, at most 100 lines.
    pub database: Vec<String>,
    /// The sandboxes and checkpoints that are not whole.
    pub damaged: Vec<Damaged>,
    /// Whether there is a log that could not be read, so that the latest changes were not seen.
    pub without_log: bool,
}

impl Checked {
    /// Whether everything is whole. A chunk that no sandbox and no checkpoint needs counts as well.
    pub fn is_whole(&self) -> bool {
        self.damaged_chunks.is_empty() && self.database.is_empty() && self.damaged.is_empty()
    }
}

/// A sandbox or a checkpoint that is not whole.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Damaged {
    /// The sandbox.
    pub sandbox: String,
    /// The checkpoint of it, if it is that.
    pub checkpoint: Option<String>,
    /// Whose it is; empty when that cannot be read.
    pub owner: String,
    /// What it is called; empty when it has no name, or that cannot be read.
    pub name: String,
    /// What is wrong, at most 100 lines.
    pub why: Vec<String>,
}

/// A sandbox or a checkpoint, as the look found it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Seen {
    /// The sandbox.
    pub sandbox: String,
    /// The checkpoint of it, if it is that.
    pub checkpoint: Option<String>,
    /// Whose it is; empty when that cannot be read.
    pub owner: String,
    /// What it is called; empty when it has no name, or that cannot be read.
    pub name: String,
    /// Its saved state. None: nothing has been saved yet, or the record is damaged.
    pub state: Option<SavedState>,
    /// What is wrong with it, at most 100 lines.
    pub why: Vec<String>,
}

/// Notes the chunks of a state, for the look: [`Provider::reach`](dormouse_core::Provider::reach) of who saved it.
pub type Reach<'a> = &'a dyn Fn(&SavedState, &dyn ChunkSource, &mut Reached) -> Result<()>;

/// Looks at a folder as a whole. `progress` is told how many chunks were read, and how many there are.
///
/// # Errors
/// `state_unavailable` when there is no database, it cannot be read or it is of a later version, of which nobody can say here
/// whether it is whole; `state_damaged` when it is none at all.
pub fn check(folder: &Path, reach: Reach<'_>, progress: &mut dyn FnMut(u64, u64)) -> Result<Checked> {
    check_each(folder, reach, progress, &mut |_, _| {})
}

/// The same, with each sandbox and then each checkpoint for `each`, in the order in which they were created.
///
/// # Errors
/// As [`check`].
pub fn check_each(
    folder: &Path,
    reach: Reach<'_>,
    progress: &mut dyn FnMut(u64, u64),
    each: &mut dyn FnMut(Seen, &dyn ChunkSource),
) -> Result<Checked> {
    let path = folder.join("state.db");
    if !path.is_file() {
        return Err(Error::new(ErrorCode::StateUnavailable, "there is no state folder here")
            .with_hint("name one with --state-dir"));
    }
    let mut checked = Checked::default();
    let connection = open(&path, &mut checked)?;
    schema::is_known(&connection)?;
    let one = One(Mutex::new(Reader { connection, unpacker: Unpacker::new()? }));
    let look = Look { one: &one, reach, there: HashSet::new(), bad: HashSet::new(), states: HashMap::new() };
    look.all(&mut checked, progress, each)?;
    Ok(checked)
}

/// Opens the database for reading alone; where not even its log's index can be made, as it lies there.
fn open(path: &Path, checked: &mut Checked) -> Answer<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let readable = |connection: &Connection| {
        connection.query_row("SELECT count(*) FROM sqlite_schema", (), |row| row.get::<_, i64>(0))
    };
    let opened = Connection::open_with_flags(path, flags);
    if let Ok(connection) = opened
        && readable(&connection).is_ok()
    {
        return Ok(connection);
    }
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' => uri.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(*byte)),
            byte => uri.push_str(&format!("%{byte:02x}")),
        }
    }
    uri.push_str("?immutable=1");
    let connection = Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)?;
    readable(&connection)?;
    let log = std::fs::metadata(path.with_extension("db-wal")).map_or(0, |log| log.len());
    checked.without_log = log > 0;
    Ok(connection)
}

/// The one connection, as a source of chunks.
struct One(Mutex<Reader>);

impl One {
    fn read<T>(&self, work: impl FnOnce(&mut Reader) -> Answer<T>) -> Answer<T> {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ChunkSource for One {
    fn get(&self, id: &ChunkId) -> Result<Option<Vec<u8>>> {
        Ok(self.read(|reader| chunks::one(reader, id))?)
    }
}

struct Look<'a> {
    one: &'a One,
    reach: Reach<'a>,
    /// Chunks that are there, and those of them that are damaged.
    there: HashSet<ChunkId>,
    bad: HashSet<ChunkId>,
    /// What is wrong with each state that was looked at.
    states: HashMap<ChunkId, Vec<String>>,
}

impl Look<'_> {
    fn all(
        mut self,
        checked: &mut Checked,
        progress: &mut dyn FnMut(u64, u64),
        each: &mut dyn FnMut(Seen, &dyn ChunkSource),
    ) -> Result<()> {
        checked.database = self.one.read(|reader| database(&reader.connection))?;
        self.chunks(checked, progress)?;
        let one = self.one;
        let mut note = |seen: Seen| {
            if !seen.why.is_empty() {
                let Seen { sandbox, checkpoint, owner, name, why, .. } = seen.clone();
                checked.damaged.push(Damaged { sandbox, checkpoint, owner, name, why });
            }
            each(seen, one);
        };
        let counts = self.records(&mut note)?;
        (checked.sandboxes, checked.checkpoints) = counts;
        Ok(())
    }

    fn chunks(&mut self, checked: &mut Checked, progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
        let one = self.one;
        let all = one.read(|reader| {
            Ok(reader.connection.query_row("SELECT count(*) FROM chunks", (), |row| row.get::<_, i64>(0))?)
        });
        let all = all.ok().and_then(|all| u64::try_from(all).ok()).unwrap_or_default();
        let mut last = i64::MIN;
        loop {
            let read = one.read(|reader| self.some(reader, &mut last, checked));
            match read {
                Ok(true) => progress(checked.chunks, all),
                Ok(false) => break,
                Err(fault) => {
                    checked.database.push(format!("chunks cannot be read: {}", Error::from(fault)));
                    break;
                }
            }
        }
        progress(checked.chunks, all);
        let mut bad: Vec<ChunkId> = self.bad.iter().copied().collect();
        bad.sort_unstable();
        bad.truncate(NAMED);
        checked.damaged_chunks = bad;
        Ok(())
    }

    /// Reads the next chunks. False: there are no more.
    fn some(&mut self, reader: &mut Reader, last: &mut i64, checked: &mut Checked) -> Answer<bool> {
        let Reader { connection, unpacker } = reader;
        let sql =
            "SELECT number, id, form, size, data FROM chunks WHERE number > ?1 ORDER BY number LIMIT ?2";
        let mut statement = connection.prepare_cached(sql)?;
        let mut rows = statement.query((*last, i64::try_from(STEP).unwrap_or(i64::MAX)))?;
        let mut found = false;
        while let Some(row) = rows.next()? {
            (*last, found) = (row.get(0)?, true);
            checked.chunks += 1;
            let Ok(id) = row.get(1).map(ChunkId::from_bytes) else {
                checked.database.push(format!("the chunk number {last} has no name"));
                continue;
            };
            let data = row.get_ref(4)?.as_blob().unwrap_or_default();
            checked.bytes += data.len() as u64;
            self.there.insert(id);
            let whole = match (row.get(2), row.get(3)) {
                (Ok(form), Ok(size)) => unpacker.unpack(&id, form, size, data).is_ok(),
                _ => false,
            };
            if !whole {
                self.bad.insert(id);
            }
        }
        Ok(found)
    }

    /// Looks at every record; how many sandboxes and checkpoints there are.
    fn records(&mut self, note: &mut dyn FnMut(Seen)) -> Result<(u64, u64)> {
        let sandboxes = self.one.read(|reader| {
            rows(&reader.connection, crate::records::EVERY, |row| found(row, crate::records::read(row)))
        })?;
        let owners: HashMap<String, String> =
            sandboxes.iter().map(|found| (found.id.clone(), found.owner.clone())).collect();
        let mut counts = (sandboxes.len() as u64, 0);
        for one in sandboxes {
            let why = self.why(&one);
            let Found { id, owner, name, state, .. } = one;
            note(Seen { sandbox: id, checkpoint: None, owner, name, state, why });
        }
        let checkpoints = self.one.read(|reader| {
            rows(&reader.connection, crate::checkpoints::EVERY, |row| {
                let read = crate::checkpoints::read(row);
                Found {
                    id: text(row, 0),
                    owner: text(row, 1),
                    name: text(row, 2),
                    state: read.as_ref().ok().map(|checkpoint| checkpoint.state),
                    whole: read.is_ok(),
                }
            })
        })?;
        counts.1 = checkpoints.len() as u64;
        for one in checkpoints {
            let why = self.why(&one);
            let Found { id, owner: sandbox, name, state, .. } = one;
            let owner = owners.get(&sandbox).cloned().unwrap_or_default();
            note(Seen { sandbox, checkpoint: Some(id), owner, name, state, why });
        }
        Ok(counts)
    }

    /// What is wrong with a sandbox or a checkpoint.
    fn why(&mut self, found: &Found) -> Vec<String> {
        if !found.whole {
            return vec!["its record is not what was written".into()];
        }
        let Some(state) = found.state else { return Vec::new() };
        if let Some(known) = self.states.get(&state.root) {
            return known.clone();
        }
        let mut reached = Reached::default();
        let followed = (self.reach)(&state, self.one, &mut reached);
        reached.leaf(state.root);
        let damaged = |id: &&ChunkId| self.bad.contains(*id) || !self.there.contains(*id);
        let mut bad: Vec<&ChunkId> = reached.iter().filter(damaged).collect();
        bad.sort_unstable();
        let word =
            |id: &ChunkId| if self.there.contains(id) { "is not what was saved" } else { "is missing" };
        let mut why: Vec<String> =
            bad.iter().take(NAMED).map(|id| format!("chunk {id} {}", word(id))).collect();
        if let Err(error) = followed
            && is_damaged_chunk(&error).is_none()
        {
            why.push(error.message().to_owned());
        }
        self.states.insert(state.root, why.clone());
        why
    }
}

/// A row of a record.
struct Found {
    id: String,
    /// Of a checkpoint: its sandbox.
    owner: String,
    name: String,
    state: Option<SavedState>,
    whole: bool,
}

fn found(row: &Row<'_>, read: Answer<dormouse_core::sandbox::Sandbox>) -> Found {
    let read = read.ok();
    Found {
        id: text(row, 0),
        owner: text(row, 1),
        name: text(row, 2),
        whole: read.is_some(),
        state: read.and_then(|sandbox| sandbox.state),
    }
}

fn text(row: &Row<'_>, at: usize) -> String {
    let text = row.get_ref(at).ok().and_then(|value| value.as_str().ok()).unwrap_or_default();
    text.chars().take(128).collect()
}

fn rows<T>(connection: &Connection, sql: &str, each: impl Fn(&Row<'_>) -> T) -> Answer<Vec<T>> {
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query(())?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.push(each(row));
    }
    Ok(all)
}

/// What the database says of itself.
fn database(connection: &Connection) -> Answer<Vec<String>> {
    let mut statement = connection.prepare(&format!("PRAGMA integrity_check({NAMED})"))?;
    let lines = statement.query_map((), |row| row.get::<_, String>(0))?;
    let lines: Vec<String> = lines.collect::<rusqlite::Result<_>>()?;
    Ok(lines.into_iter().filter(|line| line != "ok").collect())
}
