//! The places of runs and jobs: how many there are, how long one is waited for, and what is said to who gets none.
//!
//! A run that waits for a function of the host computes nothing, so it gives its place up meanwhile, and takes one again when it
//! goes on, free or not. Else runs whose functions run snippets could wait for each other until their time is over.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::fair::{Fair, Full, Held};
use crate::sandbox::Owner;
use crate::{Error, ErrorCode, Policy, Result};

/// The places of one runtime.
pub(crate) struct Places {
    runs: Arc<Fair>,
    jobs: Arc<Fair>,
    wait: std::time::Duration,
    /// How many runs may have given their place up, and how many have: each has an instance in memory.
    most_away: usize,
    away: Arc<AtomicUsize>,
}

/// A place. Dropping it gives it back.
pub(crate) struct Place(Arc<Seat>);

/// What functions of the host know of the place of their run.
pub(crate) struct Seat {
    fair: Arc<Fair>,
    owner: Owner,
    most_away: usize,
    away: Arc<AtomicUsize>,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    held: Option<Held>,
    /// Functions that are waited for.
    waits: usize,
    /// Whether it was given up for them.
    is_away: bool,
    has_ended: bool,
}

impl Place {
    /// What functions of the run give up while they are waited for.
    pub(crate) fn seat(&self) -> Arc<Seat> {
        self.0.clone()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.0.taken();
        taken.has_ended = true;
        let held = taken.held.take();
        drop(taken);
        drop(held);
    }
}

impl Seat {
    fn new(
        held: Held,
        fair: &Arc<Fair>,
        owner: &Owner,
        most_away: usize,
        away: &Arc<AtomicUsize>,
    ) -> Arc<Self> {
        let taken = Mutex::new(Taken { held: Some(held), ..Taken::default() });
        Arc::new(Self { fair: fair.clone(), owner: owner.clone(), most_away, away: away.clone(), taken })
    }

    fn taken(&self) -> std::sync::MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the place up until the answer is dropped, unless as many runs as may have done so already.
    pub(crate) fn give_up(self: &Arc<Self>) -> GivenUp {
        let mut taken = self.taken();
        taken.waits += 1;
        let may = |away: usize| (away < self.most_away).then_some(away + 1);
        let is_first = taken.waits == 1 && taken.held.is_some();
        let mut held = None;
        if is_first && self.away.fetch_update(Ordering::Relaxed, Ordering::Relaxed, may).is_ok() {
            taken.is_away = true;
            held = taken.held.take();
        }
        drop(taken);
        drop(held);
        GivenUp(self.clone())
    }
}

/// A place that is given up. Dropped, the run goes on.
pub(crate) struct GivenUp(Arc<Seat>);

impl Drop for GivenUp {
    fn drop(&mut self) {
        let mut taken = self.0.taken();
        taken.waits -= 1;
        if taken.waits == 0 && std::mem::take(&mut taken.is_away) {
            self.0.away.fetch_sub(1, Ordering::Relaxed);
            if !taken.has_ended {
                taken.held = Some(self.0.fair.take_anyway(&self.0.owner));
            }
        }
    }
}

impl Places {
    pub(crate) fn new(policy: &Policy) -> Self {
        Self {
            runs: Fair::new(policy.max_running, policy.owners_share, policy.max_waiting),
            jobs: Fair::new(policy.max_jobs, policy.owners_share, 0),
            wait: policy.max_wait,
            most_away: policy.most_waiting_for_functions(),
            away: Arc::default(),
        }
    }

    /// A place for a run, after a bounded wait.
    ///
    /// # Errors
    /// `busy` when as many wait as may, or none came free in time.
    pub(crate) async fn run(&self, owner: &Owner) -> Result<Place> {
        let seat = |held| Place(Seat::new(held, &self.runs, owner, self.most_away, &self.away));
        if let Some(held) = self.runs.take(owner) {
            return Ok(seat(held));
        }
        let line = self.runs.line(owner).map_err(|Full(waiting)| {
            Error::new(ErrorCode::Busy, format!("{waiting} runs are already waiting"))
                .with_hint("try again later, or raise max_waiting")
        })?;
        match tokio::time::timeout(self.wait, line).await {
            Ok(held) => Ok(seat(held)),
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
        let seat = |held| Place(Seat::new(held, &self.jobs, owner, 0, &self.away));
        self.jobs.take(owner).map(seat).ok_or_else(|| {
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

    #[tokio::test]
    async fn a_run_that_waits_for_a_function_makes_room_and_goes_on_beyond() {
        let places =
            Places::new(&Policy { max_running: 1, max_wait: Duration::from_millis(50), ..Policy::default() });
        let owner = Owner::local();
        let first = places.run(&owner).await.unwrap();
        assert_eq!(places.run(&owner).await.err().unwrap().code(), ErrorCode::Busy);
        let (waits, also) = (first.seat().give_up(), first.seat().give_up());
        // As many as may are away.
        places.away.fetch_add(63, Ordering::Relaxed);
        let second = places.run(&owner).await.unwrap();
        let third = second.seat().give_up();
        assert_eq!(places.run(&owner).await.err().unwrap().code(), ErrorCode::Busy);
        drop(third);
        places.away.fetch_sub(63, Ordering::Relaxed);
        drop((waits, also));
        // Both go on; only when both have ended there is room.
        drop(first);
        assert_eq!(places.run(&owner).await.err().unwrap().code(), ErrorCode::Busy);
        drop(second);
        let again = places.run(&owner).await.unwrap();
        // One that ends while a function is waited for takes nothing again.
        let waits = again.seat().give_up();
        drop(again);
        drop(waits);
        assert_eq!(places.runs.free(&owner), (1, 0));
    }
}
