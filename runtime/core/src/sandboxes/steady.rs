//! The time by which sandboxes are stopped and destroyed. A clock that somebody sets, or that is wrong when a machine starts,
//! destroys nothing.
//!
//! The system's clock is believed as far as this process's uptime has gone on. When it is ahead of that, what it shows counts
//! after it has been ahead for an hour; when it is put back, that counts at once. And what is due is destroyed in two steps: it is
//! marked, and destroyed when the mark has stood for an hour of uptime, or an eighth of the time that it was kept where that is
//! less. A mark lives in this process: one that has just been started destroys nothing.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Clock;
use crate::sandbox::{SandboxId, Timestamp};

/// How long a clock has to be ahead before it is believed, and how long a mark stands at most.
const BELIEVED: Duration = Duration::from_secs(3600);
/// The part of the time for which something is kept that its mark stands at least.
const PART: u32 = 8;
/// What a clock may be ahead and is believed all the same: it is set right in small steps all the time.
const SLACK: Duration = Duration::from_secs(60);

/// What this process knows of the time.
pub(super) struct Steady(Mutex<Known>);

struct Known {
    /// What the system's clock showed, and the uptime then.
    base: (Timestamp, Duration),
    /// Since which uptime the clock has been ahead.
    ahead: Option<Duration>,
    /// The sandboxes that are due, each since which uptime.
    marks: HashMap<SandboxId, Duration>,
}

impl Steady {
    /// Begins with what the clock shows now.
    pub(super) fn new(clock: &dyn Clock) -> Self {
        let base = (clock.now(), clock.uptime());
        Self(Mutex::new(Known { base, ahead: None, marks: HashMap::new() }))
    }

    /// Now, as far as the clock is believed.
    pub(super) fn now(&self, clock: &dyn Clock) -> Timestamp {
        let (shown, uptime) = (clock.now(), clock.uptime());
        let mut known = self.lock();
        let (wall, then) = known.base;
        let believed = wall.after(uptime.saturating_sub(then));
        if shown > believed.after(SLACK) {
            let since = *known.ahead.get_or_insert(uptime);
            if uptime.saturating_sub(since) < BELIEVED {
                return believed;
            }
        }
        (known.base, known.ahead) = ((shown, uptime), None);
        shown
    }

    /// Marks a sandbox that is due and was to be kept for that long. True: its mark has stood for long enough.
    pub(super) fn mark(&self, id: &SandboxId, kept: Duration, clock: &dyn Clock) -> bool {
        let uptime = clock.uptime();
        let since = *self.lock().marks.entry(id.clone()).or_insert(uptime);
        uptime.saturating_sub(since) >= BELIEVED.min(kept / PART)
    }

    /// Takes the marks of all others back.
    pub(super) fn keep_marks(&self, due: &HashSet<SandboxId>) {
        self.lock().marks.retain(|id, _| due.contains(id));
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(all(test, feature = "testing"))]
mod tests {
    use super::*;
    use crate::testing::ManualClock;

    const DAY: Duration = Duration::from_secs(24 * 3600);
    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn a_clock_that_jumps_is_believed_after_an_hour_and_one_that_is_put_back_at_once() {
        let clock = ManualClock::default();
        let steady = Steady::new(&clock);
        let begin = clock.now();
        clock.advance(DAY);
        assert_eq!(steady.now(&clock), begin.after(DAY));
        clock.jump(8 * DAY);
        assert_eq!(steady.now(&clock), begin.after(DAY));
        clock.advance(59 * MINUTE);
        assert_eq!(steady.now(&clock), begin.after(DAY + 59 * MINUTE));
        clock.put_back(8 * DAY);
        assert_eq!(steady.now(&clock), clock.now());
        clock.jump(8 * DAY);
        assert!(steady.now(&clock) < clock.now());
        clock.advance(60 * MINUTE);
        assert_eq!(steady.now(&clock), clock.now());
        clock.put_back(30 * DAY);
        assert_eq!(steady.now(&clock), clock.now());
    }

    #[test]
    fn small_steps_are_believed_and_do_not_add_up() {
        let clock = ManualClock::default();
        let steady = Steady::new(&clock);
        for _ in 0..100 {
            clock.advance(MINUTE);
            clock.jump(MINUTE / 2);
            assert_eq!(steady.now(&clock), clock.now());
        }
    }

    #[test]
    fn what_is_due_is_marked_first_and_its_mark_goes_when_it_is_not_due_any_more() {
        let (clock, id) = (ManualClock::default(), SandboxId::random().unwrap());
        let steady = Steady::new(&clock);
        assert!(!steady.mark(&id, 7 * DAY, &clock));
        clock.jump(8 * DAY);
        assert!(!steady.mark(&id, 7 * DAY, &clock), "no clock makes a mark older");
        clock.advance(61 * MINUTE);
        assert!(steady.mark(&id, 7 * DAY, &clock));
        steady.keep_marks(&HashSet::new());
        assert!(!steady.mark(&id, 7 * DAY, &clock));
        clock.advance(MINUTE);
        assert!(
            steady.mark(&id, 8 * MINUTE, &clock),
            "what is kept for a short time is marked for a shorter one"
        );
    }
}
