//! Records, chunks and leases in memory. Clones share them, as processes share a state folder.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::sandbox::{
    Checkpoint, CheckpointId, ChunkId, ChunkSink, ChunkSource, Created, Description, Disk, Handle, Lease,
    Leased, Ledger, NewCheckpoint, Owner, Phase, Quota, Reach, Reached, Sandbox, SandboxId, Snapshot, Stored,
    Swept, Timestamp,
};
use crate::{Error, ErrorCode, Result};

/// A ledger that forgets everything with its last clone.
#[derive(Clone, Default)]
pub struct MemoryLedger {
    tables: Arc<Mutex<Tables>>,
    chunks: Arc<Chunks>,
    swept: Arc<Mutex<Option<u64>>>,
    /// Those that are held, and whether somebody wants them.
    leases: Arc<Mutex<HashMap<SandboxId, bool>>>,
}

#[derive(Default)]
struct Tables {
    sandboxes: Vec<Sandbox>,
    checkpoints: Vec<Checkpoint>,
}

#[derive(Default)]
struct Chunks(Mutex<HashMap<ChunkId, Vec<u8>>>);

/// A lock that a failed test does not take with it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Chunks {
    fn bytes(&self) -> u64 {
        lock(&self.0).values().map(|bytes| bytes.len() as u64).sum()
    }
}

impl ChunkSource for Chunks {
    fn get(&self, id: &ChunkId) -> Result<Option<Vec<u8>>> {
        Ok(lock(&self.0).get(id).cloned())
    }
}

impl ChunkSink for &Chunks {
    fn has(&mut self, id: &ChunkId) -> Result<bool> {
        Ok(lock(&self.0).contains_key(id))
    }

    fn put(&mut self, id: &ChunkId, bytes: &[u8]) -> Result<()> {
        lock(&self.0).insert(*id, bytes.to_vec());
        Ok(())
    }
}

impl MemoryLedger {
    /// Loses a chunk.
    pub(super) fn lose(&self, id: &ChunkId) {
        lock(&self.chunks.0).remove(id);
    }
}

struct Held(Arc<Mutex<HashMap<SandboxId, bool>>>, SandboxId);

impl Leased for Held {
    fn is_wanted(&self) -> bool {
        lock(&self.0).get(&self.1).copied().unwrap_or_default()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        lock(&self.0).remove(&self.1);
    }
}

fn unknown(what: &str) -> Error {
    Error::new(ErrorCode::UnknownSandbox, format!("no sandbox {what}"))
}

fn unknown_checkpoint(id: &CheckpointId) -> Error {
    Error::new(ErrorCode::UnknownCheckpoint, format!("there is no checkpoint `{id}`"))
}

fn count(things: usize) -> u32 {
    u32::try_from(things).unwrap_or(u32::MAX)
}

impl Tables {
    fn add(&mut self, sandbox: &Sandbox, quota: &Quota) -> Result<()> {
        let mut own = self.sandboxes.iter().filter(|other| other.owner == sandbox.owner);
        if own.clone().any(|other| other.name == sandbox.name) {
            let taken = format!("there is a sandbox `{}` already", sandbox.name);
            return Err(Error::new(ErrorCode::NameTaken, taken));
        }
        Quota::check_count(count(own.by_ref().count()), 1, quota.per_owner, "sandboxes of one owner")?;
        Quota::check_count(count(self.sandboxes.len()), 1, quota.in_all, "sandboxes in all")?;
        self.sandboxes.push(sandbox.clone());
        quota.check_stored(&self.stored(&sandbox.owner)).inspect_err(|_| drop(self.sandboxes.pop()))
    }

    /// What an owner has saved, each state once.
    fn stored(&self, owner: &Owner) -> Stored {
        let own: Vec<_> = self.sandboxes.iter().filter(|sandbox| sandbox.owner == *owner).collect();
        let held: HashMap<_, _> =
            own.iter().filter_map(|one| Some((one.state?.root, one.state?.bytes))).collect();
        let of_own = |kept: &&Checkpoint| own.iter().any(|one| one.id == kept.label.sandbox);
        let states = self.checkpoints.iter().filter(of_own).map(|kept| (kept.state.root, kept.state.bytes));
        let besides: HashMap<_, _> = states.filter(|(root, _)| !held.contains_key(root)).collect();
        let checkpoints = besides.values().sum();
        Stored { bytes: held.values().sum::<u64>() + checkpoints, checkpoints }
    }
}

impl Ledger for MemoryLedger {
    fn create(&self, sandbox: &Sandbox, quota: &Quota) -> Result<Created> {
        let mut tables = lock(&self.tables);
        let same = |other: &&Sandbox| {
            other.owner == sandbox.owner
                && sandbox.session_key.is_some()
                && other.session_key == sandbox.session_key
        };
        if let Some(there) = tables.sandboxes.iter().find(same) {
            return Ok(Created::Existing(there.clone()));
        }
        tables.add(sandbox, quota).map(|()| Created::New(sandbox.clone()))
    }

    fn create_all(&self, sandboxes: &[Sandbox], quota: &Quota) -> Result<()> {
        let mut tables = lock(&self.tables);
        let before = tables.sandboxes.len();
        let made = sandboxes.iter().try_for_each(|sandbox| tables.add(sandbox, quota));
        if made.is_err() {
            tables.sandboxes.truncate(before);
        }
        made
    }

    fn by_id(&self, id: &SandboxId) -> Result<Option<Sandbox>> {
        Ok(lock(&self.tables).sandboxes.iter().find(|sandbox| sandbox.id == *id).cloned())
    }

    fn find(&self, owner: &Owner, handle: &Handle<'_>) -> Result<Sandbox> {
        let tables = lock(&self.tables);
        let mut own = tables.sandboxes.iter().filter(|sandbox| sandbox.owner == *owner);
        let what = handle.text();
        let found = own.find(|sandbox| match handle {
            Handle::Found(record) => sandbox.id == record.id,
            Handle::IdOrName(text) => sandbox.id.as_str() == *text || sandbox.name.as_str() == *text,
            Handle::SessionKey(key) => {
                sandbox.session_key.as_ref().is_some_and(|other| other.as_str() == *key)
            }
        });
        found.cloned().ok_or_else(|| unknown(what))
    }

    fn list(
        &self,
        owner: &Owner,
        phase: Option<Phase>,
        after: Option<(Timestamp, &SandboxId)>,
        most: usize,
    ) -> Result<Vec<Sandbox>> {
        let tables = lock(&self.tables);
        let own = tables.sandboxes.iter().filter(|sandbox| sandbox.owner == *owner);
        let mut found: Vec<_> = own.filter(|own| phase.is_none_or(|phase| own.phase == phase)).collect();
        found.sort_by_key(|sandbox| (sandbox.created_at, &sandbox.id));
        found.retain(|sandbox| after.is_none_or(|after| (sandbox.created_at, &sandbox.id) > after));
        Ok(found.into_iter().take(most).cloned().collect())
    }

    fn in_phase(&self, phase: Phase) -> Result<Vec<Sandbox>> {
        let tables = lock(&self.tables);
        Ok(tables.sandboxes.iter().filter(|sandbox| sandbox.phase == phase).cloned().collect())
    }

    fn update(&self, sandbox: &Sandbox, state: Option<&dyn Snapshot>) -> Result<Sandbox> {
        // Locked first: a sweep between the two would take the chunks of a state that no record names yet.
        let mut tables = lock(&self.tables);
        let state = state.map(|state| state.save(&mut self.chunks.as_ref())).transpose()?;
        let kept = tables.sandboxes.iter_mut().find(|kept| kept.id == sandbox.id);
        let kept = kept.ok_or_else(|| unknown(sandbox.id.as_str()))?;
        if kept.generation != sandbox.generation {
            return Err(Error::new(ErrorCode::Conflict, "somebody else changed it"));
        }
        *kept =
            Sandbox { generation: sandbox.generation + 1, state: state.or(sandbox.state), ..sandbox.clone() };
        let kept = kept.clone();
        if kept.phase == Phase::Destroyed {
            tables.sandboxes.retain(|other| other.id != kept.id);
            tables.checkpoints.retain(|checkpoint| checkpoint.label.sandbox != kept.id);
        }
        Ok(kept)
    }

    fn update_with_checkpoint(
        &self,
        sandbox: &Sandbox,
        state: &dyn Snapshot,
        (checkpoint, kept): (&NewCheckpoint, Option<&dyn Snapshot>),
        quota: &Quota,
    ) -> Result<(Sandbox, Checkpoint)> {
        let there = self.by_id(&sandbox.id)?.ok_or_else(|| unknown(sandbox.id.as_str()))?;
        let made = self.add_checkpoint(checkpoint, kept.unwrap_or(state), quota)?;
        let updated = self.update(sandbox, Some(state));
        if updated.is_err() {
            let mut tables = lock(&self.tables);
            tables.checkpoints.retain(|other| other.label.id != made.label.id);
            tables.sandboxes.iter_mut().filter(|other| other.id == there.id).for_each(|other| {
                *other = there.clone();
            });
        }
        Ok((updated?, made))
    }

    fn add_checkpoint(
        &self,
        checkpoint: &NewCheckpoint,
        state: &dyn Snapshot,
        quota: &Quota,
    ) -> Result<Checkpoint> {
        let there = count(self.checkpoints(&checkpoint.sandbox)?.len());
        Quota::check_count(there, 1, quota.checkpoints, "checkpoints of one sandbox")?;
        let mut tables = lock(&self.tables);
        let state = state.save(&mut self.chunks.as_ref())?;
        quota.check_disk(self.chunks.bytes())?;
        let checkpoint = Checkpoint { label: checkpoint.clone(), note: None, state };
        let sandbox = tables.sandboxes.iter().find(|sandbox| sandbox.id == checkpoint.label.sandbox);
        let owner = sandbox.map(|sandbox| sandbox.owner.clone());
        tables.checkpoints.push(checkpoint.clone());
        let stored = owner.map(|owner| tables.stored(&owner)).unwrap_or_default();
        quota.check_stored(&stored).inspect_err(|_| drop(tables.checkpoints.pop()))?;
        Ok(checkpoint)
    }

    fn checkpoint(&self, owner: &Owner, id: &CheckpointId) -> Result<Checkpoint> {
        let tables = lock(&self.tables);
        let own = |checkpoint: &&Checkpoint| {
            let of = |sandbox: &Sandbox| sandbox.id == checkpoint.label.sandbox && sandbox.owner == *owner;
            checkpoint.label.id == *id && tables.sandboxes.iter().any(of)
        };
        tables.checkpoints.iter().find(own).cloned().ok_or_else(|| unknown_checkpoint(id))
    }

    fn checkpoint_of_anybody(&self, id: &CheckpointId) -> Result<Checkpoint> {
        let tables = lock(&self.tables);
        let found = tables.checkpoints.iter().find(|checkpoint| checkpoint.label.id == *id);
        found.cloned().ok_or_else(|| unknown_checkpoint(id))
    }

    fn checkpoints(&self, sandbox: &SandboxId) -> Result<Vec<Checkpoint>> {
        let tables = lock(&self.tables);
        Ok(tables.checkpoints.iter().filter(|kept| kept.label.sandbox == *sandbox).cloned().collect())
    }

    fn describe_checkpoint(&self, id: &CheckpointId, description: &Description) -> Result<Checkpoint> {
        let mut tables = lock(&self.tables);
        let found = tables.checkpoints.iter_mut().find(|kept| kept.label.id == *id);
        let found = found.ok_or_else(|| unknown_checkpoint(id))?;
        if let Some(name) = &description.name {
            found.label.name = name.clone();
        }
        if let Some(note) = &description.note {
            found.note = note.clone();
        }
        Ok(found.clone())
    }

    fn remove_checkpoint(&self, id: &CheckpointId) -> Result<()> {
        let mut tables = lock(&self.tables);
        let at = tables.checkpoints.iter().position(|kept| kept.label.id == *id);
        tables.checkpoints.remove(at.ok_or_else(|| unknown_checkpoint(id))?);
        Ok(())
    }

    fn chunks(&self) -> Arc<dyn ChunkSource> {
        self.chunks.clone()
    }

    fn lease(&self, id: &SandboxId) -> Result<Option<Lease>> {
        let mut leases = lock(&self.leases);
        if leases.contains_key(id) {
            return Ok(None);
        }
        leases.insert(id.clone(), false);
        Ok(Some(Box::new(Held(self.leases.clone(), id.clone()))))
    }

    fn is_leased(&self, id: &SandboxId) -> bool {
        lock(&self.leases).contains_key(id)
    }

    fn want(&self, id: &SandboxId) {
        if let Some(wanted) = lock(&self.leases).get_mut(id) {
            *wanted = true;
        }
    }

    fn stored(&self, owner: &Owner) -> Result<Stored> {
        Ok(lock(&self.tables).stored(owner))
    }

    fn disk(&self) -> Result<Disk> {
        Ok(Disk { used: self.chunks.bytes(), swept: *lock(&self.swept) })
    }

    fn sweep(&self, reach: Reach<'_>, _: Option<Instant>) -> Result<Swept> {
        let tables = lock(&self.tables);
        let states = tables.sandboxes.iter().filter_map(|sandbox| sandbox.state);
        let mut kept = Reached::default();
        for state in states.chain(tables.checkpoints.iter().map(|checkpoint| checkpoint.state)) {
            reach(&state, &mut kept)?;
        }
        let mut swept = Swept { whole: true, ..Swept::default() };
        lock(&self.chunks.0).retain(|id, bytes| {
            let needed = kept.has(id);
            swept.chunks += u64::from(!needed);
            swept.bytes += if needed { 0 } else { bytes.len() as u64 };
            needed
        });
        *lock(&self.swept) = Some(self.chunks.bytes());
        Ok(swept)
    }
}
