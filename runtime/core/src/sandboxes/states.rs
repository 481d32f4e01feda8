//! Checkpoints: made, listed, restored, forked from.

use std::sync::Arc;

use super::Sandboxes;
use super::life::View;
use crate::sandbox::{
    Checkpoint, CheckpointId, Event, Handle, Include, Name, NewCheckpoint, Owner, Phase, Sandbox, SandboxId,
    Snapshot,
};
use crate::{Error, ErrorCode, Result};

/// Forks made by one call at most.
pub(super) const MAX_FORKS: usize = 1_000;

impl Sandboxes {
    /// Saves the sandbox's state under an id. What has returned lasts. Files that are open in interpreters are closed;
    /// their names come back with it.
    ///
    /// # Errors
    /// `unknown_sandbox`, `invalid_state`, `quota_exceeded`, and what keeps it from being saved.
    pub async fn checkpoint(
        &self,
        owner: &Owner,
        handle: &Handle<'_>,
        name: Option<Name>,
        include: Include,
    ) -> Result<(Checkpoint, Vec<String>)> {
        let mut visit = self.visit(owner, handle).await?;
        let state = visit.run(|machine| machine.snapshot(include)).await?;
        // Interpreters that cannot be saved are not in it, and it does not say so either.
        let forgets = visit.machine().await?.forgets();
        let include = if forgets && include == Include::Both { Include::Files } else { include };
        let label = NewCheckpoint {
            id: CheckpointId::random()?,
            sandbox: visit.record.id.clone(),
            name,
            include,
            created_at: self.inner.clock.now(),
        };
        let closed = state.closed_files();
        let (ledger, quota) = (self.inner.ledger.clone(), self.inner.rules.quota);
        let save = move || {
            // The next call comes after it, also when nobody waits for it any more.
            let _visit = visit;
            ledger.add_checkpoint(&label, state.as_ref(), &quota)
        };
        let saved = tokio::task::spawn_blocking(save)
            .await
            .map_err(|error| Error::internal("saving did not end", error))??;
        Ok((saved, closed))
    }

    /// The checkpoints of a sandbox, oldest first.
    ///
    /// # Errors
    /// `unknown_sandbox`.
    pub fn checkpoints(&self, owner: &Owner, handle: &Handle<'_>) -> Result<Vec<Checkpoint>> {
        self.inner.ledger.checkpoints(&self.find(owner, handle)?.id)
    }

    /// Puts a sandbox back to one of its checkpoints, by its id or its name; of one name the latest. Later changes are gone.
    ///
    /// # Errors
    /// `unknown_sandbox`, `unknown_checkpoint`, `checkpoint_of_other_sandbox`, `state_damaged`, `guest_mismatch`; the
    /// sandbox then is as it was.
    pub async fn restore(
        &self,
        owner: &Owner,
        handle: &Handle<'_>,
        checkpoint: &str,
    ) -> Result<(Sandbox, Checkpoint)> {
        let record = self.find(owner, handle)?;
        let checkpoint = self.known(owner, &record, checkpoint)?;
        if checkpoint.label.sandbox != record.id {
            return Err(Error::new(
                ErrorCode::CheckpointOfOtherSandbox,
                format!("the checkpoint `{}` belongs to another sandbox", checkpoint.label.id),
            )
            .with_hint("fork it from the checkpoint instead"));
        }
        let state = self.load(&checkpoint)?;
        let visit = self.visit_record(record, Event::Call).await?;
        let visit = visit.restore(state, checkpoint.label.include).await?;
        Ok((visit.record.clone(), checkpoint))
    }

    /// Removes a checkpoint.
    ///
    /// # Errors
    /// `unknown_checkpoint`.
    pub fn remove_checkpoint(&self, owner: &Owner, checkpoint: &str) -> Result<()> {
        self.inner.ledger.remove_checkpoint(&self.by_id(owner, checkpoint)?.label.id)
    }

    /// New sandboxes that begin where this one is, or where one of its checkpoints was. They share what they do not change.
    ///
    /// # Errors
    /// As [`Sandboxes::create`] and [`Sandboxes::checkpoint`]; `args_invalid` for a count that is not 1 to 1 000. None is
    /// made then.
    pub async fn fork(
        &self,
        owner: &Owner,
        handle: &Handle<'_>,
        count: usize,
        checkpoint: Option<&str>,
    ) -> Result<Vec<View>> {
        if !(1..=MAX_FORKS).contains(&count) {
            return Err(Error::args_invalid(format!("`count` is {count}, not 1 to {MAX_FORKS}")));
        }
        let (origin, state, saved, visit) = match checkpoint {
            Some(id) => {
                let record = self.find(owner, handle)?;
                let checkpoint = self.known(owner, &record, id)?;
                (record, self.load(&checkpoint)?, Some(checkpoint.state), None)
            }
            None => {
                let mut visit = self.visit(owner, handle).await?;
                // Waking it makes a state where there is none.
                visit.machine().await?;
                let visit = visit.save(|_| {}).await?;
                let state = visit
                    .live
                    .asleep
                    .clone()
                    .ok_or_else(|| Error::new(ErrorCode::Internal, "the sandbox has no state to fork"))?;
                (visit.record.clone(), state, visit.record.state, Some(visit))
            }
        };
        let forks = (0..count).map(|_| self.forked(&origin, saved)).collect::<Result<Vec<_>>>()?;
        let (ledger, quota) = (self.inner.ledger.clone(), self.inner.rules.quota);
        let make = move || {
            let _visit = visit;
            ledger.create_all(&forks, &quota).map(|()| forks)
        };
        let forks = tokio::task::spawn_blocking(make)
            .await
            .map_err(|error| Error::internal("the forks were not made", error))??;
        for fork in &forks {
            let seat = self.inner.seat(&fork.owner, &fork.id);
            if let Ok(mut live) = seat.live.try_lock() {
                (live.asleep, live.generation) = (Some(state.clone()), fork.generation);
                live.called_at = self.inner.clock.now();
            };
        }
        Ok(forks.into_iter().map(|fork| self.view(fork)).collect())
    }

    fn forked(&self, origin: &Sandbox, state: Option<crate::sandbox::SavedState>) -> Result<Sandbox> {
        let id = SandboxId::random()?;
        let now = self.inner.clock.now();
        Ok(Sandbox {
            name: Name::parse(&format!("fork-{}", &id.as_str()[SandboxId::PREFIX.len()..][..12]))?,
            id,
            session_key: None,
            phase: Phase::Running,
            stop_reason: None,
            state,
            generation: 1,
            created_at: now,
            last_activity_at: now,
            stopped_at: None,
            used: true,
            ..origin.clone()
        })
    }

    /// The owner's checkpoint of that id, or the sandbox's latest one of that name.
    fn known(&self, owner: &Owner, record: &Sandbox, text: &str) -> Result<Checkpoint> {
        if CheckpointId::parse(text).is_some() {
            return self.by_id(owner, text);
        }
        let is_named =
            |found: &Checkpoint| found.label.name.as_ref().is_some_and(|name| name.as_str() == text);
        let all = self.inner.ledger.checkpoints(&record.id)?;
        all.into_iter().rfind(is_named).ok_or_else(|| unknown_checkpoint(text))
    }

    fn by_id(&self, owner: &Owner, text: &str) -> Result<Checkpoint> {
        let id = CheckpointId::parse(text).ok_or_else(|| unknown_checkpoint(text))?;
        self.inner.ledger.checkpoint(owner, &id)
    }

    fn load(&self, checkpoint: &Checkpoint) -> Result<Arc<dyn Snapshot>> {
        self.inner.load(&checkpoint.state)
    }
}

fn unknown_checkpoint(text: &str) -> Error {
    let shown: String = text.escape_debug().take(64).collect();
    Error::new(ErrorCode::UnknownCheckpoint, format!("there is no checkpoint `{shown}`"))
        .with_hint("sandbox_list_checkpoints names those that there are")
}
