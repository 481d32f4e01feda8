//! A kept instance: variables, functions and imports last from one call to the next.

use std::sync::Arc;
use std::time::Instant;

use dormouse_core::{
    CallAnswer, Error, ErrorCode, EvalRequest, GuestName, LineRequest, Outcome, Progress, Result, Status,
};

use crate::checkpoint;
use crate::clock::Monotonic;
use crate::disk::OwnFiles;
use crate::engine::Metering;
use crate::instance::Instance;
use crate::plain;
use crate::provider::WasmProvider;
use crate::ready::Ready;
use crate::saved::SavedInterpreter;
use crate::task::Task;

/// A live interpreter. The grants of its first call hold for its life; limits are each call's own.
pub struct Session {
    ready: Arc<Ready>,
    instance: Instance,
    clock: Monotonic,
    lost: bool,
}

impl WasmProvider {
    /// A new session on the guest of `language`.
    ///
    /// # Errors
    /// As [`Provider::eval`](dormouse_core::Provider::eval).
    pub async fn session(&self, guest: impl Into<GuestName>) -> Result<Session> {
        let ready = self.loader().ready(&guest.into(), Metering::Epoch).await?;
        Session::new(ready).await
    }

    /// A session that goes on where a checkpoint was taken, perhaps by another process.
    ///
    /// # Errors
    /// `guest_mismatch` when the checkpoint belongs to a build of the guest that is not here.
    pub async fn restore(&self, checkpoint: &SavedInterpreter) -> Result<Session> {
        let ready = match self.loader().ready_of(&checkpoint.language, &checkpoint.guest).await {
            // The current one says that it is another.
            Err(error) if error.code() == ErrorCode::GuestMissing => {
                self.loader().ready(&checkpoint.language, Metering::Epoch).await?
            }
            ready => ready?,
        };
        let mut session = Session::new(ready).await?;
        checkpoint::restore(&session.ready, &mut session.instance, checkpoint).await?;
        Ok(session)
    }

    /// Runs one more snippet in a session.
    ///
    /// # Errors
    /// `guest_trap` when an earlier call ended the session.
    pub async fn continue_session(&self, session: &mut Session, request: &EvalRequest) -> Result<Outcome> {
        self.run_in(session, &request.clone().into()).await
    }

    /// Runs one more command line in a session of the shell.
    ///
    /// # Errors
    /// As [`WasmProvider::continue_session`].
    pub async fn continue_line(&self, session: &mut Session, request: &LineRequest) -> Result<Outcome> {
        self.run_in(session, &request.clone().into()).await
    }

    /// Begins a program in a session: runs it until it ends or waits. While it waits the session can be saved
    /// ([`WasmProvider::checkpoint`]), and the program goes on in one that is restored from that.
    ///
    /// # Errors
    /// As [`WasmProvider::continue_session`].
    pub async fn start(&self, session: &mut Session, request: &EvalRequest) -> Result<Progress> {
        session.alive()?;
        session.lost = true;
        let task = request.clone().into();
        if let Some(refused) = self.look(session, &task).await? {
            return Ok(Progress::Ended(refused.into()));
        }
        let progress = session.instance.start(&task, &OwnFiles::Fresh).await?;
        session.lost = progress.is_stopped();
        Ok(progress)
    }

    /// Goes on with the program that waits in a session. Of the request only what the program runs with counts. Without answers its
    /// time is over.
    ///
    /// # Errors
    /// As [`WasmProvider::continue_session`]; `capability_unavailable` when the language's programs cannot wait.
    pub async fn resume(
        &self,
        session: &mut Session,
        request: &EvalRequest,
        answers: Vec<CallAnswer>,
    ) -> Result<Progress> {
        session.alive()?;
        session.lost = true;
        let progress = session.instance.resume(&request.clone().into(), answers, &OwnFiles::Fresh).await?;
        session.lost = progress.is_stopped();
        Ok(progress)
    }

    async fn run_in(&self, session: &mut Session, task: &Task) -> Result<Outcome> {
        session.alive()?;
        // Until the call has ended well, the session counts as lost: the future may be dropped at any await.
        session.lost = true;
        if let Some(refused) = self.look(session, task).await? {
            return Ok(refused);
        }
        let outcome = session.instance.run(task, Instant::now(), &OwnFiles::Fresh).await?;
        session.lost = matches!(outcome.status, Status::Stopped(_));
        Ok(outcome)
    }

    /// How a program ends that has wrong calls of tools; the session goes on, if looking for them has not ended it.
    async fn look(&self, session: &mut Session, task: &Task) -> Result<Option<Outcome>> {
        let looking = (self.transpilers(), Metering::Epoch);
        let refused = plain::refused(looking, (task, None), &mut session.instance, &OwnFiles::Fresh).await?;
        session.lost &= refused.is_none() || !session.instance.is_whole();
        Ok(refused)
    }

    /// Saves a session. It can go on afterwards. Its own files are no part of what is saved: those that it has open are closed in
    /// a session that goes on from there.
    ///
    /// # Errors
    /// `guest_trap` when an earlier call ended the session; `limit_time`, `guest_trap` when it does not come to rest, which ends it;
    /// `capability_unavailable` when the guest has no state doors.
    pub async fn checkpoint(&self, session: &mut Session) -> Result<SavedInterpreter> {
        session.alive()?;
        let saved = checkpoint::save(&session.ready, &mut session.instance, None).await;
        session.lost = !session.instance.is_whole();
        saved
    }
}

impl Session {
    async fn new(ready: Arc<Ready>) -> Result<Self> {
        let (mut instance, clock) = (ready.lasting().await?, Monotonic::default());
        instance.keep_time(&clock);
        Ok(Self { ready, instance, clock, lost: false })
    }

    /// What its monotonic clock shows, in nanoseconds: how long it has lived, unless it was put forward.
    pub fn time(&self) -> u64 {
        self.clock.now()
    }

    /// From now on that clock shows no less than this, in nanoseconds. For a session that goes on where another one was saved.
    pub fn reach_time(&self, shown: u64) {
        self.clock.reach(shown);
    }

    fn alive(&self) -> Result<()> {
        if !self.lost {
            return Ok(());
        }
        Err(Error::new(ErrorCode::GuestTrap, "the session is gone: an earlier call was stopped")
            .with_hint("open a new session, or restore its last checkpoint"))
    }
}
