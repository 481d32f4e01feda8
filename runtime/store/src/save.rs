//! How a state comes in together with its record.
//!
//! A save has two halves. The first asks the snapshot for its chunks, checks and packs those that are not there yet,
//! and keeps them in memory; nobody waits for it. The second is one transaction with the record: it adds the packed
//! chunks and looks once more for those that the first half found. If a sweep has taken one of these in between, the
//! transaction is given up and the first half is done again for what is missing. What was packed once is kept, so each
//! round has less to ask for, and the rounds come to an end. But what was packed in an earlier round may name what is
//! missing, so it counts as there only when this round has asked for it again.
//!
//! A large state is not held in memory as a whole: beyond [`SPILL`] bytes the packed chunks are written ahead, without
//! a record. No record reaches them, so a sweep may take them, and the second half sees to that as to any other.

use std::collections::{HashMap, HashSet};

use dormouse_core::sandbox::{ChunkId, ChunkSink, SavedState, Snapshot};
use dormouse_core::{Error, ErrorCode, Result};
use rusqlite::Transaction;

use crate::database::{Ahead, Database};
use crate::fault::Answer;
use crate::pack::{Packed, Packer};
use crate::{chunks, damaged};

/// Bytes of packed chunks that wait in memory, about.
const SPILL: usize = 16 << 20;
/// Rounds before something else must be wrong than a sweep.
const ROUNDS: usize = 32;

/// Saves `state` and does `work` with it in one transaction.
pub(crate) fn with<T>(
    database: &Database,
    state: Option<&dyn Snapshot>,
    work: impl Fn(&Transaction<'_>, Option<SavedState>) -> Answer<T>,
) -> Answer<T> {
    match state {
        Some(state) => {
            all(database, &[state], |transaction, saved| work(transaction, saved.first().copied()))
        }
        None => database.write(|transaction| work(transaction, None)),
    }
}

/// Saves several states, which share what is the same in them, and does `work` with them in one transaction.
pub(crate) fn all<T>(
    database: &Database,
    states: &[&dyn Snapshot],
    work: impl Fn(&Transaction<'_>, &[SavedState]) -> Answer<T>,
) -> Answer<T> {
    database.mark_damaged();
    let mut draft = Draft::new(database)?;
    for _ in 0..ROUNDS {
        let saved = states.iter().map(|state| state.save(&mut draft)).collect::<Result<Vec<_>>>()?;
        database.check_room(draft.bytes)?;
        let done = database.write(|transaction| {
            let missing = draft.missing(transaction)?;
            if !missing.is_empty() {
                return Ok(Err(missing));
            }
            // First, so that the record's quota sees what they take.
            draft.add(transaction)?;
            Ok(Ok(work(transaction, &saved)?))
        })?;
        match done {
            Ok(answer) => {
                database.keep_log_short();
                return Ok(answer);
            }
            Err(missing) => draft.ask_again(&missing),
        }
    }
    Err(Error::new(ErrorCode::Conflict, "the state's chunks were removed while it was saved")
        .with_hint("try again")
        .into())
}

/// The first half of a save.
struct Draft<'a> {
    database: &'a Database,
    packer: Packer,
    /// Packed, and not there when it was looked for.
    waiting: HashMap<ChunkId, Packed>,
    /// Those of them that were asked for in this round. Another may name what a sweep took after it was packed.
    asked: HashSet<ChunkId>,
    /// The same in their order: each after those that it names.
    order: Vec<ChunkId>,
    /// Bytes of what is packed.
    bytes: usize,
    /// There when it was looked for, or written ahead.
    found: HashSet<ChunkId>,
    /// Not there when it was looked for. One that has come since is added once more, which changes nothing.
    absent: HashSet<ChunkId>,
    /// There once something was written ahead.
    ahead: Option<Ahead<'a>>,
    /// Whether the packed chunks may be written ahead: not in later rounds, so that each has less to ask for.
    spills: bool,
    /// Whether a chunk is known to be damaged.
    mends: bool,
}

impl<'a> Draft<'a> {
    fn new(database: &'a Database) -> Result<Self> {
        Ok(Self {
            database,
            packer: Packer::new()?,
            waiting: HashMap::new(),
            asked: HashSet::new(),
            order: Vec::new(),
            bytes: 0,
            found: HashSet::new(),
            absent: HashSet::new(),
            ahead: None,
            spills: true,
            mends: database.read(|reader| damaged::any(&reader.connection))?,
        })
    }

    /// What was found and is not there any more.
    fn missing(&self, transaction: &Transaction<'_>) -> Answer<Vec<ChunkId>> {
        let mut missing = Vec::new();
        for id in &self.found {
            if !chunks::has(transaction, id)? {
                missing.push(*id);
            }
        }
        Ok(missing)
    }

    fn ask_again(&mut self, missing: &[ChunkId]) {
        for id in missing {
            self.found.remove(id);
        }
        self.asked.clear();
        self.order.clear();
        self.spills = false;
    }

    /// Adds what was asked for in this round, each chunk after those that it names.
    fn add(&self, transaction: &Transaction<'_>) -> Answer<()> {
        let waiting = self.order.iter().filter_map(|id| Some((id, self.waiting.get(id)?)));
        for (id, packed) in waiting {
            chunks::insert(transaction, id, packed)?;
        }
        Ok(())
    }

    /// Whether the chunk will be there with all that it names.
    fn knows(&mut self, id: &ChunkId) -> Answer<bool> {
        if self.waiting.contains_key(id) {
            return Ok(self.asked.contains(id));
        }
        if self.found.contains(id) {
            return Ok(true);
        }
        if self.absent.contains(id) {
            return Ok(false);
        }
        let there = self.database.read(|reader| chunks::has(&reader.connection, id))?;
        if there {
            self.found.insert(*id)
        } else {
            self.absent.insert(*id)
        };
        Ok(there)
    }

    /// Writes ahead what waits, unless a sweep has taken what it may name.
    fn spill(&mut self) -> Answer<()> {
        let database = self.database;
        database.check_room(self.bytes)?;
        self.ahead.get_or_insert_with(|| database.begin_ahead());
        let whole = self.database.write(|transaction| {
            let whole = self.missing(transaction)?.is_empty();
            if whole {
                self.add(transaction)?;
            }
            Ok(whole)
        })?;
        if !whole {
            self.spills = false;
            return Ok(());
        }
        database.keep_log_short();
        self.found.extend(self.waiting.drain().map(|(id, _)| id));
        self.asked.clear();
        self.order.clear();
        self.bytes = 0;
        Ok(())
    }
}

impl ChunkSink for Draft<'_> {
    fn put(&mut self, id: &ChunkId, bytes: &[u8]) -> Result<()> {
        if self.knows(id)? {
            return Ok(());
        }
        self.asked.insert(*id);
        self.order.push(*id);
        if self.waiting.contains_key(id) {
            return Ok(());
        }
        let packed = self.packer.pack(*id, bytes)?;
        self.bytes += packed.data.len();
        self.waiting.insert(*id, packed);
        if self.spills && self.bytes > SPILL {
            self.spill()?;
        }
        Ok(())
    }

    fn has(&mut self, id: &ChunkId) -> Result<bool> {
        Ok(self.knows(id)?)
    }

    fn is_damaged(&mut self, id: &ChunkId) -> Result<bool> {
        Ok(self.database.read(|reader| Ok(damaged::number(&reader.connection, id)?.is_some()))?)
    }

    fn mends(&self) -> bool {
        self.mends
    }
}
