//! The order in which calls came over one connection.
//!
//! A front door whose calls are worked on side by side asks for a place in line as soon as a call's bytes have been read, and
//! says what the call touches: its lanes. A call begins when those before it that share a lane have let it pass: most as soon
//! as they stand in the queue of their sandbox, which keeps the order from then on; those that make or remove what others
//! name when they have ended. So a call sees what those before it have done, and what does not share a lane goes on beside
//! them. A door that reads the next request when it has answered the one before needs none of this.
//!
//! Owns: lanes and places in line. Does not own: which tool touches what, and the queue of a sandbox.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

/// Something that calls name, and that two of them can both mean.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Lane {
    /// A sandbox, by its id or its name.
    Named(String),
    /// A sandbox, by the caller's key.
    Keyed(String),
    /// The checkpoints of a sandbox, by its id or its name.
    Checkpoints(String),
    /// Which sandboxes there are: making and removing them.
    All,
    /// The same: looking.
    Listed,
}

/// Until when a call holds a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// It stands in the queue of its sandbox.
    Entered,
    /// It has ended.
    Ended,
}

/// What a call touches. Default: nothing; it neither waits nor is waited for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touches {
    after: Vec<Lane>,
    holds: Vec<(Lane, Until)>,
}

impl Touches {
    /// The same, coming after those before it that hold one of these lanes.
    #[must_use]
    pub fn after(mut self, lanes: impl IntoIterator<Item = Lane>) -> Self {
        self.after.extend(lanes);
        self
    }

    /// The same, holding these lanes.
    #[must_use]
    pub fn holding(mut self, until: Until, lanes: impl IntoIterator<Item = Lane>) -> Self {
        self.holds.extend(lanes.into_iter().map(|lane| (lane, until)));
        self
    }

    /// Adds the other names of sandboxes that are about to be made or removed under one that it has.
    fn joined(mut self, pending: &BTreeMap<u64, Pending>) -> Self {
        for earlier in pending.values() {
            let makes = |(lane, until): &(Lane, Until)| {
                *until == Until::Ended && matches!(lane, Lane::Named(_) | Lane::Keyed(_))
            };
            let names: Vec<&Lane> =
                earlier.touches.holds.iter().filter(|hold| makes(hold)).map(|(lane, _)| lane).collect();
            if names.iter().any(|lane| self.after.contains(lane)) {
                let more: Vec<Lane> =
                    names.into_iter().filter(|lane| !self.after.contains(lane)).cloned().collect();
                let until = self.holds.first().map(|(_, until)| *until);
                self.holds
                    .extend(until.iter().flat_map(|until| more.iter().map(|lane| (lane.clone(), *until))));
                self.after.extend(more);
            }
        }
        self
    }

    fn holds_until(&self, until: Until) -> impl Iterator<Item = &Lane> {
        self.holds.iter().filter(move |(_, held)| *held == until).map(|(lane, _)| lane)
    }
}

/// The line of one connection. Clones are the same line.
#[derive(Clone, Debug, Default)]
pub struct Arrivals(Arc<Mutex<Line>>);

#[derive(Debug, Default)]
struct Line {
    next: u64,
    pending: BTreeMap<u64, Pending>,
}

/// A call that has not ended.
#[derive(Debug)]
struct Pending {
    touches: Touches,
    entered: CancellationToken,
    ended: CancellationToken,
}

impl Arrivals {
    /// A place in line behind all that came before. To be asked for in the order in which the calls came.
    pub fn arrive(&self, touches: Touches) -> Arrival {
        let mut line = self.line();
        let touches = touches.joined(&line.pending);
        let mut waits = Vec::new();
        for earlier in line.pending.values() {
            for (until, gate) in [(Until::Entered, &earlier.entered), (Until::Ended, &earlier.ended)] {
                if earlier.touches.holds_until(until).any(|lane| touches.after.contains(lane)) {
                    waits.push(gate.clone());
                }
            }
        }
        let number = line.next;
        line.next += 1;
        let (entered, ended) = (CancellationToken::new(), CancellationToken::new());
        if !touches.holds.is_empty() {
            let pending = Pending { touches, entered: entered.clone(), ended: ended.clone() };
            line.pending.insert(number, pending);
        }
        drop(line);
        Arrival { line: self.clone(), number, waits, entered, ended }
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One call's place in line. Dropping it lets everybody pass.
#[derive(Debug)]
pub struct Arrival {
    line: Arrivals,
    number: u64,
    waits: Vec<CancellationToken>,
    entered: CancellationToken,
    ended: CancellationToken,
}

impl Arrival {
    /// Waits for those before it, then does the call. The first sandbox that the call comes to lets those behind it pass.
    pub async fn lead<T>(self: &Arc<Self>, call: impl Future<Output = T>) -> T {
        for earlier in &self.waits {
            earlier.cancelled().await;
        }
        CALL.scope(Some(self.clone()), call).await
    }
}

impl Drop for Arrival {
    fn drop(&mut self) {
        self.line.line().pending.remove(&self.number);
        self.entered.cancel();
        self.ended.cancel();
    }
}

tokio::task_local! {
    /// The place in line of the call that runs.
    static CALL: Option<Arc<Arrival>>;
}

/// Does something that comes before a call's own work, such as making the sandbox that it is to be done in: standing in the
/// queue for that lets nobody pass.
pub async fn beforehand<T>(work: impl Future<Output = T>) -> T {
    CALL.scope(None, work).await
}

/// The call that runs stands in the queue of its sandbox.
pub(crate) fn entered() {
    let _ = CALL.try_with(|call| {
        if let Some(call) = call {
            call.entered.cancel();
        }
    });
}

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use futures::poll;

    use super::*;

    fn named(name: &str) -> Lane {
        Lane::Named(name.into())
    }

    fn call(names: &[&str]) -> Touches {
        let lanes = || names.iter().map(|name| named(name));
        Touches::default().after(lanes()).holding(Until::Entered, lanes())
    }

    fn making(names: &[&str]) -> Touches {
        let lanes = || names.iter().map(|name| named(name));
        Touches::default().after(lanes()).holding(Until::Ended, lanes())
    }

    fn arrive(line: &Arrivals, touches: Touches) -> Arc<Arrival> {
        Arc::new(line.arrive(touches))
    }

    /// Ready once the call has begun.
    macro_rules! begun {
        ($arrival:expr) => {
            poll!(std::pin::pin!($arrival.lead(async {}))) == Poll::Ready(())
        };
    }

    #[tokio::test]
    async fn a_call_begins_when_those_before_it_stand_in_the_queue() {
        let line = Arrivals::default();
        let (first, second, other) =
            (arrive(&line, call(&["a"])), arrive(&line, call(&["a"])), arrive(&line, call(&["b"])));
        assert!(begun!(first) && !begun!(second) && begun!(other));
        let mut running = Box::pin(first.lead(async {
            entered();
            std::future::pending::<()>().await;
        }));
        assert!(poll!(&mut running).is_pending());
        assert!(begun!(second), "the queue keeps the order from here on");
    }

    #[tokio::test]
    async fn a_call_that_is_given_up_lets_those_behind_it_pass() {
        let line = Arrivals::default();
        let (first, second, third) =
            (arrive(&line, call(&["a"])), arrive(&line, making(&["a"])), arrive(&line, call(&["a"])));
        drop(first);
        assert!(begun!(second) && !begun!(third));
        second.entered.cancel();
        assert!(!begun!(third), "what makes a sandbox is waited for to its end");
        drop(second);
        assert!(begun!(third));
        drop(third);
        assert!(line.line().pending.is_empty());
    }

    #[tokio::test]
    async fn who_only_looks_is_waited_for_by_nobody() {
        let line = Arrivals::default();
        let made = arrive(&line, making(&["a"]));
        let look = arrive(&line, Touches::default().after([named("a")]));
        let next = arrive(&line, making(&["a"]));
        assert!(!begun!(look));
        drop(made);
        assert!(begun!(look) && begun!(next));
    }

    /// A sandbox is being made under a name and a key: calls by either come after it, and after each other.
    #[tokio::test]
    async fn names_of_what_is_being_made_are_one() {
        let line = Arrivals::default();
        let made = arrive(&line, making(&["name", "key"]));
        let (by_key, by_name) = (arrive(&line, call(&["key"])), arrive(&line, call(&["name"])));
        drop(made);
        assert!(begun!(by_key) && !begun!(by_name));
        drop(by_key);
        assert!(begun!(by_name));
    }

    #[tokio::test]
    async fn what_comes_beforehand_lets_nobody_pass() {
        let line = Arrivals::default();
        let (first, second) = (arrive(&line, call(&["a"])), arrive(&line, call(&["a"])));
        let mut running = Box::pin(first.lead(async {
            beforehand(async { entered() }).await;
            std::future::pending::<()>().await;
        }));
        assert!(poll!(&mut running).is_pending());
        assert!(!begun!(second));
    }
}
