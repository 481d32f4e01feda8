//! A sandbox with a life, for embedders: made, used, saved, forked, woken.

use std::sync::Arc;

use dormouse_core::sandbox::{
    Checkpoint, Executed, Handle, Include, Name, Owner, Run, RunLimits, SandboxId, StopReason,
};
use dormouse_core::sandboxes::{Asked, CommandLine, Job, Step, View};
use dormouse_core::{Error, ErrorCode, EvalRequest, GuestPath, Language, Outcome, Result, Sandboxes};

use crate::Dormouse;

/// One sandbox. Variables, imports and files last from call to call, and over the end of the program. Cheap to clone;
/// calls come one at a time, in order.
#[derive(Clone)]
pub struct PersistentSandbox {
    sandboxes: Sandboxes,
    owner: Owner,
    id: SandboxId,
}

impl Dormouse {
    /// The sandboxes with a life.
    ///
    /// # Errors
    /// `capability_unavailable` when no state folder was named: see [`Builder::state`](crate::Builder::state).
    pub fn sandboxes(&self) -> Result<&Sandboxes> {
        self.runtime().sandboxes().ok_or_else(|| {
            Error::new(ErrorCode::CapabilityUnavailable, "sandboxes are not kept: there is no state folder")
                .with_hint("name one with Builder::state")
        })
    }

    /// The local owner's sandbox of that name, made if it is not there.
    ///
    /// # Errors
    /// As [`Dormouse::sandboxes`] and [`Sandboxes::create`]; `args_invalid` for the name.
    pub async fn sandbox(&self, name: &str) -> Result<PersistentSandbox> {
        let (sandboxes, owner) = (self.sandboxes()?, Owner::local());
        let found = match sandboxes.get(&owner, &Handle::IdOrName(name)) {
            Err(error) if error.code() == ErrorCode::UnknownSandbox => {
                let asked = Asked { name: Some(Name::parse(name)?), ..Asked::default() };
                sandboxes.create(&owner, asked).await?.0
            }
            found => found?,
        };
        Ok(PersistentSandbox::of(sandboxes, owner, found))
    }
}

impl PersistentSandbox {
    fn of(sandboxes: &Sandboxes, owner: Owner, view: View) -> Self {
        Self { sandboxes: sandboxes.clone(), owner, id: view.sandbox.id }
    }

    fn handle(&self) -> Handle<'_> {
        Handle::IdOrName(self.id.as_str())
    }

    /// Its id.
    pub fn id(&self) -> &SandboxId {
        &self.id
    }

    /// What is known of it.
    ///
    /// # Errors
    /// `unknown_sandbox` once it is destroyed; this goes for every call.
    pub fn view(&self) -> Result<View> {
        self.sandboxes.get(&self.owner, &self.handle())
    }

    /// Runs a command line with default limits; what it writes, and its exit status, are in the answer's outcome.
    ///
    /// # Errors
    /// As [`Sandboxes::exec`].
    pub async fn exec(&self, line: impl Into<String>) -> Result<Executed> {
        self.exec_line(CommandLine::new(line)).await
    }

    /// Runs a command line.
    ///
    /// # Errors
    /// As [`Sandboxes::exec`].
    pub async fn exec_line(&self, line: CommandLine) -> Result<Executed> {
        Ok(self.sandboxes.exec(&self.owner, &self.handle(), line).await?.1)
    }

    /// Starts a program that goes on when nobody waits for it: [`Sandboxes::start_run`]. Its tools are those of
    /// [`Sandboxes::serve_runs`].
    ///
    /// # Errors
    /// As [`Sandboxes::start_run`].
    pub async fn start_run(&self, request: EvalRequest, limits: RunLimits) -> Result<Run> {
        self.sandboxes.start_run(&self.owner, &self.handle(), request, limits).await
    }

    /// Starts a command line that runs beside the sandbox's calls.
    ///
    /// # Errors
    /// As [`Sandboxes::start_job`].
    pub async fn start_job(&self, line: CommandLine) -> Result<Arc<Job>> {
        Ok(self.sandboxes.start_job(&self.owner, &self.handle(), line).await?.1)
    }

    /// Runs a snippet with default limits.
    ///
    /// # Errors
    /// As [`Sandboxes::eval`].
    pub async fn eval(&self, language: &str, code: impl Into<String>) -> Result<Outcome> {
        self.run(EvalRequest::new(Language::parse(language)?, code)).await
    }

    /// Runs a snippet. Its grants are the sandbox's own; standard input is the request's.
    ///
    /// # Errors
    /// As [`Sandboxes::eval`].
    pub async fn run(&self, request: EvalRequest) -> Result<Outcome> {
        Ok(self.sandboxes.eval(&self.owner, &self.handle(), request).await?.1)
    }

    /// The bytes of a file.
    ///
    /// # Errors
    /// As [`Sandboxes::read`].
    pub async fn read(&self, path: &str) -> Result<Vec<u8>> {
        let path = GuestPath::parse(path)?;
        Ok(self.sandboxes.read(&self.owner, &self.handle(), path, 0, u64::MAX).await?.bytes)
    }

    /// Replaces a file, or makes it and its folders.
    ///
    /// # Errors
    /// As [`Sandboxes::write`].
    pub async fn write(&self, path: &str, bytes: impl Into<Vec<u8>>) -> Result<()> {
        let path = GuestPath::parse(path)?;
        self.sandboxes.write(&self.owner, &self.handle(), path, bytes.into()).await
    }

    /// Saves its interpreters and files.
    ///
    /// # Errors
    /// As [`Sandboxes::checkpoint`].
    pub async fn checkpoint(&self) -> Result<Checkpoint> {
        Ok(self.sandboxes.checkpoint(&self.owner, &self.handle(), None, Include::Both).await?.0)
    }

    /// Goes back to a checkpoint.
    ///
    /// # Errors
    /// As [`Sandboxes::restore`].
    pub async fn restore(&self, checkpoint: &Checkpoint) -> Result<()> {
        self.sandboxes.restore(&self.owner, &self.handle(), checkpoint.label.id.as_str()).await.map(drop)
    }

    /// The last runs that can be undone, oldest first.
    ///
    /// # Errors
    /// As [`Sandboxes::history`].
    pub async fn history(&self) -> Result<Vec<Step>> {
        self.sandboxes.history(&self.owner, &self.handle()).await
    }

    /// Goes back to before a step of the history.
    ///
    /// # Errors
    /// As [`Sandboxes::go_back`].
    pub async fn go_back(&self, step: &Step) -> Result<()> {
        self.sandboxes.go_back(&self.owner, &self.handle(), &step.id).await.map(drop)
    }

    /// Sandboxes that begin where this one is.
    ///
    /// # Errors
    /// As [`Sandboxes::fork`].
    pub async fn fork(&self, count: usize) -> Result<Vec<Self>> {
        let forks = self.sandboxes.fork(&self.owner, &self.handle(), count, None).await?;
        Ok(forks.into_iter().map(|view| Self::of(&self.sandboxes, self.owner.clone(), view)).collect())
    }

    /// Saves it and lets go of it; the next call wakes it, in this program or another.
    ///
    /// # Errors
    /// As [`Sandboxes::stop`].
    pub async fn stop(&self) -> Result<()> {
        self.sandboxes.stop(&self.owner, &self.handle(), StopReason::User).await.map(drop)
    }

    /// Ends it for good.
    ///
    /// # Errors
    /// As [`Sandboxes::destroy`].
    pub async fn destroy(self) -> Result<()> {
        self.sandboxes.destroy(&self.owner, &self.handle()).await.map(drop)
    }
}
