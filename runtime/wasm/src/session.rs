//! A kept instance: variables, functions and imports last from one call to the next.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dormouse_core::{Error, ErrorCode, EvalRequest, Language, Outcome, Result, Status};

use crate::disk::OwnFiles;
use crate::doors::Doors;
use crate::engine::Metering;
use crate::instance::Instance;
use crate::provider::WasmProvider;
use crate::ready::Ready;
use crate::saved::SavedInterpreter;
use crate::written;

/// Time for the state doors of one instance to answer.
const DOOR_TIME: Duration = Duration::from_secs(60);

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
    pub async fn session(&self, language: &Language) -> Result<Session> {
        let ready = self.ready(language, Metering::Epoch).await?;
        let instance = ready.lasting().await?;
        Ok(Session { ready, instance, lost: false })
    }

    /// A session that goes on where a checkpoint was taken, perhaps by another process.
    ///
    /// # Errors
    /// `guest_mismatch` when the checkpoint belongs to another build of the guest.
    pub async fn restore(&self, checkpoint: &SavedInterpreter) -> Result<Session> {
        let mut session = self.session(&checkpoint.language).await?;
        restore(&session.ready, &mut session.instance, checkpoint).await?;
        Ok(session)
    }

    /// Runs one more snippet in a session.
    ///
    /// # Errors
    /// `guest_trap` when an earlier call ended the session.
    pub async fn continue_session(&self, session: &mut Session, request: &EvalRequest) -> Result<Outcome> {
        session.alive()?;
        let _running = session.ready.loaded().slot.ticker.running();
        // Until the call has ended well, the session counts as lost: the future may be dropped at any await.
        session.lost = true;
        let outcome = session.instance.run(request, Instant::now(), &OwnFiles::Fresh).await?;
        session.lost = matches!(outcome.status, Status::Stopped(_));
        Ok(outcome)
    }

    /// Saves a session. It can go on afterwards, but for its open files, which are closed.
    ///
    /// # Errors
    /// `guest_trap` when an earlier call ended the session; `capability_unavailable` when the guest has no state doors.
    pub async fn checkpoint(&self, session: &mut Session) -> Result<SavedInterpreter> {
        session.alive()?;
        save(&session.ready, &mut session.instance, None).await
    }
}

/// Saves an instance at rest. It can go on afterwards, but for its open files, which are closed. What is the same in
/// the state `before` is shared with it.
pub(crate) async fn save(
    ready: &Ready,
    instance: &mut Instance,
    before: Option<&SavedInterpreter>,
) -> Result<SavedInterpreter> {
    let doors = open(ready, instance)?;
    // Without its grants it has nothing open; asked for it, it would take what it sees now, nothing, for all it will ever have.
    let is_granted = instance.is_granted();
    let (store, _) = instance.parts();
    let closed = if is_granted { doors.quiesce(store).await? } else { Vec::new() };
    let stack_pointer = doors.stack_pointer(store).await?;
    let memory = doors.memory(store).await?;
    let mut base = ready.base().await?;
    let base_doors = open(ready, &mut base)?;
    let (base_store, _) = base.parts();
    let image = base_doors.memory(base_store).await?;
    let loaded = ready.loaded();
    Ok(SavedInterpreter {
        language: loaded.language.clone(),
        guest: loaded.hash.clone(),
        stack_pointer,
        memory: memory.len() as u64,
        pages: SavedInterpreter::diff(memory, image, written::pages(memory), before),
        closed,
    })
}

/// Refuses state that belongs to another guest than this one.
///
/// # Errors
/// `guest_mismatch`.
pub(crate) fn check_guest(ready: &Ready, guest: &str) -> Result<()> {
    if ready.loaded().hash == guest {
        return Ok(());
    }
    Err(Error::new(
        ErrorCode::GuestMismatch,
        format!("the checkpoint belongs to another build of the {} guest", ready.loaded().language),
    )
    .with_hint("restore it with the guest that made it"))
}

/// Gives an instance that has not run the state of a checkpoint.
pub(crate) async fn restore(
    ready: &Ready,
    instance: &mut Instance,
    checkpoint: &SavedInterpreter,
) -> Result<()> {
    check_guest(ready, &checkpoint.guest)?;
    let doors = open(ready, instance)?;
    let (store, _) = instance.parts();
    if doors.stack_pointer(store).await? != checkpoint.stack_pointer {
        return Err(Error::new(ErrorCode::Internal, "the checkpoint was taken in the middle of a call"));
    }
    let memory = usize::try_from(checkpoint.memory)
        .map_err(|error| Error::internal("more memory than fits", error))?;
    doors.grow_to(store, memory).await?;
    doors.apply(store, &checkpoint.pages).await
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

fn open(ready: &Ready, instance: &mut Instance) -> Result<Doors> {
    let indices = ready.loaded().doors.as_ref().ok_or_else(|| {
        Error::new(ErrorCode::CapabilityUnavailable, "this guest has no state doors")
            .with_hint("export the interface `state` of wit/state.wit")
    })?;
    let (store, raw) = instance.parts();
    let raw = *raw;
    // The deadline of the last run has passed long ago; the next run sets it anew.
    store.data_mut().run_until(Instant::now() + DOOR_TIME);
    indices.open(store, &raw)
}
