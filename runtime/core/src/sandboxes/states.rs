//! Checkpoints: made, listed, restored, forked from.

use std::sync::Arc;

use super::Sandboxes;
use super::growth::PATIENCE;
use super::history::Step;
use super::life::View;
use super::unopened::is_damage;
use super::unsaved::Saves;
use crate::sandbox::{
    Checkpoint, CheckpointId, ChunkId, Description, Event, Handle, Include, Name, NewCheckpoint, Owner,
    Phase, Sandbox, SandboxId, SavedState, Snapshot,
};
use crate::{Error, ErrorCode, Result};

/// Forks made by one call at most.
pub(super) const MAX_FORKS: usize = 1_000;

impl Sandboxes {
    /// Saves the sandbox's state under an id, and the sandbox with it. What has returned lasts. With it come
    /// the files that are open in an interpreter and are no part of it, which is none of a provider that keeps them open.
    ///
    /// # Errors
    /// `unknown_sandbox`, `invalid_state`, `quota_exceeded`, and what keeps it from being saved; `args_invalid` for a name that means
    /// something else.
    pub async fn checkpoint(
        &self,
        owner: &Owner,
        handle: &Handle<'_>,
        name: Option<Name>,
        include: Include,
    ) -> Result<(Checkpoint, Vec<String>)> {
        if let Some(name) = &name {
            can_be_found(name)?;
        }
        let mut call = self.begin_to_grow(owner, handle).await?;
        call.only_copies();
        // Interpreters that cannot be saved are not in it, and it does not say so either.
        let forgets = call.machine().await?.forgets();
        let own = if call.record.spec.keeps_memory { Include::Both } else { Include::Files };
        // It is the sandbox's own state, or a part of it that is taken for itself.
        let files_alone = forgets && !call.record.spec.pickles;
        let is_own = include == own || (files_alone && include != Include::Memory);
        let part = match is_own {
            true => None,
            false => Some(call.run(|machine| machine.snapshot(include)).await?),
        };
        let include = if files_alone && include == Include::Both { Include::Files } else { include };
        let label = NewCheckpoint {
            id: CheckpointId::random()?,
            sandbox: call.record.id.clone(),
            name,
            include,
            created_at: self.inner.clock.now(),
        };
        let mut swept = false;
        loop {
            let (label, part, quota) = (label.clone(), part.clone(), self.inner.rules.quota);
            let save = move |saves: &Saves, record: &Sandbox, state: Option<&dyn Snapshot>| {
                let none = || Error::new(ErrorCode::Internal, "the sandbox has no state to keep");
                let state = state.ok_or_else(none)?;
                let kept: Option<&dyn Snapshot> = part.as_deref();
                let closed = kept.unwrap_or(state).closed_files();
                let (record, saved) = saves.update_with_checkpoint(record, state, (&label, kept), &quota)?;
                Ok((record, (saved, closed)))
            };
            // The next call comes after it, also when nobody waits for it any more.
            let (back, saved) = call.save_with(save).await?;
            match saved {
                Err(full)
                    if full.code() == ErrorCode::QuotaExceeded
                        && !swept
                        && self.sweep_for_room(PATIENCE).await =>
                {
                    (call, swept) = (back, true);
                }
                saved => return saved,
            }
        }
    }

    /// The checkpoints of a sandbox, oldest first.
    ///
    /// # Errors
    /// `unknown_sandbox`.
    pub async fn checkpoints(&self, owner: &Owner, handle: &Handle<'_>) -> Result<Vec<Checkpoint>> {
        let (ledger, id) = (self.inner.ledger.clone(), self.find(owner, handle)?.id);
        tokio::task::spawn_blocking(move || ledger.checkpoints(&id))
            .await
            .map_err(|error| Error::internal("the checkpoints were not listed", error))?
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
        let call = self.begin_with_record(self.find(owner, handle)?, Event::Call).await?;
        // A call before this one may have made it.
        let checkpoint = self.own(owner, &call.record, checkpoint)?;
        let state = self.load(&checkpoint).await?;
        let call = call.restore(state, checkpoint.label.include).await?;
        Ok((call.record.clone(), checkpoint))
    }

    /// Removes a checkpoint of a sandbox, by its id or its name; of one name the latest. What only it holds is given back to the
    /// disk by the next sweep.
    ///
    /// # Errors
    /// `unknown_sandbox`, `unknown_checkpoint`, `checkpoint_of_other_sandbox`.
    pub async fn remove_checkpoint(
        &self,
        owner: &Owner,
        handle: &Handle<'_>,
        checkpoint: &str,
    ) -> Result<Checkpoint> {
        let record = self.find(owner, handle)?;
        let checkpoint = match self.own(owner, &record, checkpoint) {
            Err(error) if is_damage(error.code()) => unreadable(&record, checkpoint).ok_or(error),
            found => found,
        }?;
        let (ledger, id) = (self.inner.ledger.clone(), checkpoint.label.id.clone());
        tokio::task::spawn_blocking(move || ledger.remove_checkpoint(&id))
            .await
            .map_err(|error| Error::internal("the checkpoint was not removed", error))??;
        self.inner.sweeping.removed(checkpoint.state.bytes, self.inner.uptime());
        Ok(checkpoint)
    }

    /// Gives a checkpoint of a sandbox, by its id or its name, another name or note, or none; of one name the latest. Its state
    /// stays, and what was forked from it.
    ///
    /// # Errors
    /// As [`Sandboxes::remove_checkpoint`]; `args_invalid` for a name that means something else.
    pub async fn describe_checkpoint(
        &self,
        owner: &Owner,
        handle: &Handle<'_>,
        checkpoint: &str,
        description: Description,
    ) -> Result<Checkpoint> {
        if let Some(Some(name)) = &description.name {
            can_be_found(name)?;
        }
        let record = self.find(owner, handle)?;
        let id = self.own(owner, &record, checkpoint)?.label.id;
        let ledger = self.inner.ledger.clone();
        tokio::task::spawn_blocking(move || ledger.describe_checkpoint(&id, &description))
            .await
            .map_err(|error| Error::internal("the checkpoint was not described", error))?
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
        let (origin, state, saved, call) = match checkpoint {
            Some(id) => {
                self.may_grow(owner).await?;
                let record = self.find(owner, handle)?;
                let checkpoint = self.known(owner, &record, id)?;
                (record, self.load(&checkpoint).await?, Some(checkpoint.state), None)
            }
            None => {
                let mut call = self.begin_to_grow(owner, handle).await?;
                call.only_copies();
                // Waking it makes a state where there is none.
                call.machine().await?;
                let call = call.save(|_| {}).await?;
                let state = call
                    .live
                    .asleep
                    .clone()
                    .ok_or_else(|| Error::new(ErrorCode::Internal, "the sandbox has no state to fork"))?;
                (call.record.clone(), state, call.record.state, Some(call))
            }
        };
        let forks = (0..count).map(|_| self.forked(&origin, saved)).collect::<Result<Vec<_>>>()?;
        let (ledger, quota) = (self.inner.ledger.clone(), self.inner.rules.quota);
        let make = move || {
            let _visit = call;
            ledger.create_all(&forks, &quota).map(|()| forks)
        };
        let forks = tokio::task::spawn_blocking(make)
            .await
            .map_err(|error| Error::internal("the forks were not made", error))??;
        for fork in &forks {
            let resident = self.inner.resident(&fork.owner, &fork.id);
            if let Ok(mut live) = resident.live.try_lock() {
                (live.asleep, live.generation) = (Some(state.clone()), fork.generation);
                live.called(self.inner.clock.as_ref());
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

    /// The sandbox's own checkpoint of that id or name.
    fn own(&self, owner: &Owner, record: &Sandbox, text: &str) -> Result<Checkpoint> {
        let checkpoint = self.known(owner, record, text)?;
        if checkpoint.label.sandbox == record.id {
            return Ok(checkpoint);
        }
        Err(Error::new(
            ErrorCode::CheckpointOfOtherSandbox,
            format!("the checkpoint `{}` belongs to another sandbox", checkpoint.label.id),
        )
        .with_hint("name the sandbox that it belongs to, or fork it from the checkpoint"))
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

    async fn load(&self, checkpoint: &Checkpoint) -> Result<Arc<dyn Snapshot>> {
        self.inner.clone().loaded(checkpoint.state).await
    }
}

/// A checkpoint of the owner's whose record is damaged, as far as it can be told: its id.
fn unreadable(record: &Sandbox, text: &str) -> Option<Checkpoint> {
    let label = NewCheckpoint {
        id: CheckpointId::parse(text)?,
        sandbox: record.id.clone(),
        name: None,
        include: Include::Both,
        created_at: record.created_at,
    };
    Some(Checkpoint { label, note: None, state: SavedState { root: ChunkId::of(&[]), bytes: 0 } })
}

/// Refuses a name that would be taken for an id or a step, so that nobody could go back to it.
///
/// # Errors
/// `args_invalid`.
fn can_be_found(name: &Name) -> Result<()> {
    name.check_new()?;
    let text = name.as_str();
    if CheckpointId::parse(text).is_none() && !text.starts_with(Step::PREFIX) {
        return Ok(());
    }
    Err(Error::args_invalid(format!("a checkpoint cannot be called `{text}`"))
        .with_hint(format!("names that begin with `{}` mean steps, and ids are generated", Step::PREFIX)))
}

fn unknown_checkpoint(text: &str) -> Error {
    let shown: String = text.escape_debug().take(64).collect();
    Error::new(ErrorCode::UnknownCheckpoint, format!("there is no checkpoint `{shown}`"))
        .with_hint("sandbox_list_checkpoints lists the existing ones")
}
