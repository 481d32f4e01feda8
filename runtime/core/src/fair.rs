//! A number of places that owners share: who may have one, who waits, and who is next.
//!
//! Owns: the count, one queue for each owner, and the order in which they are served. Does not own: what a place is for, how
//! long anybody waits, and what is said to who gets none ([`places`](crate::places)).
//!
//! Of the owners that wait, the one that holds least is served first, among equals the one that was served longest ago, or
//! came first. Where
//! places are shared, an owner gets one only while he holds fewer than are free (the dynamic threshold of Choudhury and
//! Hahne, with factor 1): alone he has half of them, n owners that take all they can have 1/(n + 1) each, and as much stays
//! free for whoever comes next. Nobody's place is taken away from him.

use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::sandbox::Owner;

/// The places. Cheap to ask; shared in an [`Arc`].
#[derive(Debug)]
pub struct Fair {
    state: Mutex<State>,
    /// Whether owners share them. Else everybody may have all.
    shared: bool,
    most_waiting: usize,
}

/// As many wait as may. The number of those that do.
#[derive(Debug)]
pub struct Full(pub usize);

#[derive(Debug, Default)]
struct State {
    free: usize,
    /// Given beyond what there is: what comes back makes up for it first.
    beyond: usize,
    waiting: usize,
    /// Owners that hold or wait.
    accounts: HashMap<Owner, Account>,
    /// Counts everybody who ever waited.
    numbers: u64,
    /// Counts what was ever given.
    given: u64,
}

#[derive(Debug, Default)]
struct Account {
    held: usize,
    /// By the number of who waits, which grows.
    queue: VecDeque<(u64, Waker)>,
    /// How much had been given to all when this owner was given something last, or came.
    served: u64,
}

impl Fair {
    /// So many places, of which at least one is there; the most that may wait for one.
    pub fn new(places: usize, shared: bool, most_waiting: usize) -> Arc<Self> {
        let state = State { free: places.max(1), ..State::default() };
        Arc::new(Self { state: Mutex::new(state), shared, most_waiting })
    }

    /// A place, if one can be had now.
    pub fn take(self: &Arc<Self>, owner: &Owner) -> Option<Held> {
        let mut state = self.state();
        let held = state.accounts.get(owner).map_or(0, |account| account.held);
        // Whoever waits may not have what is free.
        if !state.may(held, self.shared) {
            return None;
        }
        state.give(owner);
        Some(Held { fair: self.clone(), owner: owner.clone(), count: 1 })
    }

    /// A place, whether one is free or not: for who gave his up and goes on. Whoever asks bounds how often.
    pub(crate) fn take_anyway(self: &Arc<Self>, owner: &Owner) -> Held {
        let mut state = self.state();
        if state.free == 0 {
            (state.free, state.beyond) = (1, state.beyond + 1);
        }
        state.give(owner);
        Held { fair: self.clone(), owner: owner.clone(), count: 1 }
    }

    /// Lines up for a place. Dropping the answer leaves the line.
    ///
    /// # Errors
    /// As many wait as may; where places are shared an owner may have no more waiting than could still come to wait.
    pub fn line(self: &Arc<Self>, owner: &Owner) -> Result<Line, Full> {
        let mut state = self.state();
        let own = state.accounts.get(owner).map_or(0, |account| account.queue.len());
        let left = self.most_waiting.saturating_sub(state.waiting);
        if left == 0 || (self.shared && own >= left) {
            return Err(Full(if left == 0 { state.waiting } else { own }));
        }
        state.numbers += 1;
        state.waiting += 1;
        let number = state.numbers;
        state.account(owner).queue.push_back((number, Waker::noop().clone()));
        // A place may be free that nobody before could have.
        state.hand_out(self.shared);
        Ok(Line { fair: self.clone(), owner: owner.clone(), number: Some(number) })
    }

    /// How many are free, and how many an owner holds.
    pub(crate) fn free(&self, owner: &Owner) -> (usize, usize) {
        let state = self.state();
        (state.free, state.accounts.get(owner).map_or(0, |account| account.held))
    }

    /// How many each owner holds.
    pub(crate) fn holders(&self) -> HashMap<Owner, usize> {
        self.state().accounts.iter().map(|(owner, account)| (owner.clone(), account.held)).collect()
    }

    fn give_back(&self, owner: &Owner, count: usize) {
        let mut state = self.state();
        let made_up = state.beyond.min(count);
        state.beyond -= made_up;
        state.free += count - made_up;
        if let Some(account) = state.accounts.get_mut(owner) {
            account.held = account.held.saturating_sub(count);
        }
        state.forget_idle(owner);
        let woken = state.hand_out(self.shared);
        drop(state);
        woken.into_iter().for_each(Waker::wake);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether an owner who holds so many may have one more.
    fn may(&self, held: usize, shared: bool) -> bool {
        self.free > 0 && (!shared || held < self.free)
    }

    fn account(&mut self, owner: &Owner) -> &mut Account {
        let served = self.given;
        self.accounts.entry(owner.clone()).or_insert_with(|| Account { served, ..Account::default() })
    }

    fn give(&mut self, owner: &Owner) {
        self.given += 1;
        self.free -= 1;
        let now = self.given;
        let account = self.account(owner);
        (account.held, account.served) = (account.held + 1, now);
    }

    /// Gives those in line what they may have, the next one first; those who are to be told.
    fn hand_out(&mut self, shared: bool) -> Vec<Waker> {
        let mut woken = Vec::new();
        while self.waiting > 0 && self.free > 0 {
            let waits = |(_, account): &(&Owner, &Account)| {
                !account.queue.is_empty() && self.may(account.held, shared)
            };
            let first = |one: &Account| one.queue.front().map(|(number, _)| *number);
            let next =
                self.accounts.iter().filter(waits).min_by_key(|(_, one)| (one.held, one.served, first(one)));
            let Some(owner) = next.map(|(owner, _)| owner.clone()) else { break };
            self.give(&owner);
            if let Some((_, waker)) = self.account(&owner).queue.pop_front() {
                self.waiting -= 1;
                woken.push(waker);
            }
        }
        woken
    }

    fn forget_idle(&mut self, owner: &Owner) {
        if self.accounts.get(owner).is_some_and(|account| account.held == 0 && account.queue.is_empty()) {
            self.accounts.remove(owner);
        }
    }
}

/// Some places of one owner. Dropping it gives them back.
#[derive(Debug)]
pub struct Held {
    fair: Arc<Fair>,
    owner: Owner,
    count: usize,
}

impl Held {
    /// Whose they are.
    pub(crate) fn owner(&self) -> &Owner {
        &self.owner
    }

    /// How many.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Takes over those of another, which are of the same kind and owner.
    pub(crate) fn join(&mut self, mut other: Self) {
        self.count += std::mem::take(&mut other.count);
    }

    /// Gives back all but so many.
    pub(crate) fn keep(&mut self, count: usize) {
        let over = self.count.saturating_sub(count);
        if over > 0 {
            self.count -= over;
            self.fair.give_back(&self.owner, over);
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.keep(0);
    }
}

/// A place in the line. Comes to a place; dropped before, it is as if it had never been.
#[derive(Debug)]
pub struct Line {
    fair: Arc<Fair>,
    owner: Owner,
    /// None: what it came to has been handed over.
    number: Option<u64>,
}

impl Future for Line {
    type Output = Held;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Held> {
        if let Some(number) = self.number {
            let mut state = self.fair.state();
            let queue = state.accounts.get_mut(&self.owner).map(|account| &mut account.queue);
            let waits = queue.and_then(|queue| {
                let at = queue.binary_search_by_key(&number, |(number, _)| *number).ok()?;
                queue.get_mut(at)
            });
            if let Some((_, waker)) = waits {
                waker.clone_from(context.waker());
                return Poll::Pending;
            }
        }
        self.number = None;
        Poll::Ready(Held { fair: self.fair.clone(), owner: self.owner.clone(), count: 1 })
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let Some(number) = self.number else { return };
        let mut state = self.fair.state();
        if let Some(account) = state.accounts.get_mut(&self.owner)
            && let Ok(at) = account.queue.binary_search_by_key(&number, |(number, _)| *number)
        {
            account.queue.remove(at);
            state.waiting -= 1;
            state.forget_idle(&self.owner);
            return;
        }
        drop(state);
        // It was given one, and never came to take it.
        self.fair.give_back(&self.owner, 1);
    }
}

#[cfg(test)]
#[path = "fair_tests.rs"]
mod tests;
