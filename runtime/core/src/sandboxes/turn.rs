//! The queue of a sandbox: calls have it for themselves in the order in which they came to it.
//!
//! Coming is one step, at the very beginning of a call: whatever it then waits for, room in memory or a look at what is kept,
//! nobody overtakes it. Saving in between and looking do not queue.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::Sandboxes;
use super::call::Resident;
use crate::{Error, ErrorCode, Result};

/// Those who wait for a sandbox, and the one who has it.
#[derive(Default)]
pub(super) struct Turns {
    line: Mutex<Line>,
    left: Notify,
}

#[derive(Default)]
struct Line {
    next: u64,
    /// By the number of each turn, whether it counts among those that wait.
    turns: BTreeMap<u64, bool>,
}

impl Turns {
    /// Whether nobody has the sandbox or waits for it.
    pub(super) fn is_free(&self) -> bool {
        self.line().turns.is_empty()
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One call's place in the queue. Dropped, it is the next one's turn.
pub(super) struct Turn {
    resident: Arc<Resident>,
    number: u64,
    /// Whether it has come to the sandbox before: it does several things there.
    came: AtomicBool,
}

tokio::task_local! {
    /// The turn of a call that keeps it.
    static KEPT: Mutex<Option<Arc<Turn>>>;
}

impl Turn {
    /// The last place in the queue of a sandbox; what a call has already, if it keeps its turn there.
    ///
    /// # Errors
    /// `busy` when as many as `most` wait already. None: however many wait.
    pub(super) fn take(resident: &Arc<Resident>, most: Option<usize>) -> Result<Arc<Self>> {
        KEPT.try_with(|kept| {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            match kept.as_ref() {
                Some(turn) if Arc::ptr_eq(&turn.resident, resident) => Ok(turn.clone()),
                _ => {
                    let turn = Self::new(resident, most)?;
                    kept.get_or_insert_with(|| turn.clone());
                    Ok(turn)
                }
            }
        })
        .unwrap_or_else(|_| Self::new(resident, most))
    }

    fn new(resident: &Arc<Resident>, most: Option<usize>) -> Result<Arc<Self>> {
        let mut line = resident.turns.line();
        let waiting = line.turns.values().skip(1).filter(|counts| **counts).count();
        if most.is_some_and(|most| !line.turns.is_empty() && waiting >= most) {
            return Err(Error::new(
                ErrorCode::Busy,
                format!("{waiting} calls are already waiting for the sandbox"),
            )
            .with_hint("try again later, or use more than one sandbox"));
        }
        let number = line.next;
        line.next += 1;
        line.turns.insert(number, most.is_some());
        Ok(Arc::new(Self { resident: resident.clone(), number, came: AtomicBool::new(false) }))
    }

    /// Its number: those that came later have larger ones.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Whether it has come before. From now on it has.
    pub(super) fn comes_again(&self) -> bool {
        self.came.swap(true, Ordering::Relaxed)
    }

    /// Waits until those before it have left.
    pub(super) async fn comes(&self) {
        let turns = &self.resident.turns;
        loop {
            let left = turns.left.notified();
            if turns.line().turns.first_key_value().is_some_and(|(first, _)| *first == self.number) {
                return;
            }
            left.await;
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.resident.turns.line().turns.remove(&self.number);
        self.resident.turns.left.notify_waiters();
    }
}

impl Sandboxes {
    /// Does several things in one sandbox within one turn: no other call comes between them. The turn is that of the first
    /// sandbox that is come to.
    pub async fn at_one_turn<T>(&self, work: impl Future<Output = T>) -> T {
        KEPT.scope(Mutex::default(), work).await
    }
}
