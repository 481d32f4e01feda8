//! A sandbox goes to the current guests: its files stay, and of its variables comes over what can be carried.
//!
//! It is done with a copy, and the sandbox is put to what came of that in one step, so that it is as it was until the new state has been
//! saved. A checkpoint of before is made first.

use super::Sandboxes;
use crate::sandbox::{Checkpoint, Handle, Include, Migrated, Name, Owner};
use crate::{Limits, Result};

/// The name of the checkpoint.
const BEFORE: &str = "before-migration";

impl Sandboxes {
    /// Says what would come over if the sandbox went to the current guests, and changes nothing. The export runs, with a copy: a value can
    /// run code of its own when it is read. `memory`: as in [`crate::sandbox::Machine::migrate`].
    ///
    /// # Errors
    /// As [`Sandboxes::eval`].
    pub async fn try_migration(
        &self,
        owner: &Owner,
        handle: &Handle<'_>,
        limits: Limits,
        memory: Option<&str>,
    ) -> Result<Vec<Migrated>> {
        let mut call = self.begin_to_look(owner, handle).await?;
        let state = call.run(|machine| machine.snapshot(Include::Both)).await?;
        let (mut copy, _) = self.inner.wake(&call.record, Some(state)).await?;
        copy.migrate(&limits, memory).await
    }

    /// Brings a sandbox to the current guests. Answers what came over, and the checkpoint of before. What has returned lasts; when it
    /// fails or is interrupted the sandbox is as it was. `memory`: as in [`crate::sandbox::Machine::migrate`].
    ///
    /// # Errors
    /// As [`Sandboxes::checkpoint`] and [`Sandboxes::eval`].
    pub async fn migrate(
        &self,
        owner: &Owner,
        handle: &Handle<'_>,
        limits: Limits,
        memory: Option<&str>,
    ) -> Result<(Vec<Migrated>, Checkpoint)> {
        let name = Name::parse(BEFORE)?;
        let (before, _) = self.checkpoint(owner, handle, Some(name), Include::Both).await?;
        let mut call = self.begin_call(owner, handle).await?;
        let state = call.run(|machine| machine.snapshot(Include::Both)).await?;
        let (mut copy, _) = self.inner.wake(&call.record, Some(state)).await?;
        let migrated = copy.migrate(&limits, memory).await?;
        let state = copy.snapshot(Include::Both).await?;
        drop(copy);
        call.restore(state, Include::Both).await?;
        Ok((migrated, before))
    }
}
