//! A sandbox with a life: what it is called, what it may become, and the ports behind which its state lives.
//!
//! | module | owns |
//! | --- | --- |
//! | [`id`] | ids, names, owners and session keys, and what is refused of them |
//! | [`lifecycle`] | phases, events and the one table of transitions |
//! | [`record`] | what is known of a sandbox and of a checkpoint |
//! | [`spec`] | what a caller may ask of a new one |
//! | [`chunk`] | content-addressed pieces of saved state (of `dormouse-types`) |
//! | [`lost`] | what was lost of it, or cannot be opened just now |
//! | [`machine`] | the port to a provider: a live sandbox |
//! | [`contents`] | files of a folder that are to be put somewhere else |
//! | [`quota`] | how much there may be of what is kept |
//! | [`run`] | runs that outlive their call: what is known of them and of their calls |
//! | [`ledger`] | the port to what lasts: records, chunks and locks |
//! | [`journal`] | the same of runs |

pub mod contents;
pub mod id;
pub mod journal;
pub mod ledger;
pub mod lifecycle;
pub mod lost;
pub mod machine;
pub mod migrated;
pub mod quota;
pub mod record;
pub mod run;
pub mod spec;

pub use contents::Contents;
pub use dormouse_types::{ChunkId, ChunkSink, ChunkSource, Reached, SavedState, chunk};
pub use id::{CheckpointId, JobId, Name, Owner, RunId, SandboxId, SessionKey, hides_text};
pub use journal::{Answer, Journal, NoJournal, WHOLE_RUN};
pub use ledger::{Created, Disk, Handle, Lease, Leased, Ledger, Swept};
pub use lifecycle::{Event, Phase, StopReason};
pub use lost::{Lost, Notes, OlderMemory};
pub use machine::{
    Batch, Beside, Entry, EntryKind, Excess, Executed, Files, Include, Job, Machine, Piece, Reach, Snapshot,
    Variable,
};
pub use migrated::Migrated;
pub use quota::{Quota, Share, Stored};
pub use record::{Checkpoint, Description, NewCheckpoint, Note, Sandbox, Timestamp};
pub use run::{CallState, Cause, Run, RunBudget, RunCall, RunEnd, RunLimits, RunState, RunUsage, Tail};
pub use spec::{Durability, OWN_FOLDERS, ProviderName, SandboxSpec, SpecMount, WarmPool, must_be_seen};
