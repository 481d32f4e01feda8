//! A ledger whose disk can be full, and whose writes can be made to wait.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

use super::MemoryLedger;
use crate::sandbox::{
    Checkpoint, CheckpointId, ChunkSource, Created, Disk, Handle, Lease, Ledger, NewCheckpoint, Owner, Phase,
    Quota, Reach, Sandbox, SandboxId, Snapshot, Stored, Swept, Timestamp,
};
use crate::{Error, ErrorCode, Result};

/// A [`MemoryLedger`] with faults that a test switches on and off. Clones share both.
#[derive(Clone, Default)]
pub struct FaultyLedger {
    inner: MemoryLedger,
    faults: Arc<Faults>,
}

#[derive(Default)]
struct Faults {
    full: AtomicBool,
    held: Mutex<bool>,
    let_go: Condvar,
    waiting: AtomicUsize,
}

impl FaultyLedger {
    /// From now on every write fails, or none.
    pub fn set_full(&self, full: bool) {
        self.faults.full.store(full, Ordering::SeqCst);
    }

    /// From now on every write waits, or none. It blocks its thread, as a disk does.
    pub fn hold(&self, held: bool) {
        *self.faults.held.lock().unwrap_or_else(PoisonError::into_inner) = held;
        self.faults.let_go.notify_all();
    }

    /// Writes that wait.
    pub fn waiting(&self) -> usize {
        self.faults.waiting.load(Ordering::SeqCst)
    }

    /// The ledger, if it can be written.
    fn written(&self) -> Result<&MemoryLedger> {
        let mut held = self.faults.held.lock().unwrap_or_else(PoisonError::into_inner);
        self.faults.waiting.fetch_add(1, Ordering::SeqCst);
        while *held {
            held = self.faults.let_go.wait(held).unwrap_or_else(PoisonError::into_inner);
        }
        self.faults.waiting.fetch_sub(1, Ordering::SeqCst);
        if self.faults.full.load(Ordering::SeqCst) {
            return Err(Error::new(ErrorCode::StateUnavailable, "the state folder is full"));
        }
        Ok(&self.inner)
    }
}

impl Ledger for FaultyLedger {
    fn create(&self, sandbox: &Sandbox, quota: &Quota) -> Result<Created> {
        self.written()?.create(sandbox, quota)
    }

    fn create_all(&self, sandboxes: &[Sandbox], quota: &Quota) -> Result<()> {
        self.written()?.create_all(sandboxes, quota)
    }

    fn by_id(&self, id: &SandboxId) -> Result<Option<Sandbox>> {
        self.inner.by_id(id)
    }

    fn find(&self, owner: &Owner, handle: &Handle<'_>) -> Result<Sandbox> {
        self.inner.find(owner, handle)
    }

    fn list(
        &self,
        owner: &Owner,
        phase: Option<Phase>,
        after: Option<(Timestamp, &SandboxId)>,
        most: usize,
    ) -> Result<Vec<Sandbox>> {
        self.inner.list(owner, phase, after, most)
    }

    fn in_phase(&self, phase: Phase) -> Result<Vec<Sandbox>> {
        self.inner.in_phase(phase)
    }

    fn update(&self, sandbox: &Sandbox, state: Option<&dyn Snapshot>) -> Result<Sandbox> {
        self.written()?.update(sandbox, state)
    }

    fn add_checkpoint(
        &self,
        checkpoint: &NewCheckpoint,
        state: &dyn Snapshot,
        quota: &Quota,
    ) -> Result<Checkpoint> {
        self.written()?.add_checkpoint(checkpoint, state, quota)
    }

    fn checkpoint(&self, owner: &Owner, id: &CheckpointId) -> Result<Checkpoint> {
        self.inner.checkpoint(owner, id)
    }

    fn checkpoints(&self, sandbox: &SandboxId) -> Result<Vec<Checkpoint>> {
        self.inner.checkpoints(sandbox)
    }

    fn remove_checkpoint(&self, id: &CheckpointId) -> Result<()> {
        self.written()?.remove_checkpoint(id)
    }

    fn chunks(&self) -> Arc<dyn ChunkSource> {
        self.inner.chunks()
    }

    fn lease(&self, id: &SandboxId) -> Result<Option<Lease>> {
        self.inner.lease(id)
    }

    fn stored(&self, owner: &Owner) -> Result<Stored> {
        self.inner.stored(owner)
    }

    fn disk(&self) -> Result<Disk> {
        self.inner.disk()
    }

    fn sweep(&self, reach: Reach<'_>, until: Option<Instant>) -> Result<Swept> {
        self.written()?.sweep(reach, until)
    }
}
