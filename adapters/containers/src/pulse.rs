//! Whether anything still comes of what an engine was asked for.
//!
//! How long a save or a restore may take depends on how much there is to move; an engine that has stalled moves nothing. So
//! such work is given up when neither an answer nor a byte has come for a while, and in any case after a long time. Each answer
//! and each piece of a stream is a beat of the pulse of the work that it belongs to.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use dormouse_core::Result;
use tokio::time::{Instant, sleep, timeout};

use crate::patience::Patience;

/// How often what takes its time without a sign of life beats for itself.
const EXCUSED: Duration = Duration::from_millis(500);

tokio::task_local! {
    /// The pulse of the work that this task does.
    static PULSE: Pulse;
}

/// When something came last. Clones share it.
#[derive(Clone)]
pub struct Pulse(Arc<(Instant, AtomicU64)>);

impl Pulse {
    fn new() -> Self {
        Self(Arc::new((Instant::now(), AtomicU64::new(0))))
    }

    /// That of the work that this task does, for what goes on in another one. None: nobody watches it.
    pub fn here() -> Option<Self> {
        PULSE.try_with(Self::clone).ok()
    }

    /// Something has come.
    pub fn beat(&self) {
        let now = u64::try_from(self.0.0.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.0.1.fetch_max(now, Ordering::AcqRel);
    }

    /// For how long nothing has come.
    fn silence(&self) -> Duration {
        self.0.0.elapsed().saturating_sub(Duration::from_millis(self.0.1.load(Ordering::Acquire)))
    }
}

/// Something has come of the work that this task does.
pub fn beat() {
    let _unwatched = PULSE.try_with(Pulse::beat);
}

/// Does `work` as long as something comes of it: gives it up when nothing has come for [`Patience::stall_within`], and after
/// [`Patience::transfer_within`] in any case. Within other work that is watched it is that work's.
///
/// # Errors
/// `provider_unavailable`, and those of `work`.
pub async fn watched<T>(patience: &Patience, what: &str, work: impl Future<Output = Result<T>>) -> Result<T> {
    if Pulse::here().is_some() {
        return work.await;
    }
    let pulse = Pulse::new();
    let silent = async {
        loop {
            let left = patience.stall_within.saturating_sub(pulse.silence());
            if left.is_zero() {
                return;
            }
            sleep(left).await;
        }
    };
    let most = timeout(patience.transfer_within, PULSE.scope(pulse.clone(), work));
    tokio::select! {
        biased;
        done = most => done.unwrap_or_else(|_| Err(patience.slow(what, patience.transfer_within))),
        () = silent => Err(patience.stalled(what, patience.stall_within)),
    }
}

/// Does `work` that has a bound of its own and may well be silent for longer.
pub async fn excused<T>(work: impl Future<Output = T>) -> T {
    let mut work = std::pin::pin!(work);
    loop {
        match timeout(EXCUSED, work.as_mut()).await {
            Ok(done) => return done,
            Err(_) => beat(),
        }
    }
}

#[cfg(test)]
mod tests {
    use dormouse_core::ErrorCode;

    use super::*;

    fn patience() -> Patience {
        Patience {
            engine: "the engine",
            hint: "wait",
            answer_within: 20 * SECOND,
            stall_within: 10 * SECOND,
            transfer_within: 120 * SECOND,
        }
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn what_goes_on_may_last_and_what_has_stalled_is_given_up() {
        let patience = Patience { stall_within: 10 * SECOND, transfer_within: 60 * SECOND, ..patience() };
        let steps = |count: u32, pause: Duration| async move {
            for _ in 0..count {
                sleep(pause).await;
                beat();
            }
            Ok(count)
        };
        let begin = Instant::now();
        assert_eq!(watched(&patience, "x", steps(6, 9 * SECOND)).await.unwrap(), 6);
        assert_eq!(begin.elapsed(), 54 * SECOND);
        let begin = Instant::now();
        let error = watched(&patience, "x", steps(100, 9 * SECOND)).await.unwrap_err();
        assert_eq!((error.code(), begin.elapsed()), (ErrorCode::ProviderUnavailable, 60 * SECOND));
        let begin = Instant::now();
        let late = async {
            sleep(5 * SECOND).await;
            beat();
            std::future::pending().await
        };
        let error = watched::<()>(&patience, "x", late).await.unwrap_err();
        assert_eq!((error.code(), begin.elapsed()), (ErrorCode::ProviderUnavailable, 15 * SECOND));
    }

    #[tokio::test(start_paused = true)]
    async fn work_within_work_beats_for_it_and_what_is_excused_beats_by_itself() {
        let patience = Patience { stall_within: 2 * SECOND, ..patience() };
        let inner = async {
            excused(sleep(30 * SECOND)).await;
            let pulse = Pulse::here().unwrap();
            let other = tokio::spawn(async move {
                for _ in 0..5 {
                    sleep(SECOND).await;
                    pulse.beat();
                }
            });
            other.await.unwrap();
            Ok(())
        };
        watched(&patience, "x", watched(&patience, "y", inner)).await.unwrap();
        assert!(Pulse::here().is_none());
    }
}
