//! Turns at the processor: runs that compute for long share the cores fairly, whoever has how many of them.
//!
//! A run gives the event loop back at every tick of its engine (5 ms). Without more, sixty runs of one owner would have sixty
//! turns for each one of somebody else's, and the answer to a request waits behind them all. Here a run that has used its
//! slice waits until its owner's turn has come; there are as many turns at a time as cores. What is done within a slice, as
//! most calls are, never waits.

use std::future::poll_fn;
use std::num::NonZero;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use crate::fair::{Fair, Line};
use crate::sandbox::Owner;

/// What a run may compute before it waits for a turn: less than an engine's tick.
const SLICE: Duration = Duration::from_millis(3);

/// The turns of one process's runs.
pub(crate) struct Turns(Arc<Fair>);

impl Default for Turns {
    fn default() -> Self {
        Self::new(available_parallelism().map_or(1, NonZero::get))
    }
}

impl Turns {
    /// So many turns at a time. A turn lasts for one poll: whoever sleeps or waits has none.
    fn new(cores: usize) -> Self {
        Self(Fair::new(cores, false, usize::MAX))
    }

    /// Does work of an owner, in turns.
    pub(crate) async fn share<T>(&self, owner: &Owner, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        let mut spent = Duration::ZERO;
        let mut line: Option<Line> = None;
        poll_fn(|context| {
            let turn = match line.as_mut().map(|line| Pin::new(line).poll(context)) {
                Some(Poll::Pending) => return Poll::Pending,
                Some(Poll::Ready(held)) => Some(held),
                None => None,
            };
            line = None;
            let begin = Instant::now();
            let polled = work.as_mut().poll(context);
            spent += begin.elapsed();
            if polled.is_pending() && spent >= SLICE {
                spent = Duration::ZERO;
                // In line before its turn is over, so that the next one is chosen among all. Everybody may wait, so nobody is
                // refused. Who sleeps meanwhile is woken for his turn, and at once gives it back.
                line = self.0.line(owner).ok();
                context.waker().wake_by_ref();
            }
            drop(turn);
            polled
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use futures::stream::{FuturesUnordered, StreamExt as _};

    use super::*;

    /// Computes for so many slices, and says so at each.
    async fn compute(slices: usize, mut tell: impl FnMut()) {
        for _ in 0..slices {
            let begin = Instant::now();
            while begin.elapsed() < SLICE {
                std::hint::spin_loop();
            }
            tell();
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn own_01_an_owner_with_one_loop_has_as_many_turns_as_one_with_many() {
        let turns = Turns::new(1);
        let (many, one) = (Owner::parse("many").unwrap(), Owner::parse("one").unwrap());
        let done = RefCell::new((0, 0));
        let mut runs: FuturesUnordered<_> = FuturesUnordered::new();
        for _ in 0..10 {
            runs.push(futures::future::Either::Left(
                turns.share(&many, compute(20, || done.borrow_mut().0 += 1)),
            ));
        }
        runs.push(futures::future::Either::Right(
            turns.share(&one, compute(20, || done.borrow_mut().1 += 1)),
        ));
        while done.borrow().1 < 20 && runs.next().await.is_some() {}
        let (of_many, of_one) = *done.borrow();
        // Each has a first slice before it waits for a turn.
        assert!(of_one == 20 && of_many <= 20 + 10 + 2, "{of_many} of many, {of_one} of one");
    }

    #[tokio::test]
    async fn who_sleeps_holds_no_turn_and_who_is_dropped_neither() {
        let turns = Turns::new(1);
        let owner = Owner::local();
        let sleeps = async {
            compute(2, || ()).await;
            tokio::time::sleep(Duration::from_secs(3600)).await;
        };
        let mut sleeps = Box::pin(turns.share(&owner, sleeps));
        for _ in 0..100 {
            assert!(futures::poll!(&mut sleeps).is_pending());
        }
        assert_eq!(turns.0.free(&owner), (1, 0));
        let mut waits = Box::pin(turns.share(&owner, compute(9, || ())));
        assert!(futures::poll!(&mut waits).is_pending());
        drop(waits);
        turns.share(&owner, compute(5, || ())).await;
        assert_eq!(turns.0.free(&owner), (1, 0));
    }
}
