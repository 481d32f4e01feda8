//! The port, verb by verb.

use std::sync::Arc;
use std::time::Instant;

use dormouse_core::sandbox::{
    Checkpoint, CheckpointId, ChunkSource, Created, Disk, Handle, Lease, Ledger, NewCheckpoint, Owner, Phase,
    Quota, Reach, Sandbox, SandboxId, SavedState, Snapshot, Stored, Swept, Timestamp,
};
use dormouse_core::{Error, ErrorCode, Result};
use rusqlite::{Connection, Transaction};

use crate::chunks::Chunks;
use crate::fault::Answer;
use crate::lease::Held;
use crate::row::{integer, word};
use crate::store::Store;
use crate::{checkpoints, records, save, sweep, usage};

impl Ledger for Store {
    fn create(&self, sandbox: &Sandbox, quota: &Quota) -> Result<Created> {
        // The key of a sandbox that is there is answered without waiting for writers.
        if let Some(there) = self.database.read(|reader| with_key(&reader.connection, sandbox))? {
            return Ok(Created::Existing(there));
        }
        Ok(self.database.write(|transaction| {
            if let Some(there) = with_key(transaction, sandbox)? {
                return Ok(Created::Existing(there));
            }
            add(transaction, sandbox, quota)?;
            Ok(Created::New(sandbox.clone()))
        })?)
    }

    fn create_all(&self, sandboxes: &[Sandbox], quota: &Quota) -> Result<()> {
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
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        Ok(self.database.read(|reader| {
            let phase = phase.map(word).transpose()?;
            records::all(&reader.connection, records::PAGE, (owner.as_str(), time, id, phase, most))
        })?)
    }

    fn in_phase(&self, phase: Phase) -> Result<Vec<Sandbox>> {
        Ok(self
            .database
            .read(|reader| records::all(&reader.connection, records::BY_PHASE, [word(phase)?]))?)
    }

    fn update(&self, sandbox: &Sandbox, state: Option<&dyn Snapshot>) -> Result<Sandbox> {
        let gone = sandbox.phase == Phase::Destroyed;
        let change = |transaction: &Transaction<'_>, saved: Option<SavedState>| {
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
            if gone {
                records::remove(transaction, &sandbox.id)?;
                return Ok(next);
            }
            if next.name != there.name {
                free_name(transaction, &next)?;
            }
            if next.session_key != there.session_key && with_key(transaction, &next)?.is_some() {
                return Err(conflict().into());
            }
            if let Some(state) = sandbox.state.filter(|state| saved.is_none() && there.state != Some(*state))
            {
                records::held(transaction, &state)?;
            }
            records::replace(transaction, &next)?;
            Ok(next)
        };
        Ok(match gone {
            true => self.database.clear(|transaction| change(transaction, None))?,
            false => save::with(&self.database, state, change)?,
        })
    }

    fn add_checkpoint(
        &self,
        checkpoint: &NewCheckpoint,
        state: &dyn Snapshot,
        quota: &Quota,
    ) -> Result<Checkpoint> {
        Ok(save::with(&self.database, Some(state), |transaction, saved| {
            let there = records::by_id(transaction, &checkpoint.sandbox)?
                .ok_or_else(|| records::unknown(checkpoint.sandbox.as_str()))?;
            let count = checkpoints::count(transaction, &checkpoint.sandbox)?;
            Quota::check_count(count, 1, quota.checkpoints, "checkpoints of one sandbox")?;
            let state = saved.ok_or_else(|| Error::new(ErrorCode::Internal, "a checkpoint without state"))?;
            let made = Checkpoint { label: checkpoint.clone(), state };
            checkpoints::insert(transaction, &made)?;
            usage::check(transaction, &there.owner, quota)?;
            Ok(made)
        })?)
    }

    fn checkpoint(&self, owner: &Owner, id: &CheckpointId) -> Result<Checkpoint> {
        Ok(self.database.read(|reader| checkpoints::one(&reader.connection, owner, id))?)
    }

    fn checkpoints(&self, sandbox: &SandboxId) -> Result<Vec<Checkpoint>> {
        Ok(self.database.read(|reader| checkpoints::all(&reader.connection, sandbox))?)
    }

    fn remove_checkpoint(&self, id: &CheckpointId) -> Result<()> {
        Ok(self.database.clear(|transaction| checkpoints::remove(transaction, id))?)
    }

    fn stored(&self, owner: &Owner) -> Result<Stored> {
        Ok(self.database.read(|reader| usage::stored(&reader.connection, owner))?)
    }

    fn disk(&self) -> Result<Disk> {
        Ok(self.database.read(|reader| usage::disk(&reader.connection, &self.folder))?)
    }

    fn chunks(&self) -> Arc<dyn ChunkSource> {
        Arc::new(Chunks(Arc::clone(&self.database)))
    }

    fn lease(&self, id: &SandboxId) -> Result<Option<Lease>> {
        Ok(Held::take(&self.folder.locks().join(id.as_str()))?.map(Held::boxed))
    }

    fn sweep(&self, reach: Reach<'_>, until: Option<Instant>) -> Result<Swept> {
        Ok(sweep::run(self, reach, until)?)
    }
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
        Some(_) => Err(Error::new(
            ErrorCode::NameTaken,
            format!("there is a sandbox called `{}` already", sandbox.name),
        )
        .with_hint("use that one, or choose another name")
        .into()),
    }
}

fn conflict() -> Error {
    Error::new(ErrorCode::Conflict, "the sandbox was changed at the same time")
        .with_hint("look at it again, then try again")
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
