//! A kept instance: variables, functions and imports last from one call to the next.

use std::sync::Arc;
use std::time::Instant;

use dormouse_core::{Error, ErrorCode, EvalRequest, GuestName, LineRequest, Outcome, Result, Status};

use crate::checkpoint;
use crate::disk::OwnFiles;
use crate::engine::Metering;
use crate::instance::Instance;
use crate::provider::WasmProvider;
use crate::ready::Ready;
use crate::saved::SavedInterpreter;
use crate::task::Task;

/// A live interpreter. The grants of its first call hold for its life; limits are each call's own.
pub struct Session {
    ready: Arc<Ready>,
    instance: Instance,
    lost: bool,
}

impl WasmProvider {
    /// A new session on the guest of `language`.
    ///
    /// # Errors
    /// As [`Provider::eval`](dormouse_core::Provider::eval).
    pub async fn session(&self, guest: impl Into<GuestName>) -> Result<Session> {
        let ready = self.loader().ready(&guest.into(), Metering::Epoch).await?;
        let instance = ready.lasting().await?;
        Ok(Session { ready, instance, lost: false })
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
        let instance = ready.lasting().await?;
        let mut session = Session { ready, instance, lost: false };
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

    async fn run_in(&self, session: &mut Session, task: &Task) -> Result<Outcome> {
        session.alive()?;
        // Until the call has ended well, the session counts as lost: the future may be dropped at any await.
        session.lost = true;
        let outcome = session.instance.run(task, Instant::now(), &OwnFiles::Fresh).await?;
        session.lost = matches!(outcome.status, Status::Stopped(_));
        Ok(outcome)
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
    fn alive(&self) -> Result<()> {
        if !self.lost {
            return Ok(());
        }
        Err(Error::new(ErrorCode::GuestTrap, "the session is gone: an earlier call was stopped")
            .with_hint("open a new session, or restore its last checkpoint"))
    }
}
