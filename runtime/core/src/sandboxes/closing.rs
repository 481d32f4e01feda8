//! The end of a process: everything is saved and let go of, within one time, and what was not is told.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream;
use tokio::time::{Instant, timeout_at};

use super::Sandboxes;
use super::call::Resident;
use super::upkeep::SAVES;
use crate::sandbox::SandboxId;
use crate::{Error, ErrorCode, Result};

/// Time for a provider to give back what it holds, at least.
const LAST: Duration = Duration::from_secs(2);

impl Sandboxes {
    /// Saves everything and lets go of it, all at once; containers, which take longest, come last. Waits for calls that are under
    /// way, for [`Rules::patience`](super::Rules::patience) in all: end them before. What cannot be saved within
    /// [`Rules::closing`](super::Rules::closing) is given up.
    ///
    /// # Errors
    /// Why the last one could not be saved, and how many there are; all are in the log. What could not be saved is lost with the
    /// process.
    pub async fn close(&self) -> Result<()> {
        self.stop_runs().await;
        let now = Instant::now();
        let (patience, end) = (now + self.inner.rules.patience, now + self.inner.rules.closing);
        if timeout_at(patience, self.given_up_are_gone()).await.is_err() {
            tracing::warn!("a sandbox that was given up while it was made is removed by a later sweep");
        }
        let mut residents = self.residents();
        let all = residents.len();
        // What takes longest to save, an interpreter that forgets, comes last.
        residents.sort_by_cached_key(|(_, resident)| {
            let live = resident.live.try_lock();
            live.is_ok_and(|live| live.machine.as_ref().is_some_and(|machine| machine.forgets()))
        });
        let closing = residents.into_iter().map(|(id, resident)| async move {
            let closing = tokio::spawn(self.clone().close_one(id.clone(), resident, patience));
            let done = match timeout_at(end, closing).await {
                Ok(Ok(done)) => done,
                Ok(Err(crashed)) => Err(Error::internal("saving the sandbox crashed", crashed)),
                Err(_) => Err(not_saved_in_time()),
            };
            done.inspect_err(|error| tracing::error!(%error, sandbox = %id, "the sandbox could not be saved"))
        });
        let mut closing = stream::iter(closing).buffer_unordered(SAVES);
        let mut failed = Vec::new();
        while let Some(done) = closing.next().await {
            failed.extend(done.err());
        }
        for provider in self.inner.all_providers() {
            if timeout_at(end.max(Instant::now() + LAST), provider.close()).await.is_err() {
                tracing::warn!(provider = provider.name(), "the provider was not closed in time");
            }
        }
        let count = failed.len();
        match failed.pop() {
            None => Ok(()),
            Some(error) if all == 1 => Err(error),
            Some(error) => Err(of_several(&error, count, all)),
        }
    }

    async fn close_one(self, id: SandboxId, resident: Arc<Resident>, patience: Instant) -> Result<()> {
        let Ok(mut live) = timeout_at(patience, resident.live.clone().lock_owned()).await else {
            // What its earlier calls did need not be lost with the one that goes on.
            self.save_beside(resident).await?;
            return Err(still_called());
        };
        live.jobs.end();
        let done = self.put_down_now(&id, &resident, live, true).await;
        if done.is_err()
            && let Ok(live) =
                timeout_at(patience.max(Instant::now() + LAST), resident.live.clone().lock_owned()).await
        {
            // What was lost is saved with what is left, so that another process tells it.
            self.put_down_now(&id, &resident, live, true).await?;
        }
        done
    }
}

fn of_several(last: &Error, count: usize, all: usize) -> Error {
    let message = format!("{count} of {all} sandboxes could not be saved: {last}");
    let error = Error::new(last.code(), message);
    match last.hint() {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

fn still_called() -> Error {
    Error::new(ErrorCode::Busy, "a call that does not end keeps the sandbox from being saved")
}

fn not_saved_in_time() -> Error {
    Error::new(ErrorCode::LimitTime, "the sandbox was not saved before the end of the server")
        .with_hint("allow the end more time (`--closing SECONDS`)")
}
