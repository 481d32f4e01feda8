//! Turns: of the requests of a shell only so many are under way at one time. The operator may allow fewer, which a guest learns by being
//! refused.

use std::cell::RefCell;
use std::time::{Duration, Instant};

/// As many are under way as the usual budget has connections.
const AT_ONCE: usize = 16;
/// For how long nothing happens on any connection before one more is tried anyway: usually, and while one waits for its answer.
const PATIENCE: Duration = Duration::from_secs(5);
const LONG_PATIENCE: Duration = Duration::from_secs(60);

thread_local! {
    static TURNS: RefCell<Turns> = RefCell::new(Turns::new(Instant::now()));
}

/// What is under way.
#[derive(Debug)]
struct Turns {
    open: usize,
    /// Of these, those that have no answer yet.
    asking: usize,
    most: usize,
    moved: Instant,
}

impl Turns {
    const fn new(now: Instant) -> Self {
        Self { open: 0, asking: 0, most: AT_ONCE, moved: now }
    }

    /// Takes a place, if there is one. Whether it is one of those that there should be.
    fn take(&mut self, now: Instant) -> Option<bool> {
        let patience = if self.asking > 0 { LONG_PATIENCE } else { PATIENCE };
        let is_free = self.open < self.most;
        if !is_free && now.saturating_duration_since(self.moved) < patience {
            return None;
        }
        (self.open, self.asking, self.moved) = (self.open + 1, self.asking + 1, now);
        Some(is_free)
    }

    fn give_back(&mut self, is_asking: bool, now: Instant) {
        (self.open, self.moved) = (self.open - 1, now);
        self.asking -= usize::from(is_asking);
        if self.open == 0 {
            // What the operator allows may be more by now.
            self.most = AT_ONCE;
        }
    }

    /// The host refused one, which has given its place back. Whether there will be another turn: others are under way.
    fn refused(&mut self) -> bool {
        if self.open > 0 {
            self.most = self.open;
        }
        self.open > 0
    }
}

fn with<T>(act: impl FnOnce(&mut Turns) -> T) -> T {
    TURNS.with_borrow_mut(act)
}

/// The place of a request that is under way.
#[derive(Debug)]
pub(super) struct Turn {
    is_asking: bool,
    /// Whether it may be given back for another one.
    is_free: bool,
}

impl Turn {
    /// One, if it has come.
    pub(super) fn take() -> Option<Self> {
        with(|turns| turns.take(Instant::now())).map(|is_free| Self { is_asking: true, is_free })
    }

    /// The host has begun with its request, so that is not sent again.
    pub(super) fn begun(&mut self) {
        self.is_free = false;
    }

    /// Its answer is there.
    pub(super) fn answered(&mut self) {
        if std::mem::take(&mut self.is_asking) {
            with(|turns| turns.asking -= 1);
        }
    }

    /// The host has no place for its request. Whether there will be another turn for it.
    pub(super) fn refused(self) -> bool {
        let is_free = self.is_free;
        drop(self);
        with(Turns::refused) && is_free
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        with(|turns| turns.give_back(self.is_asking, Instant::now()));
    }
}

/// Something happens on a connection.
pub(super) fn moved() {
    with(|turns| turns.moved = Instant::now());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_are_under_way_and_fewer_where_the_host_refuses() {
        let now = Instant::now();
        let mut turns = Turns::new(now);
        for _ in 0..AT_ONCE {
            assert_eq!(turns.take(now), Some(true));
        }
        assert_eq!(turns.take(now), None);
        // The host has refused all but four.
        for _ in 4..AT_ONCE {
            turns.give_back(true, now);
            assert!(turns.refused());
        }
        assert_eq!((turns.open, turns.most, turns.take(now)), (4, 4, None));
        turns.give_back(true, now);
        assert_eq!(turns.take(now), Some(true));
        for left in (0..4).rev() {
            turns.give_back(true, now);
            assert_eq!(turns.refused(), left > 0);
        }
        assert_eq!((turns.open, turns.asking, turns.most), (0, 0, AT_ONCE));
    }

    #[test]
    fn who_waits_while_nothing_happens_asks_the_host() {
        let now = Instant::now();
        let mut turns = Turns::new(now);
        (turns.most, turns.open, turns.asking) = (1, 1, 1);
        assert_eq!(turns.take(now + PATIENCE), None);
        turns.asking = 0;
        assert_eq!(turns.take(now + PATIENCE), Some(false));
        assert_eq!(turns.take(now + PATIENCE), None);
        assert_eq!(turns.take(now + PATIENCE + LONG_PATIENCE), Some(false));
    }
}
