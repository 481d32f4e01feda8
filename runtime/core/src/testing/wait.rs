//! Waiting for an event with a deadline. How long another process, thread or task takes depends on the load of the machine,
//! so a test asks again and again instead of sleeping for a fixed time.
//!
//! Each function panics when the event has not come in time, and says which one did not. The deadline is real time, also where
//! a test has paused tokio's clock.

use std::fmt::Debug;
use std::thread;
use std::time::{Duration, Instant};

/// First pause between two looks; each one is twice as long as the one before.
const FIRST: Duration = Duration::from_millis(1);
/// Longest pause between two looks.
const LONGEST: Duration = Duration::from_millis(20);

/// Blocks until `holds` returns true.
///
/// # Panics
/// When it does not within `deadline`.
#[track_caller]
pub fn wait_until(event: &str, deadline: Duration, mut holds: impl FnMut() -> bool) {
    let mut pauses = Pauses::new(deadline);
    while !holds() {
        match pauses.next() {
            Some(pause) => thread::sleep(pause),
            None => panic!("not within {deadline:?}: {event}"),
        }
    }
}

/// Blocks until `look` returns a value. Until then its error is what was seen instead.
///
/// # Panics
/// When there is no value within `deadline`.
#[track_caller]
pub fn wait_for<T, E: Debug>(event: &str, deadline: Duration, mut look: impl FnMut() -> Result<T, E>) -> T {
    let mut pauses = Pauses::new(deadline);
    loop {
        match (look(), pauses.next()) {
            (Ok(found), _) => return found,
            (Err(_), Some(pause)) => thread::sleep(pause),
            (Err(seen), None) => panic!("not within {deadline:?}: {event}; last seen: {seen:?}"),
        }
    }
}

/// [`wait_until`] for a task: other tasks go on meanwhile.
///
/// # Panics
/// When it does not hold within `deadline`.
pub async fn wait_until_async(event: &str, deadline: Duration, mut holds: impl FnMut() -> bool) {
    let mut pauses = Pauses::new(deadline);
    while !holds() {
        match pauses.next() {
            Some(pause) => tokio::time::sleep(pause).await,
            None => panic!("not within {deadline:?}: {event}"),
        }
    }
}

/// [`wait_for`] for a task: other tasks go on meanwhile, also while it looks. Where `look` borrows, the future is not `Send`: join it
/// instead of spawning it.
///
/// # Panics
/// When there is no value within `deadline`.
pub async fn wait_for_async<T, E: Debug>(
    event: &str,
    deadline: Duration,
    mut look: impl AsyncFnMut() -> Result<T, E>,
) -> T {
    let mut pauses = Pauses::new(deadline);
    loop {
        match (look().await, pauses.next()) {
            (Ok(found), _) => return found,
            (Err(_), Some(pause)) => tokio::time::sleep(pause).await,
            (Err(seen), None) => panic!("not within {deadline:?}: {event}; last seen: {seen:?}"),
        }
    }
}

/// The pauses between looks, up to the deadline.
struct Pauses {
    end: Instant,
    next: Duration,
}

impl Pauses {
    fn new(deadline: Duration) -> Self {
        Self { end: Instant::now() + deadline, next: FIRST }
    }

    /// How long to pause before the next look. None: the deadline has passed.
    fn next(&mut self) -> Option<Duration> {
        let pause = self.next;
        self.next = (pause * 2).min(LONGEST);
        (Instant::now() < self.end).then_some(pause)
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    fn what_comes_is_returned_and_what_does_not_come_is_named() {
        let mut looks = 0;
        let mut third = || {
            looks += 1;
            if looks == 3 { Ok("here") } else { Err(looks) }
        };
        assert_eq!(wait_for("the third look", Duration::from_secs(20), &mut third), "here");
        let short = Duration::from_millis(5);
        let told =
            catch_unwind(AssertUnwindSafe(|| wait_for("the guest ends", short, || Err::<(), _>("it runs"))));
        let told = *told.unwrap_err().downcast::<String>().unwrap();
        assert_eq!(told, "not within 5ms: the guest ends; last seen: \"it runs\"");
        let told = catch_unwind(|| wait_until("the guest ends", short, || false));
        assert_eq!(*told.unwrap_err().downcast::<String>().unwrap(), "not within 5ms: the guest ends");
    }

    #[tokio::test]
    async fn a_task_that_waits_lets_others_go_on() {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let other = tokio::spawn(async move { sender.send(()).unwrap() });
        wait_until_async("the other task ends", Duration::from_secs(20), || other.is_finished()).await;
        let mut receiver = receiver;
        wait_for_async("the message", Duration::from_secs(20), async || receiver.try_recv()).await;
    }
}
