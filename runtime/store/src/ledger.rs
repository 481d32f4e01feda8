//! The port, verb by verb.

use std::sync::Arc;

use dormouse_core::sandbox::{
    Checkpoint, CheckpointId, ChunkSource, Created, Handle, Lease, Ledger, NewCheckpoint, Owner, Phase,
    Quota, Reach, Sandbox, SandboxId, Snapshot, Swept, Timestamp,
};
use dormouse_core::{Error, ErrorCode, Result};
use rusqlite::{Connection, OptionalExtension as _};

use crate::chunks::Chunks;
use crate::fault::Answer;
use crate::lease::Held;
use crate::row::{integer, word};
use crate::store::Store;
use crate::{checkpoints, records, save, sweep};

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
        Ok(self
            .database
            .write(|transaction| sandboxes.iter().try_for_each(|sandbox| add(transaction, sandbox, quota)))?)
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
        let state = state.filter(|_| sandbox.phase != Phase::Destroyed);
        Ok(save::with(&self.database, state, |transaction, saved| {
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
            if let Some(state) = sandbox.state.filter(|state| saved.is_none() && there.state != Some(*state))
            {
                records::held(transaction, &state)?;
            }
            records::replace(transaction, &next)?;
            Ok(next)
        })?)
    }

    fn add_checkpoint(
        &self,
        checkpoint: &NewCheckpoint,
        state: &dyn Snapshot,
        quota: &Quota,
    ) -> Result<Checkpoint> {
        Ok(save::with(&self.database, Some(state), |transaction, saved| {
            let mut there = transaction.prepare_cached("SELECT 1 FROM sandboxes WHERE id = ?1")?;
            let id = checkpoint.sandbox.as_str();
            there.query_row([id], |_| Ok(())).optional()?.ok_or_else(|| records::unknown(id))?;
            let count = checkpoints::count(transaction, &checkpoint.sandbox)?;
            within(count, quota.checkpoints, "checkpoints of one sandbox")?;
            let state = saved.ok_or_else(|| Error::new(ErrorCode::Internal, "a checkpoint without state"))?;
            let made = Checkpoint { label: checkpoint.clone(), state };
            checkpoints::insert(transaction, &made)?;
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
        Ok(self.database.write(|transaction| checkpoints::remove(transaction, id))?)
    }

    fn chunks(&self) -> Arc<dyn ChunkSource> {
        Arc::new(Chunks(Arc::clone(&self.database)))
    }

    fn lease(&self, id: &SandboxId) -> Result<Option<Lease>> {
        Ok(Held::take(&self.folder.locks().join(id.as_str()))?.map(Held::boxed))
    }

    fn sweep(&self, reach: Reach<'_>) -> Result<Swept> {
        Ok(sweep::run(self, reach)?)
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

fn within(count: u32, most: u32, what: &str) -> Answer<()> {
    if count < most {
        return Ok(());
    }
    Err(Error::new(ErrorCode::QuotaExceeded, format!("there are {count} {what}, at most {most} are allowed"))
        .with_hint("remove one that is not needed, or have the operator raise the quota")
        .into())
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
    let (own, all) = records::count(transaction, &sandbox.owner)?;
    within(own, quota.per_owner, "sandboxes of one owner")?;
    within(all, quota.in_all, "sandboxes in all")?;
    if let Some(state) = &sandbox.state {
        records::held(transaction, state)?;
    }
    records::insert(transaction, sandbox)
}
