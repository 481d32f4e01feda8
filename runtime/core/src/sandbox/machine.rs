//! The port to a provider: a live sandbox, its files, and its state at one moment.

use std::any::Any;
use std::sync::Arc;

use async_trait::async_trait;
use dormouse_files::Tree;
use dormouse_types::{ChunkSink, ChunkSource, Reached, SavedState};
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};

use super::lost::{Lost, OlderMemory};
use super::migrated::Migrated;
use crate::connections::Taint;
use crate::{
    Bounds, CallAnswer, Error, ErrorCode, EvalRequest, GuestName, GuestPath, Language, Limits, LineRequest,
    Outcome, Programs, Progress, Result,
};

/// What of a sandbox's state is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Include {
    /// The interpreters.
    Memory,
    /// The files.
    Files,
    /// Both.
    #[default]
    Both,
}

/// A variable of an interpreter, as a listing shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// The name of its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The beginning of how it would be shown, at most 100 characters.
    pub summary: String,
}

/// What came of a command line.
#[derive(Debug)]
pub struct Executed {
    /// How it ended, and what it wrote.
    pub outcome: Outcome,
    /// Commands that it named and nobody here has, sorted, at most 16.
    pub missing: Vec<String>,
    /// Programs that another provider ran for it, each with that provider, sorted, at most 16. They make the outcome's
    /// `provider` that one, and its `fallback_from` the machine's own.
    pub elsewhere: Vec<(String, &'static str)>,
}

/// A command line that runs beside a sandbox's calls. Dropping it cancels it.
pub type Job = BoxFuture<'static, Result<Executed>>;

/// What a name of the file tree is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
}

/// One name of the file tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its path below the folder that was listed; it can be longer than a [`GuestPath`].
    pub path: String,
    /// What it is.
    pub kind: EntryKind,
    /// Bytes of a file, else 0.
    pub bytes: u64,
    /// When its content was changed, in milliseconds since 1970.
    pub modified_ms: u64,
    /// Where a link leads, as it is written. None for what is no link, on mounts, and in containers.
    pub target: Option<String>,
}

/// Folders and files that are put into a sandbox together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Folders, which may be there.
    pub folders: Vec<GuestPath>,
    /// Files with their bytes; their folders are made.
    pub files: Vec<(GuestPath, Vec<u8>)>,
}

/// By how much files are more than they may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Excess {
    /// In bytes.
    pub bytes: u64,
    /// In names.
    pub names: u64,
}

/// A part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Its bytes: as many as were asked for, or fewer.
    pub bytes: Vec<u8>,
    /// Bytes of the whole file.
    pub size: u64,
    /// When its content was changed, in milliseconds since 1970; in a container to the second.
    pub modified_ms: u64,
}

/// A sandbox's state at one moment, in memory. It shares what did not change with the live one and with other moments.
///
/// A provider finds its own again with [`dyn Snapshot::of`](#method.of).
pub trait Snapshot: Any + Send + Sync {
    /// Saves it. Writes only chunks that are not there yet.
    ///
    /// # Errors
    /// What the sink says.
    fn save(&self, sink: &mut dyn ChunkSink) -> Result<SavedState>;

    /// Bytes of the memory and the files that it holds, shared ones included.
    fn bytes(&self) -> u64;

    /// Lets go of what it holds in memory and can read again from `source`, there and in the machine and the states that share it.
    /// To be called when it was saved there, and only for as long as a record holds it. The bytes that it has let go.
    fn let_go(&self, source: &Arc<dyn ChunkSource>) -> u64 {
        let _ = source;
        0
    }

    /// Reads what of its files is in a store only, and holds it in memory from now on. It takes no time where nothing is.
    ///
    /// # Errors
    /// `state_damaged`: a part is not there any more.
    fn hold(&self) -> Result<()> {
        Ok(())
    }

    /// The files that were open in interpreters and are no part of this state.
    fn closed_files(&self) -> Vec<String>;

    /// The guests that had run when it was taken, sorted, in it or not: a machine that goes on from it without
    /// them has lost their variables. Default none.
    fn guests(&self) -> Vec<GuestName> {
        Vec::new()
    }

    /// Those of them whose variables are in it all the same, as far as they can be kept. Default none.
    fn holds(&self) -> Vec<GuestName> {
        Vec::new()
    }

    /// The files, if it has some, in the form that providers share. With it a sandbox's files go from one provider to another.
    fn files(&self) -> Option<&Tree> {
        None
    }
}

impl dyn Snapshot {
    /// The provider's own state, for [`Machine::restore`]; none: it is another provider's.
    pub fn of<T: Snapshot>(&self) -> Option<&T> {
        let any: &dyn Any = self;
        any.downcast_ref()
    }
}

/// What can be saved of a sandbox while one of its calls runs.
pub trait Beside: Send + Sync {
    /// The files as they are now, and the interpreters as their states were last taken before the call. Blocks for a moment at
    /// most, and keeps the call from nothing.
    ///
    /// # Errors
    /// What keeps the provider from it.
    fn snapshot(&self, include: Include) -> Result<Arc<dyn Snapshot>>;
}

/// A sandbox that is awake. Calls come one at a time; dropping a call's future cancels it, and the machine then is as
/// after a stopped run. Dropping the machine ends its interpreters.
#[async_trait]
pub trait Machine: Send {
    /// Runs a snippet in the interpreter of its language, which is started on first use. Of the request's grants only
    /// standard input counts; the others are the sandbox's own.
    ///
    /// # Errors
    /// Only what kept it from running.
    async fn eval(&mut self, request: EvalRequest) -> Result<Outcome>;

    /// Begins a program as [`Machine::eval`] does, or with `answers` goes on with the one that waits: until it ends or waits. All
    /// that it is is part of the machine's state while it waits. The next [`Machine::eval`] in its language forgets it.
    /// Without an answer its time is over. Files that come with answers have been written before.
    ///
    /// # Errors
    /// As [`Machine::eval`]; `capability_unavailable` where programs cannot wait, which is the default.
    async fn advance(&mut self, request: EvalRequest, answers: Option<Vec<CallAnswer>>) -> Result<Progress> {
        let _ = (request, answers);
        Err(Error::new(ErrorCode::CapabilityUnavailable, "programs of this provider cannot wait"))
    }

    /// Runs a command line in the sandbox's shell, which is started on first use. Its working folder and variables last;
    /// a granted directory holds for this command line alone.
    ///
    /// # Errors
    /// Only what kept it from running; `capability_unavailable` where there is no shell.
    async fn exec(&mut self, request: LineRequest, programs: Arc<dyn Programs>) -> Result<Executed>;

    /// A command line to be run beside the sandbox's calls, on the same files: it begins with the shell's working folder and
    /// variables, and changes neither. Nothing runs before the answer is polled.
    ///
    /// # Errors
    /// As [`Machine::exec`].
    async fn job(&mut self, request: LineRequest, programs: Arc<dyn Programs>) -> Result<Job>;

    /// The value of a global, or of an expression in which `value` is that global's value (S3-08).
    ///
    /// # Errors
    /// As [`Machine::eval`]; `not_found` when there is no such global.
    async fn get(
        &mut self,
        language: &Language,
        name: &str,
        query: Option<&str>,
        with: (&Limits, &Bounds),
    ) -> Result<Outcome>;

    /// Binds a global to the value of JSON text.
    ///
    /// # Errors
    /// As [`Machine::eval`]; `args_invalid` with the guest's reason.
    async fn set(&mut self, language: &Language, name: &str, json: &str, limits: &Limits) -> Result<()>;

    /// The globals of an interpreter, by name; none when it was never used.
    ///
    /// # Errors
    /// As [`Machine::eval`].
    async fn variables(&mut self, language: &Language, limits: &Limits) -> Result<Vec<Variable>>;

    /// Fresh interpreters; the files stay.
    ///
    /// # Errors
    /// What keeps the provider from it.
    async fn reset(&mut self) -> Result<()>;

    /// Its files.
    fn files(&mut self) -> &mut dyn Files;

    /// From now on what it holds may only shrink, or, with false, may grow again as its own limits say: its files and names become
    /// no more, but for a little that removing takes, and interpreters get no more memory than they have, or a small floor that lets
    /// them run. Whether it can do
    /// that. Default: it cannot.
    fn hold(&mut self, hold: bool) -> bool {
        !hold
    }

    /// Its state now. Files that are open in interpreters stay open, and are part of it.
    ///
    /// # Errors
    /// `capability_unavailable` where state cannot be saved.
    async fn snapshot(&mut self, include: Include) -> Result<Arc<dyn Snapshot>>;

    /// Puts it back to an earlier state of its own or of another sandbox; what the state does not include stays. Of memory that
    /// belongs to other guests it is as [`Machine::lost`] says.
    ///
    /// # Errors
    /// `guest_mismatch` when it holds nothing but memory, and all of that belongs to other guests; nothing is changed then.
    async fn restore(&mut self, snapshot: &dyn Snapshot) -> Result<()>;

    /// Goes with each interpreter whose memory belongs to another guest than the current one to the current one: exports its
    /// variables with the old guest, if that can be had, and binds those that can be carried in a fresh interpreter. Files stay.
    /// Answers what came of each such interpreter. `memory`: the beginning of the SHA-256 of the build that one of its memories
    /// belongs to; the interpreter goes on from that one first, and what it has now is left behind. Default: there is none.
    ///
    /// # Errors
    /// `not_found` for a memory that is not there, `guest_missing` where its guest is not here; what keeps the guests from running. The
    /// machine is of no more use then.
    async fn migrate(&mut self, limits: &Limits, memory: Option<&str>) -> Result<Vec<Migrated>> {
        let _ = (limits, memory);
        Ok(Vec::new())
    }

    /// What can be saved while the next call runs. Default none: nothing can.
    fn beside(&self) -> Option<Arc<dyn Beside>> {
        None
    }

    /// The guests whose instances are in memory, sorted.
    fn awake(&self) -> Vec<GuestName>;

    /// How many instances of its provider's pool its interpreters take now, or would take with one of a guest besides.
    /// Default 0: the provider has no pool.
    fn instances(&self, with: Option<&GuestName>) -> usize {
        let _ = with;
        0
    }

    /// By how much its files are more than they may be. While they are, they can only shrink. Default: by nothing. Quick: asked for
    /// after each run.
    fn excess(&self) -> Excess {
        Excess::default()
    }

    /// Bytes of this process's memory that it holds: what its interpreters have, and what of its files is in memory. Default 0:
    /// it is elsewhere. Quick: asked for after each call.
    fn memory(&self) -> u64 {
        0
    }

    /// What was lost of its interpreters and no answer has told yet, by guest: at most one entry for each. The outcome of a run tells
    /// it as its `recovery`; saving the machine keeps it. Default: nothing.
    fn lost(&self) -> Vec<Lost> {
        Vec::new()
    }

    /// What was lost of a language's interpreter, for an answer that tells it: it is told once. Default: nothing.
    fn tell(&mut self, language: &Language) -> Option<Lost> {
        let _ = language;
        None
    }

    /// Memory of other guests that it keeps, by guest, the latest used first. Default: none.
    fn older_memory(&self) -> Vec<OlderMemory> {
        Vec::new()
    }

    /// What the monotonic clock of its guests shows, in nanoseconds. Default 0: it has none of its own.
    fn time(&self) -> u64 {
        0
    }

    /// From now on that clock shows no less than this, in nanoseconds: the sandbox has seen it already. Default: nothing.
    fn reach_time(&mut self, shown: u64) {
        let _ = shown;
    }

    /// Whether what a server sent that the operator does not trust is in it: in variables or files, as far as anybody knows. It is
    /// part of its state. Default: it does not keep that.
    fn taint(&self) -> Option<&Taint> {
        None
    }

    /// Whether it has ended by itself, such as a container that was removed. It takes no more calls then; the sandbox goes
    /// on from what was saved last.
    fn is_gone(&self) -> bool {
        false
    }

    /// Whether its interpreters cannot be saved, so that they last only while it is awake. It is then left awake until it is
    /// stopped, and its runs cannot be undone.
    fn forgets(&self) -> bool {
        false
    }

    /// Whether something works on in it that no call waits for, so that its files may change at any time. It is then saved now and
    /// then, and stays this process's own. Default no.
    fn works_on(&self) -> bool {
        false
    }

    /// Notes that the variables of these guests are gone: the next run of each says so. Default: nothing is noted.
    fn lose(&mut self, guests: &[GuestName]) {
        let _ = guests;
    }
}

/// A sandbox's own files. Every path is absolute and checked; links never lead out of the tree.
#[async_trait]
pub trait Files: Send {
    /// The bytes of a file from `offset`, at most `most`.
    ///
    /// # Errors
    /// `not_found`, or `invalid_state` when it is no file.
    async fn read(&mut self, path: &GuestPath, offset: u64, most: u64) -> Result<Piece>;

    /// Replaces a file as a whole, or makes it and its folders.
    ///
    /// # Errors
    /// `limit_disk` when it does not fit; the file then is as it was.
    async fn write(&mut self, path: &GuestPath, bytes: &[u8]) -> Result<()>;

    /// Adds to the end of a file, or makes it and its folders. Answers the size that it has then. Neither reads nor holds
    /// what the file has already.
    ///
    /// # Errors
    /// As [`Files::write`]; `invalid_state` when it is no file.
    async fn append(&mut self, path: &GuestPath, bytes: &[u8]) -> Result<u64>;

    /// Replaces `old` by `new` in a file: the only place where it stands, or with `all` every one. Answers how many.
    ///
    /// # Errors
    /// `not_found`; `args_invalid` when `old` stands nowhere, or in several places without `all`.
    async fn edit(&mut self, path: &GuestPath, old: &str, new: &str, all: bool) -> Result<usize>;

    /// The entries below a folder, sorted by path, at most `most`, and how many there are in all.
    ///
    /// # Errors
    /// `not_found`.
    async fn list(&mut self, path: &GuestPath, recursive: bool, most: usize) -> Result<(Vec<Entry>, u64)>;

    /// Removes a file, a link or an empty folder; with `all` a folder with all that is in it. A link is not followed.
    ///
    /// # Errors
    /// `not_found`; `args_invalid` for a folder that is not empty.
    async fn remove(&mut self, path: &GuestPath, all: bool) -> Result<()>;

    /// Gives a file, a link or a folder another name, and makes the folders above that. With `replace` a file takes the place of a
    /// file or link, and a folder that of an empty folder.
    ///
    /// # Errors
    /// `not_found`; `args_invalid` when the new name is taken without `replace`, or what has it cannot give way.
    async fn rename(&mut self, path: &GuestPath, to: &GuestPath, replace: bool) -> Result<()>;

    /// Makes a folder and those above it.
    ///
    /// # Errors
    /// `limit_disk`; `invalid_state` when a file is in the way.
    async fn make_folder(&mut self, path: &GuestPath) -> Result<()>;

    /// One entry.
    ///
    /// # Errors
    /// `not_found`.
    async fn stat(&mut self, path: &GuestPath) -> Result<Entry>;
}

/// Notes the chunks that a saved state consists of, for those who look after the store.
pub type Reach<'a> = &'a dyn Fn(&SavedState, &mut Reached) -> Result<()>;
