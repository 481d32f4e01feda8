//! The port, verb by verb.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use dormouse_core::sandbox::{
    Checkpoint, CheckpointId, ChunkSource, Created, Description, Disk, Handle, Journal, Lease, Leased,
    Ledger, NewCheckpoint, Owner, Phase, Quota, Reach, Run, RunCall, Sandbox, SandboxId, SavedState,
    Snapshot, Stored, Swept, Timestamp,
};
use dormouse_core::{Error, ErrorCode, Result};
use rusqlite::{Connection, Transaction};

use crate::chunks::Chunks;
use crate::database::Database;
use crate::fault::{self, Answer};
use crate::lease::{self, Held};
use crate::reserve::Reserve;
use crate::row::{integer, word};
use crate::store::Store;
use crate::{checkpoints, disk, records, runs, save, sweep, usage};

impl Ledger for Store {
    fn create(&self, sandbox: &Sandbox, quota: &Quota) -> Result<Created> {
        // The key of a sandbox that is there is answered without waiting for writers.
        if let Some(there) = self.database.read(|reader| with_key(&reader.connection, sandbox))? {
            return Ok(Created::Existing(there));
        }
        self.can_be_leased(&sandbox.id)?;
        Ok(self.database.write(|transaction| {
            if let Some(there) = with_key(transaction, sandbox)? {
                return Ok(Created::Existing(there));
            }
            add(transaction, sandbox, quota)?;
            Ok(Created::New(sandbox.clone()))
        })?)
    }

    fn create_all(&self, sandboxes: &[Sandbox], quota: &Quota) -> Result<()> {
        if let Some(first) = sandboxes.first() {
            self.can_be_leased(&first.id)?;
        }
        Ok(self.database.write(|transaction| {
            if let Some(first) = sandboxes.first() {
                room(transaction, first, sandboxes.len(), quota)?;
            }
            sandboxes.iter().try_for_each(|sandbox| add(transaction, sandbox, quota))
        })?)
    }

    fn by_id(&self, id: &SandboxId) -> Result<Option<Sandbox>> {
        Ok(self.database.read(|reader| records::by_id(&reader.connection, id))?)
    }

    fn find(&self, owner: &Owner, handle: &Handle<'_>) -> Result<Sandbox> {
        let (select, what) = match *handle {
            Handle::SessionKey(key) => (records::BY_KEY, key),
            Handle::IdOrName(text) if SandboxId::parse(text).is_some() => (records::BY_ID, text),
            Handle::IdOrName(text) => (records::BY_NAME, text),
            Handle::Found(record) => (records::BY_ID, record.id.as_str()),
        };
        let found = self.database.read(|reader| records::one(&reader.connection, select, owner, what))?;
        found.ok_or_else(|| records::unknown(what))
    }

    fn list(
        &self,
        owner: &Owner,
        phase: Option<Phase>,
        after: Option<(Timestamp, &SandboxId)>,
        most: usize,
    ) -> Result<Vec<Sandbox>> {
        let (time, id) = after.map_or((-1, ""), |(time, id)| (integer(time.0), id.as_str()));
        Ok(self.database.read(|reader| {
            let phase = phase.map(word).transpose()?;
            records::whole(&reader.connection, records::PAGE, (owner.as_str(), time, id, phase), most)
        })?)
    }

    fn in_phase(&self, phase: Phase) -> Result<Vec<Sandbox>> {
        Ok(self.database.read(|reader| {
            records::whole(&reader.connection, records::BY_PHASE, [word(phase)?], usize::MAX)
        })?)
    }

    fn update(&self, sandbox: &Sandbox, state: Option<&dyn Snapshot>) -> Result<Sandbox> {
        Ok(match sandbox.phase {
            Phase::Destroyed => self.database.clear(|transaction| replace(transaction, sandbox, None))?,
            _ => {
                save::with(&self.database, state, |transaction, saved| replace(transaction, sandbox, saved))?
            }
        })
    }

    fn discard(&self, owner: &Owner, handle: &Handle<'_>) -> Result<Option<SandboxId>> {
        Ok(self.database.clear(|transaction| records::discard(transaction, owner, handle.text()))?)
    }

    fn update_with_checkpoint(
        &self,
        sandbox: &Sandbox,
        state: &dyn Snapshot,
        (checkpoint, kept): (&NewCheckpoint, Option<&dyn Snapshot>),
        quota: &Quota,
    ) -> Result<(Sandbox, Checkpoint)> {
        let states: Vec<&dyn Snapshot> = std::iter::once(state).chain(kept).collect();
        Ok(save::all(&self.database, &states, |transaction, saved| {
            let next = replace(transaction, sandbox, saved.first().copied())?;
            Ok((next, keep(transaction, checkpoint, saved.last().copied(), quota)?))
        })?)
    }

    fn update_with_run(
        &self,
        sandbox: &Sandbox,
        state: Option<&dyn Snapshot>,
        (run, calls): (&Run, &[RunCall]),
    ) -> Result<Sandbox> {
        Ok(save::with(&self.database, state, |transaction, saved| {
            let next = replace(transaction, sandbox, saved)?;
            runs::change(transaction, run, calls)?;
            Ok(next)
        })?)
    }

    fn journal(&self) -> &dyn Journal {
        self
    }

    fn add_checkpoint(
        &self,
        checkpoint: &NewCheckpoint,
        state: &dyn Snapshot,
        quota: &Quota,
    ) -> Result<Checkpoint> {
        let keep = |transaction: &Transaction<'_>, saved| keep(transaction, checkpoint, saved, quota);
        Ok(save::with(&self.database, Some(state), keep)?)
    }

    fn checkpoint(&self, owner: &Owner, id: &CheckpointId) -> Result<Checkpoint> {
        let found = self.database.read(|reader| checkpoints::one(&reader.connection, owner, id))?;
        Ok(Checkpoint { note: self.folder.notes().of(id), ..found })
    }

    fn checkpoint_of_anybody(&self, id: &CheckpointId) -> Result<Checkpoint> {
        let found = self.database.read(|reader| checkpoints::by_id(&reader.connection, id))?;
        Ok(Checkpoint { note: self.folder.notes().of(id), ..found })
    }

    fn checkpoints(&self, sandbox: &SandboxId) -> Result<Vec<Checkpoint>> {
        let notes = self.folder.notes();
        let all = self.database.read(|reader| checkpoints::all(&reader.connection, sandbox))?;
        Ok(all.into_iter().map(|found| Checkpoint { note: notes.of(&found.label.id), ..found }).collect())
    }

    fn describe_checkpoint(&self, id: &CheckpointId, description: &Description) -> Result<Checkpoint> {
        let mut described = self.database.write(|transaction| {
            let mut there = checkpoints::by_id(transaction, id)?;
            if let Some(name) = &description.name {
                there.label.name = name.clone();
                checkpoints::put(transaction, &there)?;
            }
            Ok(there)
        })?;
        let notes = self.folder.notes();
        if let Some(note) = &description.note {
            notes.set(id, note.as_ref())?;
        }
        described.note = notes.of(id);
        Ok(described)
    }

    fn remove_checkpoint(&self, id: &CheckpointId) -> Result<()> {
        self.database.clear(|transaction| checkpoints::remove(transaction, id))?;
        if let Err(error) = self.folder.notes().set(id, None) {
            tracing::debug!(%error, "a note stays until a sweep removes it");
        }
        Ok(())
    }

    fn stored(&self, owner: &Owner) -> Result<Stored> {
        Ok(self.database.read(|reader| usage::stored(&reader.connection, owner))?)
    }

    fn disk(&self) -> Result<Disk> {
        Ok(self.database.read(|reader| usage::disk(&reader.connection, &self.folder))?)
    }

    fn writable(&self) -> Result<()> {
        Ok(self.database.check_writable()?)
    }

    fn free(&self) -> Result<Option<u64>> {
        self.database.check_writable()?;
        disk::free(self.folder.root(), self.database.needs())
    }

    fn chunks(&self) -> Arc<dyn ChunkSource> {
        Arc::new(Chunks(Arc::clone(&self.database)))
    }

    fn lease(&self, id: &SandboxId) -> Result<Option<Lease>> {
        if let Err(fault) = self.database.check_writable() {
            // Nobody can change anything, so nobody is in another's way.
            return if self.database.is_still() { Ok(Some(self.looks())) } else { Err(fault.into()) };
        }
        Ok(Held::take(&self.lock_of(id))?.map(Held::boxed))
    }

    fn is_leased(&self, id: &SandboxId) -> bool {
        lease::is_held(&self.lock_of(id))
    }

    fn want(&self, id: &SandboxId) {
        lease::want(&self.lock_of(id));
    }

    fn lease_to_look(&self, id: &SandboxId) -> Result<Option<Lease>> {
        match self.lease(id) {
            // On a disk that has become read-only nobody changes anything either.
            Err(error) if fault::is_no_room(&error) || fault::is_read_only(&error) => Ok(Some(self.looks())),
            leased => leased,
        }
    }

    fn lease_to_remove(&self, id: &SandboxId) -> Result<Option<Lease>> {
        self.database.ready_to_remove()?;
        let leased = match self.lease(id) {
            // A lease is a file, and so is the reserve.
            Err(error)
                if error.message() == fault::no_inodes().message() && self.database.given().give_up() =>
            {
                self.lease(id)
            }
            leased => leased,
        };
        if !self.database.given().is_given() {
            return leased;
        }
        let refills = Refills(self.folder.reserve());
        Ok(leased?.map(|lease| -> Lease { Box::new(Removes { lease, _refills: refills }) }))
    }

    fn sweep(&self, reach: Reach<'_>, until: Option<Instant>) -> Result<Swept> {
        match self.database.check_writable() {
            Err(_) if self.database.is_still() && until.is_some() => return Ok(Swept::default()),
            checked => checked?,
        }
        Ok(sweep::run(self, reach, until)?)
    }
}

/// A lease where none can be taken: the folder can only be read, or takes no more files.
struct Looks(Arc<Database>);

impl Leased for Looks {
    fn holds(&self) -> bool {
        // Where nothing can be written it is all that there is.
        self.0.is_still()
    }
}

/// A lease whose file was of the reserve. Fields are dropped in their order: the file is set aside again when the lease is given
/// back, before somebody else takes it.
struct Removes {
    lease: Lease,
    _refills: Refills,
}

impl Leased for Removes {
    fn is_wanted(&self) -> bool {
        self.lease.is_wanted()
    }

    fn holds(&self) -> bool {
        self.lease.holds()
    }
}

struct Refills(Reserve);

impl Drop for Refills {
    fn drop(&mut self) {
        self.0.refill();
    }
}

impl Store {
    fn looks(&self) -> Lease {
        Box::new(Looks(Arc::clone(&self.database)))
    }

    /// Whether a new sandbox could be used: a record needs no file of its own, and every call needs one for its lease.
    ///
    /// # Errors
    /// What keeps it from locking.
    fn can_be_leased(&self, id: &SandboxId) -> Result<()> {
        self.database.check_writable()?;
        Held::take(&self.lock_of(id)).map(drop)
    }

    fn lock_of(&self, id: &SandboxId) -> PathBuf {
        self.folder.locks().join(id.as_str())
    }
}

/// Puts a record in the place of the one that is a generation older, or removes that.
fn replace(transaction: &Transaction<'_>, sandbox: &Sandbox, saved: Option<SavedState>) -> Answer<Sandbox> {
    let there = records::one(transaction, records::BY_ID, &sandbox.owner, sandbox.id.as_str())?
        .ok_or_else(|| records::unknown(sandbox.id.as_str()))?;
    if there.generation != sandbox.generation {
        return Err(conflict().into());
    }
    let next = Sandbox {
        state: saved.or(sandbox.state),
        generation: sandbox.generation.saturating_add(1),
        ..sandbox.clone()
    };
    if sandbox.phase == Phase::Destroyed {
        records::remove(transaction, &sandbox.id)?;
        return Ok(next);
    }
    if next.name != there.name {
        free_name(transaction, &next)?;
    }
    if next.session_key != there.session_key && with_key(transaction, &next)?.is_some() {
        return Err(conflict().into());
    }
    if let Some(state) = sandbox.state.filter(|state| saved.is_none() && there.state != Some(*state)) {
        records::held(transaction, &state)?;
    }
    records::replace(transaction, &next)?;
    Ok(next)
}

/// Adds a checkpoint of a state, if there may be one more.
fn keep(
    transaction: &Transaction<'_>,
    checkpoint: &NewCheckpoint,
    saved: Option<SavedState>,
    quota: &Quota,
) -> Answer<Checkpoint> {
    let there = records::by_id(transaction, &checkpoint.sandbox)?
        .ok_or_else(|| records::unknown(checkpoint.sandbox.as_str()))?;
    let count = checkpoints::count(transaction, &checkpoint.sandbox)?;
    Quota::check_count(count, 1, quota.checkpoints, "checkpoints of one sandbox")?;
    let state = saved.ok_or_else(|| Error::new(ErrorCode::Internal, "a checkpoint without state"))?;
    let made = Checkpoint { label: checkpoint.clone(), note: None, state };
    checkpoints::put(transaction, &made)?;
    usage::check(transaction, &there.owner, quota)?;
    Ok(made)
}

/// The owner's sandbox with the session key of this one.
fn with_key(connection: &Connection, sandbox: &Sandbox) -> Answer<Option<Sandbox>> {
    match &sandbox.session_key {
        Some(key) => records::one(connection, records::BY_KEY, &sandbox.owner, key.as_str()),
        None => Ok(None),
    }
}

fn free_name(connection: &Connection, sandbox: &Sandbox) -> Answer<()> {
    match records::one(connection, records::BY_NAME, &sandbox.owner, sandbox.name.as_str())? {
        None => Ok(()),
        Some(_) => {
            Err(Error::new(ErrorCode::NameTaken, format!("there is a sandbox `{}` already", sandbox.name))
                .with_hint("use that one, or choose another name")
                .into())
        }
    }
}

fn conflict() -> Error {
    Error::new(ErrorCode::Conflict, "the sandbox was changed at the same time")
        .with_hint("read it again, then repeat the call")
}

/// Adds a record, if its name is free and the quotas have room.
fn add(transaction: &Connection, sandbox: &Sandbox, quota: &Quota) -> Answer<()> {
    if sandbox.phase == Phase::Destroyed {
        return Err(Error::new(ErrorCode::InvalidState, "a sandbox cannot begin as destroyed").into());
    }
    free_name(transaction, sandbox)?;
    room(transaction, sandbox, 1, quota)?;
    if let Some(state) = &sandbox.state {
        records::held(transaction, state)?;
    }
    records::insert(transaction, sandbox)?;
    usage::check(transaction, &sandbox.owner, quota)
}

/// Whether there may be so many more of the owner's.
fn room(transaction: &Connection, sandbox: &Sandbox, more: usize, quota: &Quota) -> Answer<()> {
    let (own, all) = records::count(transaction, &sandbox.owner)?;
    Quota::check_count(own, more, quota.per_owner, "sandboxes of one owner")?;
    Ok(Quota::check_count(all, more, quota.in_all, "sandboxes in all")?)
}
