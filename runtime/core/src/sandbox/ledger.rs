//! The port to what lasts: records, chunks and locks. One state folder, perhaps shared by several processes.

use std::sync::Arc;
use std::time::Instant;

use dormouse_types::ChunkSource;

use super::id::{CheckpointId, Owner, SandboxId};
use super::journal::{Journal, NoJournal};
use super::lifecycle::Phase;
use super::machine::{Reach, Snapshot};
use super::quota::{Quota, Stored};
use super::record::{Checkpoint, Description, NewCheckpoint, Sandbox, Timestamp};
use super::run::{Run, RunCall};
use crate::{Error, ErrorCode, Result};

/// What came of asking for a sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Created {
    /// It is new.
    New(Sandbox),
    /// The owner's sandbox with that session key was there already (S2-16).
    Existing(Sandbox),
}

/// What a sweep removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Chunks that no record needs.
    pub chunks: u64,
    /// Their bytes on disk.
    pub bytes: u64,
    /// Sandboxes whose making was not finished by a process that is gone.
    pub sandboxes: u64,
    /// Whether it came to its end: there was time for all of it, and no other process was at it.
    pub whole: bool,
}

/// Bytes that all saved state takes on its disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Disk {
    /// What is kept, and what no record needs any more and no sweep has taken yet.
    pub used: u64,
    /// What `used` was when the last sweep, of any process, had ended. Default none: nobody has swept yet.
    pub swept: Option<u64>,
}

/// The right to change one sandbox, held by one process at a time. Dropping it gives it back; so does the process's end.
pub type Lease = Box<dyn Leased>;

/// What a lease tells its holder.
pub trait Leased: Send {
    /// Whether somebody has asked for it since it was taken. Quick. Default: nobody can.
    fn is_wanted(&self) -> bool {
        false
    }

    /// Whether it gives the right to change the sandbox. One that was given to look where none could be taken gives it never, or
    /// does so no more when the folder can be written. Default: it does.
    fn holds(&self) -> bool {
        true
    }
}

/// A right that nobody else can want.
impl Leased for () {}

/// Records, chunks and locks. Calls may block for a disk; what has returned survives the end of the process and, where the
/// system keeps its promises, a loss of power.
pub trait Ledger: Send + Sync {
    /// Keeps a new record, unless its owner has one with the same session key. Who makes a sandbox takes the lease of its
    /// id first and keeps it until the phase is no longer `creating`: a sweep removes what nobody is making.
    ///
    /// # Errors
    /// `name_taken`; `quota_exceeded` naming the quota, also when more is saved than may be; `conflict` when its state is held by no record and no checkpoint
    /// any more.
    fn create(&self, sandbox: &Sandbox, quota: &Quota) -> Result<Created>;

    /// Keeps new records without session keys, all or none.
    ///
    /// # Errors
    /// As [`Ledger::create`].
    fn create_all(&self, sandboxes: &[Sandbox], quota: &Quota) -> Result<()>;

    /// The sandbox with this id, whoever owns it: for the work that no call asks for.
    ///
    /// # Errors
    /// What keeps it from reading.
    fn by_id(&self, id: &SandboxId) -> Result<Option<Sandbox>>;

    /// The owner's sandbox with this id, name or session key.
    ///
    /// # Errors
    /// `unknown_sandbox`, the same for what is destroyed, another owner's, or was never there.
    fn find(&self, owner: &Owner, handle: &Handle<'_>) -> Result<Sandbox>;

    /// The owner's sandboxes that are not destroyed, oldest first, at most `most`: those after the one that was made then
    /// and has that id, which need not be there any more. One whose record is damaged is left out.
    ///
    /// # Errors
    /// What keeps it from reading.
    fn list(
        &self,
        owner: &Owner,
        phase: Option<Phase>,
        after: Option<(Timestamp, &SandboxId)>,
        most: usize,
    ) -> Result<Vec<Sandbox>>;

    /// All owners' sandboxes in a phase, for the lifecycle. One whose record is damaged is left out.
    ///
    /// # Errors
    /// What keeps it from reading.
    fn in_phase(&self, phase: Phase) -> Result<Vec<Sandbox>>;

    /// Replaces a record whose generation is the given one, and saves `state` with it in one step; returns the record as
    /// it now is, one generation on. A record in phase `destroyed` is removed with its checkpoints. No quota keeps a state
    /// from being saved: what a call has done is kept, and further calls are refused instead.
    ///
    /// # Errors
    /// `conflict` when the record is of another generation, or names a state that no record and no checkpoint holds any
    /// more; `name_taken`; `unknown_sandbox` when it is gone; what keeps it from writing. Nothing is changed then.
    fn update(&self, sandbox: &Sandbox, state: Option<&dyn Snapshot>) -> Result<Sandbox>;

    /// Removes the owner's sandbox with this id or name, with its checkpoints, if its record is damaged: what cannot be read cannot be
    /// destroyed by a change of it. Its id; none: there is no such record, or it is whole. Default: none.
    ///
    /// # Errors
    /// What keeps it from writing.
    fn discard(&self, owner: &Owner, handle: &Handle<'_>) -> Result<Option<SandboxId>> {
        let _ = (owner, handle);
        Ok(None)
    }

    /// Replaces a record and saves its state, as [`Ledger::update`] does, and keeps a checkpoint of it: both in one step.
    /// With the checkpoint comes its state, where that is another than the sandbox's own. Returns both as they now are.
    ///
    /// # Errors
    /// As [`Ledger::update`] and [`Ledger::add_checkpoint`]. Nothing is changed then.
    fn update_with_checkpoint(
        &self,
        sandbox: &Sandbox,
        state: &dyn Snapshot,
        checkpoint: (&NewCheckpoint, Option<&dyn Snapshot>),
        quota: &Quota,
    ) -> Result<(Sandbox, Checkpoint)>;

    /// Replaces a record and saves its state, as [`Ledger::update`] does, and changes a run, as [`Journal::change`] does: all in one
    /// step. Default: there are no runs.
    ///
    /// # Errors
    /// As of both. Nothing is changed then.
    fn update_with_run(
        &self,
        sandbox: &Sandbox,
        state: Option<&dyn Snapshot>,
        run: (&Run, &[RunCall]),
    ) -> Result<Sandbox> {
        let _ = (sandbox, state, run);
        Err(Error::new(ErrorCode::CapabilityUnavailable, "there is no journal of runs"))
    }

    /// The records of runs. Default: none are kept.
    fn journal(&self) -> &dyn Journal {
        &NoJournal
    }

    /// Keeps a checkpoint and its state in one step; returns it with that state.
    ///
    /// # Errors
    /// As [`Ledger::update`]; `quota_exceeded`.
    fn add_checkpoint(
        &self,
        checkpoint: &NewCheckpoint,
        state: &dyn Snapshot,
        quota: &Quota,
    ) -> Result<Checkpoint>;

    /// A checkpoint of the owner's, by id.
    ///
    /// # Errors
    /// `unknown_checkpoint`.
    fn checkpoint(&self, owner: &Owner, id: &CheckpointId) -> Result<Checkpoint>;

    /// The checkpoint of that id, whoever's it is: of what the operator offers to all.
    ///
    /// # Errors
    /// `unknown_checkpoint`.
    fn checkpoint_of_anybody(&self, id: &CheckpointId) -> Result<Checkpoint>;

    /// The checkpoints of a sandbox, oldest first.
    ///
    /// # Errors
    /// What keeps it from reading.
    fn checkpoints(&self, sandbox: &SandboxId) -> Result<Vec<Checkpoint>>;

    /// Says something else of a checkpoint: its state stays. Returns it as it then is.
    ///
    /// # Errors
    /// `unknown_checkpoint`; what keeps it from writing: of name and note one may have changed then.
    fn describe_checkpoint(&self, id: &CheckpointId, description: &Description) -> Result<Checkpoint>;

    /// Removes a checkpoint.
    ///
    /// # Errors
    /// `unknown_checkpoint`.
    fn remove_checkpoint(&self, id: &CheckpointId) -> Result<()>;

    /// What the owner has saved.
    ///
    /// # Errors
    /// What keeps it from reading.
    fn stored(&self, owner: &Owner) -> Result<Stored>;

    /// What all saved state takes on its disk. Quick: nothing is looked through.
    ///
    /// # Errors
    /// What keeps it from reading.
    fn disk(&self) -> Result<Disk>;

    /// Refuses all changes where the folder was opened to be looked at: sandboxes can be listed and their files read. Quick.
    ///
    /// # Errors
    /// `state_unavailable`.
    fn writable(&self) -> Result<()> {
        Ok(())
    }

    /// Bytes that can still be added before its disk is full; none where that is not known. Quick: asked for before answers.
    /// Default: not known.
    ///
    /// # Errors
    /// `state_unavailable` when nothing can be written: the disk is full, read-only, or has no inodes left.
    fn free(&self) -> Result<Option<u64>> {
        Ok(None)
    }

    /// Where saved state is read from.
    fn chunks(&self) -> Arc<dyn ChunkSource>;

    /// Takes the right to change a sandbox, if nobody else has it, in this process or in another. The sandbox need not be
    /// there yet.
    ///
    /// # Errors
    /// What keeps it from locking.
    fn lease(&self, id: &SandboxId) -> Result<Option<Lease>>;

    /// Whether somebody has that right just now, in this process or in another. Quick. Default: that is not known.
    fn is_leased(&self, id: &SandboxId) -> bool {
        let _ = id;
        false
    }

    /// Asks whoever has that right to give it back when it rests. Said again for as long as it is waited for. Default: nobody
    /// hears it.
    fn want(&self, id: &SandboxId) {
        let _ = id;
    }

    /// The same for who removes the sandbox: it may use what is kept for removing.
    ///
    /// # Errors
    /// As [`Ledger::lease`].
    fn lease_to_remove(&self, id: &SandboxId) -> Result<Option<Lease>> {
        self.lease(id)
    }

    /// The same for who only looks. Where no file can be made for it a lease is given that holds nobody off ([`Leased::holds`]).
    ///
    /// # Errors
    /// As [`Ledger::lease`].
    fn lease_to_look(&self, id: &SandboxId) -> Result<Option<Lease>> {
        self.lease(id)
    }

    /// Removes what no record needs and what processes that are gone have left half made, in small steps, between which others
    /// write. Nothing is removed while another process sweeps. `reach` may read chunks and must not write; it may be called
    /// while writers wait. What is not done at the time `until` is left to the next sweep. Default: there is no such time.
    ///
    /// # Errors
    /// What `reach` says: no more chunks are removed then. What keeps it from reading or writing. What was removed until
    /// then stays removed.
    fn sweep(&self, reach: Reach<'_>, until: Option<Instant>) -> Result<Swept>;
}

/// How a caller names a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handle<'a> {
    /// By its id or its name (S4-05).
    IdOrName(&'a str),
    /// By the caller's own key.
    SessionKey(&'a str),
    /// By its record, which has been found before: what is done with it reads the record again under its lease, and not by its
    /// name.
    Found(&'a Sandbox),
}

impl<'a> Handle<'a> {
    /// What the caller has called it; of a record its id.
    pub fn text(&self) -> &'a str {
        match self {
            Self::IdOrName(text) | Self::SessionKey(text) => text,
            Self::Found(record) => record.id.as_str(),
        }
    }
}
