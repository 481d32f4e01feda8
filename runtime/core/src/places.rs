//! The places of runs and jobs: how many there are, how long one is waited for, and what is said to who gets none.

use std::sync::Arc;

use crate::fair::{Fair, Full, Held};
use crate::sandbox::Owner;
use crate::{Error, ErrorCode, Policy, Result};

/// The places of one runtime.
pub(crate) struct Places {
    runs: Arc<Fair>,
    jobs: Arc<Fair>,
    wait: std::time::Duration,
}

/// A place. Dropping it gives it back.
pub(crate) struct Place(#[expect(dead_code, reason = "held, not read")] Held);

impl Places {
    pub(crate) fn new(policy: &Policy) -> Self {
        Self {
            runs: Fair::new(policy.max_running, policy.owners_share, policy.max_waiting),
            jobs: Fair::new(policy.max_jobs, policy.owners_share, 0),
            wait: policy.max_wait,
        }
    }

    /// A place for a run, after a bounded wait.
    ///
    /// # Errors
    /// `busy` when as many wait as may, or none came free in time.
    pub(crate) async fn run(&self, owner: &Owner) -> Result<Place> {
        if let Some(held) = self.runs.take(owner) {
            return Ok(Place(held));
        }
        let line = self.runs.line(owner).map_err(|Full(waiting)| {
            Error::new(ErrorCode::Busy, format!("{waiting} runs are already waiting"))
                .with_hint("try again later, or raise max_waiting")
        })?;
        match tokio::time::timeout(self.wait, line).await {
            Ok(held) => Ok(Place(held)),
            Err(_) => {
                let seconds = self.wait.as_secs_f32();
                Err(Error::new(ErrorCode::Busy, format!("no run slot became free within {seconds} s"))
                    .with_hint("wait for earlier runs to end, or try again later"))
            }
        }
    }

    /// A place for a job. Jobs last long, so none is waited for.
    ///
    /// # Errors
    /// `busy`.
    pub(crate) fn job(&self, owner: &Owner) -> Result<Place> {
        self.jobs.take(owner).map(Place).ok_or_else(|| {
            let (_, running) = self.jobs.free(owner);
            Error::new(
                ErrorCode::Busy,
                format!("{running} of your jobs are running, and there is no slot for another"),
            )
            .with_hint("wait for one of them to end, cancel one, or try again later")
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn own_01_a_wait_for_a_place_is_bounded() {
        let places =
            Places::new(&Policy { max_running: 1, max_wait: Duration::from_secs(2), ..Policy::default() });
        let owner = Owner::local();
        let first = places.run(&owner).await.unwrap();
        let begin = tokio::time::Instant::now();
        let refused = places.run(&owner).await.err().unwrap();
        assert_eq!((refused.code(), begin.elapsed()), (ErrorCode::Busy, Duration::from_secs(2)));
        drop(first);
        assert!(places.run(&owner).await.is_ok());
    }

    #[tokio::test]
    async fn own_01_jobs_take_no_place_of_a_run_and_no_owner_has_all() {
        let places =
            Places::new(&Policy { max_running: 2, max_jobs: 4, owners_share: true, ..Policy::default() });
        let (greedy, other) = (Owner::parse("a").unwrap(), Owner::parse("b").unwrap());
        let jobs: Vec<_> = std::iter::from_fn(|| places.job(&greedy).ok()).collect();
        assert_eq!(jobs.len(), 2);
        let refused = places.job(&greedy).err().unwrap();
        assert!(refused.message().starts_with("2 of your jobs"), "{refused}");
        assert!(places.job(&other).is_ok());
        let run = places.run(&greedy).await.unwrap();
        assert!(places.run(&other).await.is_ok());
        drop(run);
    }
}
