//! A kept instance: variables, functions and imports last from one call to the next.

use std::sync::Arc;
use std::time::Instant;

use dormouse_core::{Error, ErrorCode, EvalRequest, Language, Outcome, Result, Status};
use dormouse_files::{Handle, Held};

use crate::disk::OwnFiles;
use crate::doors::DoorIndices;
use crate::engine::Metering;
use crate::instance::Instance;
use crate::provider::WasmProvider;
use crate::ready::Ready;
use crate::saved::{Differences, SavedInterpreter, TOGETHER};
use crate::written;

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
        // Until the call has ended well, the session counts as lost: the future may be dropped at any await.
        session.lost = true;
        let outcome = session.instance.run(request, Instant::now(), &OwnFiles::Fresh).await?;
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
        let saved = save(&session.ready, &mut session.instance, None).await;
        session.lost = !session.instance.is_whole();
        saved
    }
}

/// Saves an instance at rest. It can go on afterwards. What is the same in the state `before` is shared with it. Who restores
/// it keeps what it holds open, and offers that to the new instance ([`Instance::offer_files`]).
///
/// # Errors
/// `limit_time`, `guest_trap` when the guest does not come to rest: the instance is not whole then. What keeps the guest's image
/// from being looked at: the instance can go on then.
pub(crate) async fn save(
    ready: &Ready,
    instance: &mut Instance,
    before: Option<&SavedInterpreter>,
) -> Result<SavedInterpreter> {
    let indices = indices(ready)?;
    // First, so that where there is no place for it nothing is begun. It is not held while the guest may take its time.
    drop(ready.base().await?);
    let may_hold = instance.may_hold_files();
    let keeps = instance.keeps_files();
    let held: Vec<Held> = instance.held().iter().map(Handle::held).collect();
    let mut doors = instance.doors(indices);
    let open = if may_hold { doors.quiesce().await? } else { Vec::new() };
    let stack_pointer = doors.stack_pointer().await?;
    let memory = doors.into_memory().await?;
    let mut differences = Differences::beside(before);
    for candidates in written::pages(memory).chunks(TOGETHER) {
        // The image is had for one piece at a time, so that a large memory holds no small one up.
        let mut base = ready.base().await?;
        let image = base.doors(indices).into_memory().await?;
        differences.add(memory, image, candidates);
        drop(base);
        tokio::task::yield_now().await;
    }
    let loaded = ready.loaded();
    Ok(SavedInterpreter {
        language: loaded.language.clone(),
        guest: loaded.hash.clone(),
        stack_pointer,
        memory: memory.len() as u64,
        pages: differences.into_pages(),
        // Files that go with their instance cannot be opened again.
        closed: if keeps { Vec::new() } else { open },
        held: if keeps { held } else { Vec::new() },
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
    let mut doors = instance.doors(indices(ready)?);
    if doors.stack_pointer().await? != checkpoint.stack_pointer {
        return Err(Error::new(ErrorCode::Internal, "the checkpoint was taken in the middle of a call"));
    }
    let memory = usize::try_from(checkpoint.memory)
        .map_err(|error| Error::internal("more memory than fits", error))?;
    doors.grow_to(memory).await?;
    for (count, pages) in checkpoint.pages.chunks(TOGETHER).enumerate() {
        if count > 0 {
            tokio::task::yield_now().await;
        }
        doors.apply(pages).await?;
    }
    Ok(())
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

fn indices(ready: &Ready) -> Result<&DoorIndices> {
    ready.loaded().doors.as_ref().ok_or_else(|| {
        Error::new(ErrorCode::CapabilityUnavailable, "this guest has no state doors")
            .with_hint("export the interface `state` of wit/state.wit")
    })
}
