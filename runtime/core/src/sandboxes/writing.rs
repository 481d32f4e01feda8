//! How the work of a call is saved: the record and the state of its sandbox, in one step, to the end also when nobody waits for it.

use std::sync::Arc;

use super::Sandboxes;
use super::call::Call;
use super::outputs;
use super::unsaved::Saves;
use crate::sandbox::{Include, Phase, ProviderName, Sandbox, Snapshot};
use crate::{Error, ErrorCode, Result};

impl Call {
    /// Saves what has changed, with the record as it should be now. Goes to its end also when the caller gives up: else the
    /// record could be a generation on without this process knowing, and what comes next would count as outdated.
    ///
    /// # Errors
    /// What keeps it from being saved; it stays changed then.
    pub(super) async fn save(mut self, change: impl FnOnce(&mut Sandbox) + Send + 'static) -> Result<Self> {
        let saving = tokio::spawn(async move { self.write(change).await.map(|()| self) });
        saving.await.map_err(|error| Error::internal("saving did not end", error))?
    }

    /// Saves what has changed, before a call, if it is high time. That it could not be saved keeps no call from anything.
    ///
    /// # Errors
    /// `internal` when it crashed.
    pub(super) async fn save_if_late(self) -> Result<Self> {
        let (live, rules, now) = (&self.live, &self.inner.rules, self.inner.clock.uptime());
        if !live.changed || !rules.is_late(live.changed_at, now) || live.backs_off(rules, now) {
            return Ok(self);
        }
        let (call, saved) = self.try_save().await?;
        if let Err(error) = saved {
            tracing::warn!(%error, sandbox = %call.record.id, "the sandbox cannot be saved between its calls");
        }
        Ok(call)
    }

    /// Saves what has changed and says how that went. Goes to its end also when the caller gives up.
    ///
    /// # Errors
    /// `internal` when it crashed.
    pub(super) async fn try_save(self) -> Result<(Self, Result<()>)> {
        self.save_with(|saves, record, state| Ok((saves.update(record, state)?, ()))).await
    }

    /// The same, by `commit`, which writes the record and the state and answers the record as it then is.
    ///
    /// # Errors
    /// `internal` when it crashed.
    pub(super) async fn save_with<T: Send + 'static>(
        mut self,
        commit: impl FnOnce(&Saves, &Sandbox, Option<&dyn Snapshot>) -> Result<(Sandbox, T)> + Send + 'static,
    ) -> Result<(Self, Result<T>)> {
        let saving = tokio::spawn(async move {
            let done = self.write_with(|_| {}, commit).await;
            (self, done)
        });
        saving.await.map_err(|error| Error::internal("saving did not end", error))
    }

    /// Puts the sandbox back to a state, and saves that; if it cannot be, everything is as before. Goes to its end also when
    /// the caller gives up. What the state does not `include` stays.
    ///
    /// # Errors
    /// `state_damaged`, `guest_mismatch`, `cancelled` when it is being destroyed, and what keeps it from being saved.
    pub(super) async fn restore(mut self, state: Arc<dyn Snapshot>, include: Include) -> Result<Self> {
        let restoring = tokio::spawn(async move {
            self.resident.endings.check()?;
            let rest = match include {
                Include::Both => None,
                _ if self.machine().await?.forgets() => None,
                _ => Some(self.machine().await?.snapshot(Include::Both).await?),
            };
            // What the sandbox has seen of time it does not see again. State that cannot be opened is let go of.
            let shown = match &self.live.machine {
                Some(machine) => machine.time(),
                None if self.record.spec.provider == ProviderName::Wasm => {
                    self.machine().await.map_or(0, |machine| machine.time())
                }
                None => 0,
            };
            let (mut machine, stands_in) = self.inner.wake(&self.record, rest).await?;
            machine.restore(state.as_ref()).await?;
            if stands_in {
                outputs::fit(machine.as_mut()).await;
            }
            machine.reach_time(shown);
            self.live.lose();
            machine.lose(&std::mem::take(&mut self.live.lost));
            // They run on the machine of before, which is back when this cannot be saved.
            let jobs = std::mem::take(&mut self.live.jobs);
            let called = (self.live.called_at, self.live.quiet_since);
            let stood_in = std::mem::replace(&mut self.live.stands_in, stands_in);
            let before = (self.live.machine.replace(machine), self.live.changed);
            self.live.called(self.inner.clock.as_ref());
            (self.live.changed, self.live.changed_at) = (true, self.live.quiet_since);
            let written = self.write(|_| {}).await;
            if written.is_err() {
                (self.live.machine, self.live.changed) = before;
                self.live.stands_in = stood_in;
                (self.live.called_at, self.live.quiet_since) = called;
                self.live.jobs = jobs;
            }
            if written.is_ok() && include != Include::Files {
                let sandboxes = Sandboxes { inner: self.inner.clone() };
                sandboxes.end_run_in(&self.record.id, "the sandbox was restored");
            }
            written.map(|()| self)
        });
        restoring.await.map_err(|error| Error::internal("the restore did not end", error))?
    }

    async fn write(&mut self, change: impl FnOnce(&mut Sandbox)) -> Result<()> {
        self.write_with(change, |saves, record, state| Ok((saves.update(record, state)?, ()))).await
    }

    async fn write_with<T: Send + 'static>(
        &mut self,
        change: impl FnOnce(&mut Sandbox),
        commit: impl FnOnce(&Saves, &Sandbox, Option<&dyn Snapshot>) -> Result<(Sandbox, T)> + Send + 'static,
    ) -> Result<T> {
        let done = self.write_now(change, commit).await;
        match &done {
            Ok(_) => self.live.failed = None,
            // That is the caller's, and nothing of it is wrong with the sandbox.
            Err(error) if matches!(error.code(), ErrorCode::QuotaExceeded | ErrorCode::Cancelled) => {}
            Err(error) => {
                let now = self.inner.clock.uptime();
                self.live.note_failed(error, now);
            }
        }
        done
    }

    async fn write_now<T: Send + 'static>(
        &mut self,
        change: impl FnOnce(&mut Sandbox),
        commit: impl FnOnce(&Saves, &Sandbox, Option<&dyn Snapshot>) -> Result<(Sandbox, T)> + Send + 'static,
    ) -> Result<T> {
        self.take_over().await;
        let mut record = self.now();
        change(&mut record);
        let include = if record.spec.keeps_memory { Include::Both } else { Include::Files };
        let gone = record.phase == Phase::Destroyed;
        self.live.drop_ended();
        // What forgets may have changed without a call, and nothing else will know of it.
        let forgets = self.live.machine.as_ref().is_some_and(|machine| machine.forgets());
        let wanted = (self.live.changed || forgets) && !gone;
        // Before the state is taken: what a job writes after that is not in it.
        let (works, taken_at) = (self.live.jobs.any(), self.inner.clock.uptime());
        let state = match self.live.machine.as_mut() {
            // Who destroys it does not wait for what it does while it is saved.
            Some(machine) if wanted => {
                Some(self.resident.endings.unless_destroyed(machine.snapshot(include)).await?)
            }
            None if wanted => self.live.asleep.clone(),
            _ => None,
        };
        let inner = self.inner.clone();
        let kept = state.clone();
        let lets_go = self.inner.awake.presses(&record.owner, self.inner.rules.quota.awake);
        if lets_go {
            // Steps can hold what no later state does: nobody would keep it for them.
            self.live.history.clear();
        }
        let save = move || {
            let saved = commit(&inner.saves, &record, kept.as_deref())?;
            if let Some(kept) = kept.filter(|_| lets_go) {
                let bytes = kept.let_go(&inner.ledger.chunks());
                tracing::debug!(bytes, sandbox = %record.id, "files that are saved were let go of");
            }
            Ok(saved)
        };
        let (saved, done) = tokio::task::spawn_blocking(save)
            .await
            .map_err(|error| Error::internal("saving did not end", error))??;
        self.live.generation = saved.generation;
        (self.live.changed, self.live.changed_at) = (works, taken_at);
        self.live.worked_at = self.inner.clock.uptime();
        if gone {
            self.live.forget();
        } else if let Some(state) = state {
            self.live.asleep = Some(state);
        }
        self.record = saved;
        Ok(done)
    }
}
