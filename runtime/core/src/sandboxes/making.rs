//! Making a sandbox: whole, or not at all.
//!
//! One that begins with something, such as a repository, is in phase `creating` until it has it. It is made in a task of its own
//! under its lease, which finishes it or removes it; all who ask for it meanwhile wait for that and share what came of it, and
//! when nobody waits any more it is removed. What a process leaves that ends in the middle has a free lease: whoever needs its
//! name or its key removes it, and so does a sweep.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::Sandboxes;
use super::call::Call;
use super::commands::CommandLine;
use super::life::{Asked, View};
use crate::sandbox::{
    Created, Event, Executed, Handle, Owner, Phase, ProviderName, Sandbox, SandboxId, SandboxSpec,
};
use crate::{Error, ErrorCode, GuestName, Result};

/// How often it is looked whether another process has made a sandbox.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// What a new sandbox begins with.
#[derive(Clone)]
pub struct Beginning {
    /// What is run in it before anybody else may. It runs on wasm, which has the operator's programs, whoever runs the sandbox
    /// afterwards.
    pub line: CommandLine,
    /// Whether what came of it will do. An error is the answer, and there is no sandbox then.
    pub judge: fn(Executed) -> Result<()>,
}

/// The sandboxes that this process is making.
#[derive(Default)]
pub(super) struct Makings(Mutex<HashMap<SandboxId, Arc<Making>>>);

/// One of them.
struct Making {
    ended: watch::Sender<Option<End>>,
    callers: AtomicUsize,
    /// Cancelled when no caller waits any more.
    given_up: CancellationToken,
}

/// What came of it.
#[derive(Clone)]
enum End {
    Made(Box<Sandbox>),
    /// There was one with its key.
    There(Box<Sandbox>),
    Failed(Arc<Error>),
    /// Nobody waited for it.
    GivenUp,
}

impl Makings {
    fn all(&self) -> MutexGuard<'_, HashMap<SandboxId, Arc<Making>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of(&self, id: &SandboxId) -> Option<Arc<Making>> {
        self.all().get(id).cloned()
    }

    fn begin(&self, id: &SandboxId) -> Arc<Making> {
        let (callers, given_up) = (AtomicUsize::new(0), CancellationToken::new());
        let making = Arc::new(Making { ended: watch::Sender::new(None), callers, given_up });
        self.all().insert(id.clone(), making.clone());
        making
    }

    /// How many callers wait for the one that most wait for.
    #[cfg(test)]
    pub(super) fn callers(&self) -> usize {
        let callers = |making: &Arc<Making>| making.callers.load(Ordering::Acquire);
        self.all().values().map(callers).max().unwrap_or_default()
    }
}

/// One caller who waits.
struct Caller(Arc<Making>);

impl Caller {
    fn of(making: Arc<Making>) -> Self {
        making.callers.fetch_add(1, Ordering::AcqRel);
        Self(making)
    }

    async fn wait(&self) -> End {
        let mut ended = self.0.ended.subscribe();
        let end = ended.wait_for(Option::is_some).await.ok().and_then(|end| end.clone());
        end.unwrap_or(End::GivenUp)
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        if self.0.callers.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.given_up.cancel();
        }
    }
}

/// Tells all callers what came of it, also when the task that makes it crashes.
struct Tells {
    sandboxes: Sandboxes,
    id: SandboxId,
    making: Arc<Making>,
    end: End,
}

impl Drop for Tells {
    fn drop(&mut self) {
        self.sandboxes.inner.makings.all().remove(&self.id);
        self.making.ended.send_replace(Some(self.end.clone()));
    }
}

impl Sandboxes {
    /// Makes a sandbox, or finds the one with the session key, which is resumed if it is stopped. True: it is new.
    ///
    /// # Errors
    /// `args_invalid` for numbers outside the operator's, `name_taken`, `quota_exceeded`, `write_denied`;
    /// `provider_unavailable` for a provider that cannot be had where nothing may take its place. What keeps somebody else from
    /// making the one with the key, if that is being made.
    pub async fn create(&self, owner: &Owner, asked: Asked) -> Result<(View, bool)> {
        self.create_with(owner, asked, None).await
    }

    /// The same; a new one begins with something. It takes no calls before it has that. Dropping the future gives it up: it is
    /// removed, unless others wait for it.
    ///
    /// # Errors
    /// As [`Sandboxes::create`] and [`Sandboxes::exec`], and of the beginning. There is no sandbox then.
    pub async fn create_with(
        &self,
        owner: &Owner,
        asked: Asked,
        begins: Option<Beginning>,
    ) -> Result<(View, bool)> {
        let draft = self.draft(owner, asked).await?;
        loop {
            let end = match &begins {
                Some(begins) => self.begun(&draft, begins.clone()).wait().await,
                None => self.made_at_once(&draft).await?,
            };
            match end {
                End::Made(sandbox) => return Ok((self.view(*sandbox), true)),
                End::There(sandbox) => {
                    if let Some(view) = self.there(owner, *sandbox).await? {
                        return Ok((view, false));
                    }
                }
                End::Failed(error) if error.code() == ErrorCode::NameTaken => {
                    let there = self.inner.ledger.find(owner, &Handle::IdOrName(draft.name.as_str()));
                    let is_left = match there {
                        Ok(there) if there.phase == Phase::Creating => self.remove_left(&there).await?,
                        // It has gone meanwhile.
                        Err(error) => error.code() == ErrorCode::UnknownSandbox,
                        Ok(_) => false,
                    };
                    if !is_left {
                        return Err(own(error));
                    }
                }
                End::Failed(error) => return Err(own(error)),
                End::GivenUp => {}
            }
        }
    }

    async fn made_at_once(&self, draft: &Sandbox) -> Result<End> {
        let sandbox = Sandbox { phase: draft.phase.after(Event::Ready)?, ..draft.clone() };
        Ok(self.add(sandbox).await)
    }

    async fn add(&self, sandbox: Sandbox) -> End {
        let (ledger, quota) = (self.inner.ledger.clone(), self.inner.rules.quota);
        let created = tokio::task::spawn_blocking(move || ledger.create(&sandbox, &quota))
            .await
            .unwrap_or_else(|error| Err(Error::internal("the sandbox was not made", error)));
        match created {
            Ok(Created::New(sandbox)) => End::Made(Box::new(sandbox)),
            Ok(Created::Existing(sandbox)) => End::There(Box::new(sandbox)),
            Err(error) => End::Failed(Arc::new(error)),
        }
    }

    /// The sandbox that has the key. None: look again.
    async fn there(&self, owner: &Owner, sandbox: Sandbox) -> Result<Option<View>> {
        match sandbox.phase {
            Phase::Stopped => self.resume(owner, &Handle::IdOrName(sandbox.id.as_str())).await.map(Some),
            Phase::Creating => {
                if let Some(making) = self.inner.makings.of(&sandbox.id) {
                    return match Caller::of(making).wait().await {
                        End::Made(sandbox) => Ok(Some(self.view(*sandbox))),
                        End::Failed(error) => Err(own(error)),
                        End::There(_) | End::GivenUp => Ok(None),
                    };
                }
                // Another process is at it, or was.
                if !self.remove_left(&sandbox).await? {
                    tokio::time::sleep(LOOK_AGAIN).await;
                }
                Ok(None)
            }
            _ => Ok(Some(self.view(sandbox))),
        }
    }

    /// Removes what a process has left in the middle of making it, or waits until this one has, where nobody wants it any more.
    /// False: somebody is at it.
    pub(super) async fn remove_left(&self, sandbox: &Sandbox) -> Result<bool> {
        if let Some(making) = self.inner.makings.of(&sandbox.id) {
            let is_given_up = making.given_up.is_cancelled();
            if is_given_up {
                Caller::of(making).wait().await;
            }
            return Ok(is_given_up);
        }
        self.remove(sandbox.id.clone()).await
    }

    async fn remove(&self, id: SandboxId) -> Result<bool> {
        let ledger = self.inner.ledger.clone();
        let removed = tokio::task::spawn_blocking(move || {
            let Some(_lease) = ledger.lease(&id)? else { return Ok(false) };
            // It may have been finished meanwhile.
            match ledger.by_id(&id)? {
                Some(record) if record.phase == Phase::Creating => {
                    ledger.update(&Sandbox { phase: Phase::Destroyed, ..record }, None).map(|_| true)
                }
                _ => Ok(true),
            }
        });
        removed.await.map_err(|error| Error::internal("what was left was not removed", error))?
    }

    /// Begins to make a sandbox in a task of its own.
    fn begun(&self, draft: &Sandbox, begins: Beginning) -> Caller {
        let making = self.inner.makings.begin(&draft.id);
        let caller = Caller::of(making.clone());
        let crashed = Error::new(ErrorCode::Internal, "the sandbox was not made to its end");
        let end = End::Failed(Arc::new(crashed));
        let mut tells = Tells { sandboxes: self.clone(), id: draft.id.clone(), making, end };
        let draft = draft.clone();
        tokio::spawn(async move {
            let made = tells.sandboxes.make(draft, begins, &tells.making.given_up).await;
            tells.end = made.unwrap_or_else(|error| End::Failed(Arc::new(error)));
            if matches!(tells.end, End::Failed(_) | End::GivenUp) {
                tells.sandboxes.unmake(&tells.id).await;
            }
        });
        caller
    }

    /// Waits until what nobody wants any more has been removed.
    pub(super) async fn given_up_are_gone(&self) {
        let all: Vec<_> = self.inner.makings.all().values().cloned().collect();
        for making in all.into_iter().filter(|making| making.given_up.is_cancelled()) {
            Caller::of(making).wait().await;
        }
    }

    /// Removes what was begun. What cannot be removed now has a free lease, and is removed later.
    async fn unmake(&self, id: &SandboxId) {
        let resident = self.inner.residents().remove(id);
        if let Some(resident) = resident {
            let mut live = resident.live.lock().await;
            live.forget();
            live.lease = None;
        }
        if let Err(error) = self.remove(id.clone()).await {
            tracing::warn!(%error, sandbox = %id, "a sandbox that was not made stays");
        }
    }

    async fn make(&self, draft: Sandbox, begins: Beginning, given_up: &CancellationToken) -> Result<End> {
        let (owner, id) = (draft.owner.clone(), draft.id.clone());
        // Before the record is there, so that nobody comes between.
        let resident = self.inner.resident(&owner, &id);
        let mut live = resident.live.clone().lock_owned().await;
        let lease = self.inner.ledger.lease(&id)?;
        live.lease = Some(lease.ok_or_else(|| Error::new(ErrorCode::Internal, "a new id is taken"))?);
        let SandboxSpec { provider, memory, .. } = draft.spec;
        let added = self.add(on_wasm(draft, self.inner.rules.usual_memory(ProviderName::Wasm))).await;
        let End::Made(sandbox) = added else {
            self.inner.residents().remove(&id);
            return Ok(added);
        };
        live.generation = sandbox.generation;
        let mut call = self.enter(resident, live, (&owner, &id), Event::Ready).await?;
        let done = tokio::select! {
            biased;
            () = given_up.cancelled() => None,
            done = self.begin(&mut call, begins) => Some(done),
        };
        match done {
            Some(done) => done?,
            None => return Ok(End::GivenUp),
        }
        let finish = move |record: &mut Sandbox| {
            (record.phase, record.spec.provider, record.spec.memory) = (Phase::Running, provider, memory);
        };
        let mut call = call.save(finish).await?;
        if provider != ProviderName::Wasm {
            call.live.jobs.end();
            call.live.machine = None;
        }
        Ok(End::Made(Box::new(call.record.clone())))
    }

    /// Does what it begins with.
    async fn begin(&self, call: &mut Call, begins: Beginning) -> Result<()> {
        let owner = call.record.owner.clone();
        let further = begins.line.further.clone();
        let request = self.request(begins.line)?;
        let programs = self.programs(&owner, &request.context, further);
        let _place = call.admitted(&GuestName::Shell).await?;
        let run = call.run(|machine| machine.exec(request, programs));
        (begins.judge)(self.inner.admission.share(&owner, run).await?)
    }
}

/// As long as it is being made: containers have no network, wasm has the operator's programs.
fn on_wasm(mut sandbox: Sandbox, memory: u64) -> Sandbox {
    if sandbox.spec.provider != ProviderName::Wasm {
        sandbox.spec.provider = ProviderName::Wasm;
        sandbox.spec.memory = sandbox.spec.memory.min(memory);
    }
    sandbox
}

/// The error for one of those who wait.
fn own(error: Arc<Error>) -> Error {
    Arc::try_unwrap(error).unwrap_or_else(|error| {
        let same = Error::new(error.code(), error.message());
        match error.hint() {
            Some(hint) => same.with_hint(hint),
            None => same,
        }
    })
}
