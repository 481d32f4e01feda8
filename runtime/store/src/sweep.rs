//! What goes: sandboxes that were never finished, chunks that nobody needs, lock files of the dead.
//!
//! Why no chunk is lost that somebody needs. A chunk is needed when a record or a checkpoint holds a state that reaches it. Chunks
//! that nobody needs are *noted* in small transactions, *doomed* in one, and removed in small ones (see `doomed`). What counts is the
//! one: in it the states that are held *then* are read, what they reach is spared, and chunks that came since the notes were begun are
//! noted too if they are not needed. A chunk is added after those that it names, and its number says so; the latest are doomed first.
//! So at that moment whatever a chunk names that is not doomed is not doomed either, and all that is needed is among them. That
//! stays so, because of what a save does: it does not see doomed chunks ([`ChunkSink::has`](dormouse_core::sandbox::ChunkSink::has)), and
//! puts them again before what names them. Only doomed chunks are removed, so it does not matter in which order, how many at a time, and
//! whether all of it is done by this process: what is left is removed by the next sweep before anything else.
//!
//! Three ways lead to a new state:
//!
//! - a save adds its chunks in the transaction of its record, and looks in the same transaction for those that it did not
//!   add (see `save`): what was doomed or removed before is missed and added; what would be doomed after is held by then;
//! - a record takes over a state that another record or checkpoint holds, which its transaction checks: that one is whole;
//! - chunks that are written ahead of a record are not held; they may be doomed, and the save misses them.
//!
//! What a state reaches depends on the state's name only, so it is asked for once a sweep, and outside of transactions
//! except for states that come in at that very moment.

use std::collections::HashSet;
use std::time::{Duration, Instant};
use std::{fs, thread};

use dormouse_core::sandbox::{ChunkId, Ledger as _, Phase, Reach, Reached, RunId, SandboxId, Swept};
use rusqlite::Connection;

use crate::chunks::Numbered;
use crate::database::Database;
use crate::fault::Answer;
use crate::folder::unavailable;
use crate::lease::Held;
use crate::store::Store;
use crate::{checkpoints, chunks, damaged, doomed, records, usage};

/// Chunks that are looked through, or noted, at once.
const LOOK: usize = 4096;
/// Chunks that are doomed at once. Notes take room on the disk, which may be full.
const ROUND: usize = 16 << 10;
/// Pages that one transaction gives back: 1 MiB.
const PAGES: usize = 256;
/// Between two transactions, so that others get their turn.
const PAUSE: Duration = Duration::from_millis(2);

/// Sweeps once. Nothing is done when another process is at it, or while a large save is under way; what is not done at the time `until` is left.
pub(crate) fn run(store: &Store, reach: Reach<'_>, until: Option<Instant>) -> Answer<Swept> {
    let mut swept = Swept::default();
    // Whoever sweeps without an end in time wants to have swept.
    if until.is_some() && store.database.is_ahead() {
        return Ok(swept);
    }
    let Some(lock) = store.folder.sweeping()? else { return Ok(swept) };
    let (database, until) = (&store.database, Until(until));
    unfinished(store, &mut swept)?;
    locks(store)?;
    notes(store)?;
    let removed = unneeded(database, reach, until, &mut swept);
    // What was removed until then is given back, also after a failure.
    let shrunk = shrink(database, until)?;
    store.folder.reserve().fill();
    swept.whole = removed? && shrunk;
    if swept.whole {
        store.folder.note_swept(&lock, database.read(|reader| usage::used(&reader.connection))?);
    }
    Ok(swept)
}

/// When to leave the rest.
#[derive(Clone, Copy)]
struct Until(Option<Instant>);

impl Until {
    fn is_past(self) -> bool {
        self.0.is_some_and(|until| Instant::now() >= until)
    }
}

/// Removes sandboxes that were being made by a process that is gone. Who makes one holds its lease from before the record
/// is there, so a free lease says that nobody does.
fn unfinished(store: &Store, swept: &mut Swept) -> Answer<()> {
    for sandbox in store.in_phase(Phase::Creating)? {
        let Some(_lease) = store.lease(&sandbox.id)? else { continue };
        swept.sandboxes += store.database.clear(|transaction| {
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
        let name = entry.file_name();
        let name = name.to_str().unwrap_or_default();
        if SandboxId::parse(name).is_some() || RunId::parse(name).is_some() {
            // Giving it back removes the file.
            drop(Held::take(&entry.path())?);
        }
    }
    Ok(())
}

/// Removes notes of checkpoints that are gone.
fn notes(store: &Store) -> Answer<()> {
    store.folder.notes().sweep(|found| {
        store.database.read(|reader| {
            let mut there = HashSet::new();
            for id in found {
                if checkpoints::is_there(&reader.connection, id)? {
                    there.insert(id.clone());
                }
            }
            Ok(there)
        })
    })
}

/// What is needed, as far as it is known.
struct Needed<'a> {
    reach: Reach<'a>,
    roots: HashSet<ChunkId>,
    chunks: Reached,
    until: Until,
}

impl Needed<'_> {
    /// Learns what the states reach that are held now. False: the time was over before all of them were known.
    fn learn(&mut self, connection: &Connection) -> Answer<bool> {
        for state in records::states(connection)? {
            if self.until.is_past() {
                return Ok(false);
            }
            if self.roots.insert(state.root) {
                self.chunks.leaf(state.root);
                // Of a state that is damaged everything is kept that can be reached.
                (self.reach)(&state, &mut self.chunks)?;
            }
        }
        Ok(true)
    }
}

/// Removes chunks that nobody needs. False: there was no time for all of them.
fn unneeded(database: &Database, reach: Reach<'_>, until: Until, swept: &mut Swept) -> Answer<bool> {
    // What an earlier sweep has left to be removed, or to be forgotten.
    if !remove(database, until, swept)? {
        return Ok(false);
    }
    let (roots, chunks) = (HashSet::new(), Reached::default());
    let mut needed = Needed { reach, roots, chunks, until };
    if !database.read(|reader| needed.learn(&reader.connection))? {
        return Ok(false);
    }
    let (mut latest, mut unneeded) = candidates(database, &needed.chunks)?;
    let unordered = database.read(|reader| doomed::unordered(&reader.connection))?;
    while !unneeded.is_empty() {
        // What names a chunk was added after it, so the latest can go without the others.
        let ordered = unneeded.partition_point(|(number, _)| *number <= unordered);
        let from =
            if ordered < unneeded.len() { ordered.max(unneeded.len().saturating_sub(ROUND)) } else { 0 };
        let round = unneeded.split_off(from);
        for some in round.chunks(LOOK) {
            database
                .clear(|transaction| doomed::note(transaction, some.iter().map(|(number, _)| *number)))?;
            thread::sleep(PAUSE);
        }
        // Once more without holding up anybody; the transaction has only the latest to learn.
        if !database.read(|reader| needed.learn(&reader.connection))? {
            return Ok(false);
        }
        // What is damaged is known to be so before what only it names is gone.
        database.mark_damaged();
        match doom(database, &mut needed, latest, &round)? {
            Some(now) => latest = now,
            None => return Ok(false),
        }
        if !remove(database, until, swept)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The number of the latest chunk, and those up to it that are not known to be needed.
fn candidates(database: &Database, needed: &Reached) -> Answer<(i64, Vec<Numbered>)> {
    let latest = database.read(|reader| chunks::latest(&reader.connection))?;
    let (mut found, mut last) = (Vec::new(), None);
    let most = i64::try_from(LOOK).unwrap_or(i64::MAX);
    loop {
        let some = database.read(|reader| chunks::after(&reader.connection, last.as_ref(), most))?;
        let Some((_, end)) = some.last() else { break };
        last = Some(*end);
        found.extend(some.into_iter().filter(|(number, id)| *number <= latest && !needed.has(id)));
    }
    // In the order in which they lie on the disk.
    found.sort_unstable_by_key(|(number, _)| *number);
    Ok((latest, found))
}

/// Dooms what was noted and is not needed now, and what came after the chunk with the number `latest` and is not needed either.
/// The number of the chunk that is the latest then; none: there was no time.
fn doom(
    database: &Database,
    needed: &mut Needed<'_>,
    latest: i64,
    noted: &[Numbered],
) -> Answer<Option<i64>> {
    database.write(|transaction| {
        if !needed.learn(transaction)? {
            return Ok(None);
        }
        let spared = noted.iter().filter(|(_, id)| needed.chunks.has(id));
        doomed::spare(transaction, spared.map(|(number, _)| *number))?;
        let since = chunks::since(transaction, latest)?;
        let unneeded = since.iter().filter(|(_, id)| !needed.chunks.has(id));
        doomed::note(transaction, unneeded.map(|(number, _)| *number))?;
        Ok(Some(doomed::set(transaction)?))
    })
}

/// Removes what is doomed. False: there was no time for all of it.
fn remove(database: &Database, until: Until, swept: &mut Swept) -> Answer<bool> {
    if !database.read(|reader| doomed::is_set(&reader.connection))? {
        // Notes that came to nothing.
        database.clear(|transaction| {
            doomed::clear(transaction)?;
            damaged::forget_gone(transaction)
        })?;
        return Ok(true);
    }
    while let Some((chunks, bytes)) = database.clear(doomed::remove)? {
        (swept.chunks, swept.bytes) = (swept.chunks + chunks, swept.bytes + bytes);
        if until.is_past() {
            return Ok(false);
        }
        thread::sleep(PAUSE);
    }
    Ok(true)
}

/// Gives free pages back to the disk. False: there was no time for all of them.
fn shrink(database: &Database, until: Until) -> Answer<bool> {
    let free = |connection: &Connection| -> Answer<i64> {
        Ok(connection.pragma_query_value(None, "freelist_count", |row| row.get(0))?)
    };
    let mut before = i64::MAX;
    let mut whole = true;
    loop {
        let now = database.clear(|transaction| {
            let now = free(transaction)?;
            if now > 0 && now < before {
                let mut statement = transaction.prepare(&format!("PRAGMA incremental_vacuum({PAGES})"))?;
                let mut rows = statement.query(())?;
                while rows.next()?.is_some() {}
            }
            Ok(now)
        })?;
        if now == 0 || now >= before {
            break;
        }
        if until.is_past() {
            whole = false;
            break;
        }
        before = now;
        thread::sleep(PAUSE);
    }
    // The file gets shorter when the log is worked off, as far as no reader needs it.
    if whole {
        database.cut_log()?;
    } else {
        database.work_off()?;
    }
    Ok(whole)
}
