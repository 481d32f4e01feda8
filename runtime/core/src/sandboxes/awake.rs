//! Bytes of memory that sandboxes hold while they are awake: counted for each owner and in all, and who is put down when there are
//! too many.
//!
//! A sandbox is weighed after each call. While an owner's sandboxes, or all together, are too heavy, those that rest are saved
//! and put down, the longest resting first, before a call and besides the calls. What nobody can put down is in use: then a further call is
//! refused. A sandbox that is the only one its owner has awake may run in any case; its own limits bound it.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::Sandboxes;
use super::call::{Live, Resident};
use crate::sandbox::quota::{exceeded, shown};
use crate::sandbox::{Owner, SandboxId, Share};
use crate::{Error, Result};

/// Sandboxes that one call puts down at most; the next goes on with it.
const MOST: usize = 64;

/// Less is not worth giving back (32 MiB).
const WORTH_GIVING_BACK: u64 = 32 << 20;

/// How long a call waits for what is in use, and how often it looks whether it still is.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// What is held. Clones share it.
#[derive(Clone, Default)]
pub(super) struct Awake(Arc<Mutex<Sums>>);

#[derive(Clone, Default)]
struct Sums {
    of_owner: HashMap<Owner, u64>,
    in_all: u64,
    /// The most that was held since memory was last given back to the system.
    most: u64,
    /// What the process had let go of beside its sandboxes when memory was last given back.
    released: u64,
    /// What was held at the last look, and what had been let go of besides.
    seen: (u64, u64),
    /// Memory was given back while more may have been let go of.
    again: bool,
}

/// What one sandbox holds. Dropped, it holds nothing any more.
pub(super) struct Weight {
    awake: Awake,
    owner: Owner,
    bytes: u64,
}

impl Awake {
    fn lock(&self) -> MutexGuard<'_, Sums> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts what a sandbox of the owner holds.
    fn weigh(&self, owner: &Owner, bytes: u64) -> Weight {
        let mut sums = self.lock();
        *sums.of_owner.entry(owner.clone()).or_default() += bytes;
        sums.in_all += bytes;
        sums.most = sums.most.max(sums.in_all);
        Weight { awake: self.clone(), owner: owner.clone(), bytes }
    }

    /// Whether so much was let go of since the last time that it is worth giving memory back to the system, which is counted as
    /// done then: by sandboxes, and `released` bytes besides since the process began. What is let go of one after the other would
    /// leave the last of it: once nothing has changed from one look to the next, it is worth it once more.
    pub(super) fn has_shrunk(&self, released: u64) -> bool {
        let mut sums = self.lock();
        let seen = (sums.in_all, released);
        let settled = sums.seen == seen;
        sums.seen = seen;
        let free = (sums.most - sums.in_all).saturating_add(released.saturating_sub(sums.released));
        let shrunk = free >= WORTH_GIVING_BACK;
        let is_last = settled && sums.again;
        if !shrunk && !is_last {
            return false;
        }
        (sums.most, sums.released) = (sums.in_all, released);
        sums.again = shrunk;
        true
    }

    /// Whether an owner's sandboxes, or all, hold more than half of what they may, so that it is worth letting go of what can
    /// be read again.
    pub(super) fn presses(&self, owner: &Owner, share: Share) -> bool {
        let sums = self.lock();
        let more = |held: u64, most: Option<u64>| most.is_some_and(|most| held > most / 2);
        more(sums.of(owner), share.of_owner) || more(sums.in_all, share.in_all)
    }
}

impl Drop for Weight {
    fn drop(&mut self) {
        let mut sums = self.awake.lock();
        sums.take(&self.owner, self.bytes);
    }
}

impl Sums {
    fn of(&self, owner: &Owner) -> u64 {
        self.of_owner.get(owner).copied().unwrap_or_default()
    }

    fn take(&mut self, owner: &Owner, bytes: u64) {
        self.in_all = self.in_all.saturating_sub(bytes);
        if let Some(sum) = self.of_owner.get_mut(owner) {
            *sum = sum.saturating_sub(bytes);
            if *sum == 0 {
                self.of_owner.remove(owner);
            }
        }
    }

    fn is_owner_over(&self, owner: &Owner, share: Share) -> bool {
        share.of_owner.is_some_and(|most| self.of(owner) > most)
    }

    fn is_over(&self, share: Share) -> bool {
        share.in_all.is_some_and(|most| self.in_all > most)
    }

    /// What an owner may hold of what all may, when everybody who holds something has as much.
    fn even(&self, share: Share) -> u64 {
        share.in_all.unwrap_or(u64::MAX) / self.of_owner.len().max(1) as u64
    }
}

impl Live {
    /// Notes what the sandbox holds now.
    pub(super) fn weigh(&mut self, awake: &Awake, owner: &Owner) {
        let bytes = self.machine.as_ref().map_or(0, |machine| machine.memory());
        if self.weight.as_ref().map_or(0, |weight| weight.bytes) != bytes {
            self.weight = None;
            self.weight = (bytes > 0).then(|| awake.weigh(owner, bytes));
        }
    }
}

/// A sandbox that could be put down.
struct Resting {
    id: SandboxId,
    resident: Arc<Resident>,
    bytes: u64,
    /// Those that would lose open files come last, then those that were called last.
    rank: Duration,
}

impl Sandboxes {
    /// Puts down what rests until a call of an owner's has room.
    ///
    /// # Errors
    /// `quota_exceeded`, naming the quota and what is held, when what is left stays in use for 10 s.
    pub(super) async fn make_room(&self, owner: &Owner, called: &SandboxId) -> Result<()> {
        let share = self.inner.rules.quota.awake;
        if share == Share::default() {
            return Ok(());
        }
        let until = Instant::now() + PATIENCE;
        loop {
            for (id, resident) in self.too_heavy(Some(called)).into_iter().take(MOST) {
                let is_over = {
                    let sums = self.inner.awake.lock();
                    sums.is_over(share) || sums.is_owner_over(owner, share)
                };
                if is_over && let Err(error) = self.put_down(&id, &resident, true).await {
                    tracing::warn!(%error, sandbox = %id, "the sandbox cannot be saved to make room");
                }
            }
            match self.check_awake(owner, called, share) {
                // What is in use may just be being saved.
                Err(_) if Instant::now() < until => sleep(LOOK_AGAIN).await,
                checked => return checked,
            }
        }
    }

    fn check_awake(&self, owner: &Owner, called: &SandboxId, share: Share) -> Result<()> {
        let resident = self.inner.residents().get(called).cloned();
        let own = match resident.as_ref().map(|resident| resident.live.try_lock()) {
            Some(Ok(live)) => live.weight.as_ref().map_or(0, |weight| weight.bytes),
            // It is in use itself; this call waits for its turn.
            Some(Err(_)) => return Ok(()),
            None => 0,
        };
        let sums = self.inner.awake.lock();
        let held = sums.of(owner);
        if held <= own {
            return Ok(());
        }
        if sums.is_owner_over(owner, share) {
            return Err(too_heavy("your awake sandboxes hold", held, share.of_owner, "awake"));
        }
        if sums.is_over(share) && held > sums.even(share) {
            let held = sums.in_all;
            return Err(too_heavy("all awake sandboxes together hold", held, share.in_all, "awake-in-all"));
        }
        Ok(())
    }

    /// The sandboxes that are to be put down because too much memory is held, the first of them first; none of them is `called`.
    pub(super) fn too_heavy(&self, called: Option<&SandboxId>) -> Vec<(SandboxId, Arc<Resident>)> {
        let share = self.inner.rules.quota.awake;
        let (mut sums, over) = {
            let sums = self.inner.awake.lock();
            let over = sums.of_owner.keys().filter(|owner| sums.is_owner_over(owner, share));
            let over: HashSet<Owner> = over.cloned().collect();
            if over.is_empty() && !sums.is_over(share) {
                return Vec::new();
            }
            (sums.clone(), over)
        };
        let mut resting = self.resting_with_weight(called);
        resting.sort_by_key(|one| one.rank);
        let mut heavy = Vec::new();
        let mut put = |one: Resting, sums: &mut Sums| {
            sums.take(one.resident.owner(), one.bytes);
            heavy.push((one.id, one.resident));
        };
        let (of_owners, mut others): (Vec<_>, Vec<_>) =
            resting.into_iter().partition(|one| over.contains(one.resident.owner()));
        for one in of_owners {
            if sums.is_owner_over(one.resident.owner(), share) {
                put(one, &mut sums);
            } else {
                others.push(one);
            }
        }
        while sums.is_over(share) {
            // Of the owner who holds most, and none of those who hold less than an even part.
            let held = |one: &Resting| sums.of(one.resident.owner());
            let most = others
                .iter()
                .enumerate()
                .filter(|(_, one)| held(one) > sums.even(share))
                .max_by_key(|(place, one)| (held(one), Reverse((one.rank, *place))));
            let Some((place, _)) = most else { break };
            put(others.remove(place), &mut sums);
        }
        heavy
    }

    fn resting_with_weight(&self, called: Option<&SandboxId>) -> Vec<Resting> {
        let residents = self.inner.residents();
        let others = residents.iter().filter(|(id, _)| Some(*id) != called);
        let resting = others.filter_map(|(id, resident)| {
            let live = resident.live.try_lock().ok()?;
            let bytes = live.weight.as_ref().map(|weight| weight.bytes).filter(|_| !live.jobs.any())?;
            Some(Resting { id: id.clone(), resident: resident.clone(), bytes, rank: live.quiet_since })
        });
        resting.collect()
    }
}

fn too_heavy(who: &str, held: u64, most: Option<u64>, key: &str) -> Error {
    let message =
        format!("{who} {} of memory, at most {} is allowed", shown(held), shown(most.unwrap_or_default()));
    exceeded(message).with_hint(format!(
        "wait until calls have ended, stop sandboxes (sandbox_stop) and jobs that are not needed, \
         or have the operator raise the quota (`--quota {key}=SIZE`)"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_let_go_of_is_given_back_when_there_is_much_and_once_more_at_rest() {
        let awake = Awake::default();
        let mut released = 0;
        let mut after = |more| {
            released += more;
            awake.has_shrunk(released)
        };
        assert!(!after(0) && !after(WORTH_GIVING_BACK - 1));
        assert!(after(1), "bodies");
        assert!(after(0), "nothing has changed since: what was still in use then");
        assert!(!after(0) && !after(1 << 20));
        drop(awake.weigh(&Owner::local(), WORTH_GIVING_BACK));
        assert!(awake.has_shrunk(released + (1 << 20)), "sandboxes");
    }
}
