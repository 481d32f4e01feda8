//! A ledger whose disk can be full, and whose writes can be made to wait.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

use super::MemoryLedger;
use crate::sandbox::{
    Checkpoint, CheckpointId, ChunkId, ChunkSource, Created, Description, Disk, Handle, Lease, Ledger,
    NewCheckpoint, Owner, Phase, Quota, Reach, Sandbox, SandboxId, Snapshot, Stored, Swept, Timestamp,
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
    told: AtomicBool,
    held: Mutex<bool>,
    let_go: Condvar,
    waiting: AtomicUsize,
    crash: AtomicUsize,
}

impl FaultyLedger {
    /// From now on every write fails, or none.
    pub fn set_full(&self, full: bool) {
        self.faults.full.store(full, Ordering::SeqCst);
    }

    /// From now on its disk says that it is full before it is written to, or not.
    pub fn tell_full(&self, told: bool) {
        self.faults.told.store(told, Ordering::SeqCst);
    }

    /// From now on every write waits, or none. It blocks its thread, as a disk does.
    pub fn hold(&self, held: bool) {
        *self.faults.held.lock().unwrap_or_else(PoisonError::into_inner) = held;
        self.faults.let_go.notify_all();
    }

    /// A chunk is gone, as from a damaged disk.
    pub fn lose(&self, id: &ChunkId) {
        self.inner.lose(id);
    }

    /// Writes that wait.
    pub fn waiting(&self) -> usize {
        self.faults.waiting.load(Ordering::SeqCst)
    }

    /// The call of that number from now on crashes, once; 0: none does.
    pub fn crash_at(&self, call: usize) {
        self.faults.crash.store(call, Ordering::SeqCst);
    }

    /// Whether the call that was to crash has come.
    pub fn has_crashed(&self) -> bool {
        self.faults.crash.load(Ordering::SeqCst) == 0
    }

    /// The ledger, to be read.
    fn read(&self) -> &MemoryLedger {
        let left = |call: usize| call.checked_sub(1);
        assert_ne!(
            self.faults.crash.fetch_update(Ordering::SeqCst, Ordering::SeqCst, left),
            Ok(1),
            "a crash that a test wants"
        );
        &self.inner
    }

    /// The ledger, if it can be written.
    fn written(&self) -> Result<&MemoryLedger> {
        self.read();
        let mut held = self.faults.held.lock().unwrap_or_else(PoisonError::into_inner);
        self.faults.waiting.fetch_add(1, Ordering::SeqCst);
        while *held {
            held = self.faults.let_go.wait(held).unwrap_or_else(PoisonError::into_inner);
        }
        self.faults.waiting.fetch_sub(1, Ordering::SeqCst);
        if self.faults.full.load(Ordering::SeqCst) {
            return Err(full());
        }
        Ok(&self.inner)
    }
}

fn full() -> Error {
    Error::new(ErrorCode::StateUnavailable, "the disk is full").with_hint("make room")
}

impl Ledger for FaultyLedger {
    fn create(&self, sandbox: &Sandbox, quota: &Quota) -> Result<Created> {
        self.written()?.create(sandbox, quota)
    }

    fn create_all(&self, sandboxes: &[Sandbox], quota: &Quota) -> Result<()> {
        self.written()?.create_all(sandboxes, quota)
    }

    fn by_id(&self, id: &SandboxId) -> Result<Option<Sandbox>> {
        self.read().by_id(id)
    }

    fn find(&self, owner: &Owner, handle: &Handle<'_>) -> Result<Sandbox> {
        self.read().find(owner, handle)
    }

    fn list(
        &self,
        owner: &Owner,
        phase: Option<Phase>,
        after: Option<(Timestamp, &SandboxId)>,
        most: usize,
    ) -> Result<Vec<Sandbox>> {
        self.read().list(owner, phase, after, most)
    }

    fn in_phase(&self, phase: Phase) -> Result<Vec<Sandbox>> {
        self.read().in_phase(phase)
    }

    fn update(&self, sandbox: &Sandbox, state: Option<&dyn Snapshot>) -> Result<Sandbox> {
        self.written()?.update(sandbox, state)
    }

    fn discard(&self, owner: &Owner, handle: &Handle<'_>) -> Result<Option<SandboxId>> {
        self.written()?.discard(owner, handle)
    }

    fn update_with_checkpoint(
        &self,
        sandbox: &Sandbox,
        state: &dyn Snapshot,
        checkpoint: (&NewCheckpoint, Option<&dyn Snapshot>),
        quota: &Quota,
    ) -> Result<(Sandbox, Checkpoint)> {
        self.written()?.update_with_checkpoint(sandbox, state, checkpoint, quota)
    }

    fn free(&self) -> Result<Option<u64>> {
        match self.faults.told.load(Ordering::SeqCst) {
            true => Err(full()),
            false => Ok(None),
        }
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
        self.read().checkpoint(owner, id)
    }

    fn checkpoint_of_anybody(&self, id: &CheckpointId) -> Result<Checkpoint> {
        self.read().checkpoint_of_anybody(id)
    }

    fn checkpoints(&self, sandbox: &SandboxId) -> Result<Vec<Checkpoint>> {
        self.read().checkpoints(sandbox)
    }

    fn describe_checkpoint(&self, id: &CheckpointId, description: &Description) -> Result<Checkpoint> {
        self.written()?.describe_checkpoint(id, description)
    }

    fn remove_checkpoint(&self, id: &CheckpointId) -> Result<()> {
        self.written()?.remove_checkpoint(id)
    }

    fn chunks(&self) -> Arc<dyn ChunkSource> {
        self.read().chunks()
    }

    fn lease(&self, id: &SandboxId) -> Result<Option<Lease>> {
        self.read().lease(id)
    }

    fn is_leased(&self, id: &SandboxId) -> bool {
        self.read().is_leased(id)
    }

    fn want(&self, id: &SandboxId) {
        self.read().want(id);
    }

    fn stored(&self, owner: &Owner) -> Result<Stored> {
        self.read().stored(owner)
    }

    fn disk(&self) -> Result<Disk> {
        self.read().disk()
    }

    fn sweep(&self, reach: Reach<'_>, until: Option<Instant>) -> Result<Swept> {
        self.written()?.sweep(reach, until)
    }
}
