//! The state of one interpreter: taken from an instance at rest, and given to one that has not run.

use dormouse_core::{Error, ErrorCode, Result};
use dormouse_files::{Handle, Held};

use crate::calls::DoorIndices;
use crate::instance::Instance;
use crate::ready::Ready;
use crate::saved::{Differences, SavedInterpreter, TOGETHER};
use crate::written;

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

fn indices(ready: &Ready) -> Result<&DoorIndices> {
    ready.loaded().doors.as_ref().ok_or_else(|| {
        Error::new(ErrorCode::CapabilityUnavailable, "this guest has no state doors")
            .with_hint("export the interface `state` of wit/state.wit")
    })
}
