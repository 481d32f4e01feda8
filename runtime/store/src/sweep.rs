//! What goes: sandboxes that were never finished, chunks that nobody needs, lock files of the dead.
//!
//! Why no chunk is lost that somebody needs. A chunk is needed when a record or a checkpoint holds a state that reaches
//! it. States come in and go in transactions of the database, which are one after the other for all processes, and a
//! chunk is removed in such a transaction too. Inside it, before anything is removed, the states that are held *now* are
//! read, and what they reach is kept. So at the end of the transaction every state that is held is whole. All that is not
//! needed goes in one transaction, so a chunk that is there is there with all that it names, whenever a save looks
//! ([`ChunkSink::has`](dormouse_core::sandbox::ChunkSink::has)). Three ways lead to a new state, and each keeps that so:
//!
//! - a save adds its chunks in the transaction of its record, and looks in the same transaction for those that it did not
//!   add (see `save`): what a sweep took before is missed and added; what it would take after is held by then;
//! - a record takes over a state that another record or checkpoint holds, which its transaction checks: that one is whole;
//! - chunks that are written ahead of a record are not held; a sweep may take them, and the save misses them.
//!
//! What a state reaches depends on the state's name only, so it is asked for once a sweep, and outside of transactions
//! except for states that come in at that very moment. Others wait for the transaction: some 10 ms for 10 000 chunks.

use std::collections::HashSet;
use std::time::Duration;
use std::{fs, thread};

use dormouse_core::sandbox::{ChunkId, Ledger as _, Phase, Reach, SandboxId, Swept};
use rusqlite::Connection;

use crate::database::Database;
use crate::fault::Answer;
use crate::folder::unavailable;
use crate::lease::Held;
use crate::store::Store;
use crate::{chunks, records};

/// Ids that are looked through at once.
const LOOK: i64 = 4096;
/// Pages that one transaction gives back: 1 MiB.
const PAGES: usize = 256;
/// Between two transactions, so that others get their turn.
const PAUSE: Duration = Duration::from_millis(2);

/// Sweeps once. Nothing is done when another process is at it.
pub(crate) fn run(store: &Store, reach: Reach<'_>) -> Answer<Swept> {
    let mut swept = Swept::default();
    let Some(_lock) = store.folder.try_locked("sweep.lock")? else { return Ok(swept) };
    unfinished(store, &mut swept)?;
    locks(store)?;
    let removed = unneeded(&store.database, reach, &mut swept);
    // What was removed until then is given back, also after a failure.
    shrink(&store.database)?;
    removed?;
    Ok(swept)
}

/// Removes sandboxes that were being made by a process that is gone. Who makes one holds its lease from before the record
/// is there, so a free lease says that nobody does.
fn unfinished(store: &Store, swept: &mut Swept) -> Answer<()> {
    for sandbox in store.in_phase(Phase::Creating)? {
        let Some(_lease) = store.lease(&sandbox.id)? else { continue };
        swept.sandboxes += store.database.write(|transaction| {
            let sql = "DELETE FROM sandboxes WHERE id = ?1 AND phase = 'creating'";
            Ok(transaction.prepare_cached(sql)?.execute([sandbox.id.as_str()])? as u64)
        })?;
    }
    Ok(())
}

/// Removes lock files that nobody holds: their processes ended without giving the lease back.
fn locks(store: &Store) -> Answer<()> {
    let folder = store.folder.locks();
    let entries = fs::read_dir(&folder).map_err(|error| unavailable(&folder, "it cannot be read", error))?;
    for entry in entries.flatten() {
        if entry.file_name().to_str().and_then(SandboxId::parse).is_some() {
            // Giving it back removes the file.
            drop(Held::take(&entry.path())?);
        }
    }
    Ok(())
}

/// What is needed, as far as it is known.
struct Needed<'a> {
    reach: Reach<'a>,
    roots: HashSet<ChunkId>,
    chunks: HashSet<ChunkId>,
}

impl Needed<'_> {
    /// Learns what the states reach that are held now.
    fn learn(&mut self, connection: &Connection) -> Answer<()> {
        for state in records::states(connection)? {
            if !self.roots.contains(&state.root) {
                self.chunks.extend((self.reach)(&state)?);
                self.chunks.insert(state.root);
                self.roots.insert(state.root);
            }
        }
        Ok(())
    }
}

/// Removes chunks that nobody needs, all of them at once.
fn unneeded(database: &Database, reach: Reach<'_>, swept: &mut Swept) -> Answer<()> {
    let mut needed = Needed { reach, roots: HashSet::new(), chunks: HashSet::new() };
    // Here without holding up anybody; the transaction has only the latest to learn.
    database.read(|reader| needed.learn(&reader.connection))?;
    (swept.chunks, swept.bytes) = database.write(|transaction| {
        needed.learn(transaction)?;
        let (mut count, mut bytes, mut last) = (0, 0, None);
        loop {
            let found = chunks::after(transaction, last.as_ref(), LOOK)?;
            let Some(end) = found.last() else { return Ok((count, bytes)) };
            last = Some(*end);
            for id in found.iter().filter(|id| !needed.chunks.contains(*id)) {
                if let Some(size) = chunks::remove(transaction, id)? {
                    count += 1;
                    bytes += size;
                }
            }
        }
    })?;
    Ok(())
}

/// Gives free pages back to the disk.
fn shrink(database: &Database) -> Answer<()> {
    let free = |connection: &Connection| -> Answer<i64> {
        Ok(connection.pragma_query_value(None, "freelist_count", |row| row.get(0))?)
    };
    let mut before = i64::MAX;
    loop {
        let now = database.plain(|connection| {
            let now = free(connection)?;
            if now > 0 && now < before {
                let mut statement = connection.prepare(&format!("PRAGMA incremental_vacuum({PAGES})"))?;
                let mut rows = statement.query(())?;
                while rows.next()?.is_some() {}
            }
            Ok(now)
        })?;
        if now == 0 || now >= before {
            break;
        }
        before = now;
        thread::sleep(PAUSE);
    }
    // The file gets shorter when the log is worked off, as far as no reader needs it.
    database.plain(|connection| Ok(connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", (), |_| Ok(()))?))
}
