//! A sandbox's share of a core, and how many programs it runs at one time: what `cpu_millis` and `processes` mean here.
//!
//! A guest gives its thread back at every tick ([`crate::ticker`]). After each such turn it rests until what it has computed is
//! within its share; time limits go on meanwhile. All that computes for one sandbox shares one account: calls, what
//! command lines start, jobs. Without a limit nothing is counted.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

use dormouse_core::sandbox::SandboxSpec;
use dormouse_core::{Error, ErrorCode, Result};
use rustix::time::{ClockId, clock_gettime};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A whole core, in thousandths: no instance computes on more.
const CORE: u32 = 1_000;
/// How long a turn that is past its deadline rests at most: a run whose clock was stopped has a later one.
const SLICE: Duration = Duration::from_millis(100);

/// What one sandbox computes. Clones are the same account.
#[derive(Clone)]
pub(crate) struct Share {
    account: Option<Arc<Account>>,
    /// The most processes.
    most: u32,
    processes: Arc<Semaphore>,
}

struct Account {
    millis: u32,
    /// From then on what was computed is within the share.
    free_at: Mutex<Instant>,
}

impl Share {
    /// What a spec says.
    pub(crate) fn of(spec: &SandboxSpec) -> Self {
        let account = || Account { millis: spec.cpu_millis.max(1), free_at: Mutex::new(Instant::now()) };
        Self {
            account: (spec.cpu_millis < CORE).then(|| Arc::new(account())),
            most: spec.processes,
            processes: Arc::new(Semaphore::new(spec.processes as usize)),
        }
    }

    /// Does work within the share. `deadline` is when somebody in it looks at a clock: it is not kept from that.
    pub(crate) async fn hold<T>(&self, deadline: Instant, work: impl Future<Output = T>) -> T {
        let Some(account) = &self.account else { return work.await };
        let mut work = pin!(work);
        let mut rest = pin!(tokio::time::sleep(Duration::ZERO));
        let mut resting = false;
        poll_fn(|context| {
            if !resting && let Some(until) = account.rest_until(deadline) {
                rest.as_mut().reset(until.into());
                resting = true;
            }
            if resting && rest.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            resting = false;
            let begin = computed();
            let done = work.as_mut().poll(context);
            account.spend(computed().saturating_sub(begin));
            done
        })
        .await
    }

    /// One more process, for as long as the answer lives.
    ///
    /// # Errors
    /// `busy` when there are as many as there may be.
    pub(crate) fn process(&self) -> Result<OwnedSemaphorePermit> {
        self.processes.clone().try_acquire_owned().map_err(|_| {
            let most = self.most;
            Error::new(ErrorCode::Busy, format!("{most} processes run in the sandbox, as many as may"))
                .with_hint("wait for jobs to end, or make a sandbox with more `processes`")
        })
    }
}

impl Account {
    /// When the next turn may begin; none: now.
    fn rest_until(&self, deadline: Instant) -> Option<Instant> {
        let (now, free_at) = (Instant::now(), *self.free_at());
        let latest = if now < deadline { deadline } else { now + SLICE };
        (now < free_at).then(|| free_at.min(latest))
    }

    /// Counts a turn that has just ended.
    fn spend(&self, time: Duration) {
        let begin = Instant::now().checked_sub(time).unwrap_or_else(Instant::now);
        let mut free_at = self.free_at();
        *free_at = begin.max(*free_at) + time * CORE / self.millis;
    }

    fn free_at(&self) -> MutexGuard<'_, Instant> {
        self.free_at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What this thread has computed so far. What it waited for the machine's other programs does not count.
fn computed() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let part = |number: i64| u64::try_from(number).unwrap_or_default();
    Duration::from_secs(part(time.tv_sec)) + Duration::from_nanos(part(time.tv_nsec))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computes for that long, in turns of a tick.
    async fn compute(time: Duration) {
        for _ in 0..time.as_millis() / crate::ticker::TICK.as_millis() {
            let turn = computed();
            while computed().saturating_sub(turn) < crate::ticker::TICK {
                std::hint::spin_loop();
            }
            tokio::task::yield_now().await;
        }
    }

    fn share(cpu_millis: u32, processes: u32) -> Share {
        Share::of(&SandboxSpec { cpu_millis, processes, ..SandboxSpec::default() })
    }

    /// How long 50 ms of work take, `times` at once.
    async fn elapsed(share: &Share, times: usize) -> Duration {
        let begin = Instant::now();
        let deadline = begin + Duration::from_secs(60);
        let all = (0..times).map(|_| share.hold(deadline, compute(Duration::from_millis(50))));
        futures::future::join_all(all).await;
        begin.elapsed()
    }

    #[tokio::test]
    async fn work_takes_as_much_longer_as_the_share_is_smaller() {
        let quarter = elapsed(&share(250, 1), 1).await;
        assert!((Duration::from_millis(180)..Duration::from_millis(600)).contains(&quarter), "{quarter:?}");
        // Two at once have one share together.
        let two = elapsed(&share(250, 1), 2).await;
        assert!(two > Duration::from_millis(370), "{two:?}");
        assert!(share(1_000, 1).account.is_none() && share(4_000, 1).account.is_none());
    }

    #[tokio::test]
    async fn a_clock_in_the_work_is_looked_at_however_small_the_share_is() {
        let begin = Instant::now();
        let deadline = begin + Duration::from_millis(60);
        let work = tokio::time::timeout_at(deadline.into(), compute(Duration::from_secs(10)));
        let ended = share(10, 1).hold(deadline, work).await;
        assert!(ended.is_err());
        assert!(begin.elapsed() < Duration::from_millis(300), "{:?}", begin.elapsed());
    }

    #[test]
    fn processes_are_counted_while_they_run() {
        let share = share(1_000, 2);
        let (first, _second) = (share.process().unwrap(), share.clone().process().unwrap());
        assert_eq!(share.process().unwrap_err().code(), ErrorCode::Busy);
        drop(first);
        assert!(share.process().is_ok());
    }
}
