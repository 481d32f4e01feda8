//! When the state folder is swept: soon after there is much to take, at a pace that leaves the disk to the calls.
//!
//! How much there is to take is not known before it is looked for. What is known is how much the folder has grown since the
//! last sweep, of any process, and what was removed by this one; together that is at least as much. So a sweep comes when that passes
//! a part of what the last one left, as the collector of a heap does, and a while after something was removed; and after a shorter
//! pause when the folder grows faster than that.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{Inner, Sandboxes};
use crate::sandbox::{Disk, SandboxId, Swept, Timestamp};
use crate::{Error, Result};

/// What may have to be taken before a sweep comes at once, in bytes, and the part of what the last one left (64 MiB, a tenth).
const MUCH: (u64, u64) = (64 << 20, 10);
/// What may have to be taken before a sweep comes after [`SOON`].
const SOME: u64 = 8 << 20;
/// How long it waits for more to be taken.
const SOON: Duration = Duration::from_secs(30);
/// The longest time between two sweeps.
const LATEST: Duration = Duration::from_secs(3600);
/// A sweep is followed by a pause this many times as long, and of at least a second.
const PAUSE: u32 = 9;
/// Where this many times as much has grown, the pause is as long as the sweep was.
const URGENT: u64 = 2;
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);

/// What this process knows of sweeps.
#[derive(Default)]
pub(super) struct Sweeping(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// Bytes of the states that were removed since the last sweep.
    removed: u64,
    /// Since when a sweep is to come soon.
    since: Option<Timestamp>,
    /// When the next may begin, or one that is urgent, and when the last has begun.
    next: Timestamp,
    soonest: Timestamp,
    last: Option<Timestamp>,
    /// `removed` and `since` as they were when the sweep under way began.
    taken: (u64, Option<Timestamp>),
}

impl Sweeping {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something was removed that held so many bytes.
    pub(super) fn removed(&self, bytes: u64, now: Timestamp) {
        let mut known = self.lock();
        known.removed = known.removed.saturating_add(bytes);
        known.since.get_or_insert(now);
    }

    /// Whether this process has removed something since it swept.
    fn has_removed(&self) -> bool {
        self.lock().since.is_some()
    }

    /// Whether one may begin now.
    fn may_begin(&self, now: Timestamp) -> bool {
        self.lock().next <= now
    }

    fn is_due(&self, disk: &Disk, now: Timestamp) -> bool {
        let mut known = self.lock();
        let may_go = to_take(disk).saturating_add(known.removed);
        if may_go >= SOME {
            known.since.get_or_insert(now);
        }
        let passed = |at: Option<Timestamp>, time| at.is_none_or(|at| at.after(time) <= now);
        let wanted = is_much(disk, may_go) || (known.since.is_some() && passed(known.since, SOON));
        // Somebody fills the disk faster than it is swept.
        let urgent = is_much(disk, may_go / URGENT) && known.soonest <= now;
        urgent || (known.next <= now && (wanted || passed(known.last, LATEST)))
    }

    fn begin(&self, now: Timestamp) {
        let mut known = self.lock();
        known.taken = (known.removed, known.since);
        (known.removed, known.since, known.last) = (0, None, Some(now));
    }

    /// A sweep that did not come to its end has left something, so that what was removed before it is still to be taken.
    fn end(&self, now: Timestamp, took: Duration, whole: bool) {
        let mut known = self.lock();
        let (removed, since) = std::mem::take(&mut known.taken);
        if !whole {
            known.removed = known.removed.saturating_add(removed);
            known.since = since.or(known.since);
        }
        known.next = now.after((took * PAUSE).max(SHORTEST_PAUSE));
        known.soonest = now.after(took.max(SHORTEST_PAUSE));
    }
}

/// What a sweep may have to take, as far as the folder's growth tells.
fn to_take(disk: &Disk) -> u64 {
    disk.used.saturating_sub(disk.swept.unwrap_or(0))
}

fn is_much(disk: &Disk, bytes: u64) -> bool {
    let (least, part) = MUCH;
    bytes >= least.max(disk.swept.unwrap_or(0) / part)
}

impl Inner {
    /// The time by which sweeps are paced: nobody can set it.
    pub(super) fn uptime(&self) -> Timestamp {
        Timestamp::default().after(self.clock.uptime())
    }
}

impl Sandboxes {
    /// Removes what no record needs.
    ///
    /// # Errors
    /// What keeps the ledger from it.
    pub async fn sweep(&self) -> Result<Swept> {
        let swept = self.sweep_until(None).await;
        self.tidy_providers().await;
        self.sweep_kept().await;
        swept
    }

    /// Has providers remove what processes left behind that are no more.
    pub(super) async fn tidy_providers(&self) {
        for provider in self.inner.all_providers() {
            if let Err(error) = provider.tidy().await {
                tracing::debug!(%error, provider = provider.name(), "what was left behind is not known");
            }
        }
    }

    /// Has providers remove what they keep of sandboxes that are no more, or are another provider's now. A sandbox has its record
    /// before anything is kept of it, and no id comes back: what is named first and looked up then is not somebody's who is about to
    /// use it.
    pub(super) async fn sweep_kept(&self) {
        for provider in self.inner.all_providers() {
            let kept = match provider.kept().await {
                Ok(kept) if kept.is_empty() => continue,
                Ok(kept) => kept,
                Err(error) => {
                    tracing::debug!(%error, provider = provider.name(), "what is kept of sandboxes is not known");
                    continue;
                }
            };
            let (inner, name) = (self.inner.clone(), provider.name());
            let looking = tokio::task::spawn_blocking(move || {
                // A record that cannot be read is one.
                let is_over = |id: &SandboxId| match inner.ledger.by_id(id) {
                    Ok(record) => record.is_none_or(|record| record.spec.provider.as_str() != name),
                    Err(_) => false,
                };
                kept.into_iter().filter(is_over).collect::<Vec<_>>()
            });
            for id in looking.await.unwrap_or_default() {
                provider.forget(&id);
            }
        }
    }

    pub(super) async fn sweep_until(&self, until: Option<Instant>) -> Result<Swept> {
        let inner = self.inner.clone();
        inner.sweeping.begin(inner.uptime());
        let begin = Instant::now();
        let done = tokio::task::spawn_blocking(move || {
            let chunks = inner.ledger.chunks();
            let reach = |state: &_, reached: &mut _| inner.reach(state, chunks.as_ref(), reached);
            let done = inner.ledger.sweep(&reach, until);
            let whole = done.as_ref().is_ok_and(|swept| swept.whole);
            inner.sweeping.end(inner.uptime(), begin.elapsed(), whole);
            done
        });
        done.await.map_err(|error| Error::internal("the sweep did not end", error))?
    }

    /// Whether a server is to sweep now.
    pub(super) fn is_sweep_due(&self) -> bool {
        let (sweeping, now) = (&self.inner.sweeping, self.inner.uptime());
        if sweeping.has_removed() && sweeping.may_begin(now) && self.inner.saves.is_pressed() {
            return true;
        }
        let disk = self.inner.ledger.disk();
        disk.is_ok_and(|disk| sweeping.is_due(&disk, now))
    }

    /// Sweeps for somebody who waits for room, if that is not too soon. True: it is done.
    pub(super) async fn sweep_for_room(&self, most: Duration) -> bool {
        if !self.inner.sweeping.may_begin(self.inner.uptime()) {
            return false;
        }
        match self.sweep_until(Instant::now().checked_add(most)).await {
            Ok(swept) => swept.bytes > 0,
            Err(error) => {
                tracing::warn!(%error, "the state folder cannot be swept");
                false
            }
        }
    }

    /// Sweeps at the end of a process that has not looked after the sandboxes meanwhile, if it has removed something or there
    /// is much to take, for at most that long.
    ///
    /// # Errors
    /// What keeps the ledger from it. Nothing that is needed is lost then.
    pub async fn tidy(&self, most: Duration) -> Result<Swept> {
        let disk = self.inner.ledger.disk()?;
        if !self.inner.sweeping.has_removed() && !is_much(&disk, to_take(&disk)) {
            return Ok(Swept::default());
        }
        self.sweep_until(Instant::now().checked_add(most)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn at(seconds: u64) -> Timestamp {
        Timestamp(seconds * 1000)
    }

    fn disk(used: u64, swept: u64) -> Disk {
        Disk { used: used * MIB, swept: Some(swept * MIB) }
    }

    /// After a first sweep at second 0 that took no time.
    fn begun() -> Sweeping {
        let sweeping = Sweeping::default();
        sweeping.begin(at(0));
        sweeping.end(at(0), Duration::ZERO, true);
        sweeping
    }

    #[test]
    fn a_server_sweeps_when_it_starts_and_every_hour() {
        assert!(Sweeping::default().is_due(&disk(0, 0), at(5)));
        let sweeping = begun();
        assert!(!sweeping.is_due(&disk(5, 5), at(3599)) && sweeping.is_due(&disk(5, 5), at(3600)));
    }

    #[test]
    fn much_growth_is_swept_at_once_and_some_after_a_while() {
        let sweeping = begun();
        assert!(!sweeping.is_due(&disk(7, 0), at(10)));
        assert!(!sweeping.is_due(&disk(9, 0), at(20)) && !sweeping.is_due(&disk(9, 0), at(49)));
        assert!(sweeping.is_due(&disk(9, 0), at(50)));
        let sweeping = begun();
        assert!(!sweeping.is_due(&disk(63, 0), at(10)) && sweeping.is_due(&disk(64, 0), at(10)));
        // A tenth of what is there.
        let sweeping = begun();
        assert!(!sweeping.is_due(&disk(1099, 1000), at(10)) && sweeping.is_due(&disk(1100, 1000), at(10)));
    }

    #[test]
    fn what_was_removed_is_swept_soon_and_much_of_it_at_once() {
        let sweeping = begun();
        sweeping.removed(100, at(10));
        sweeping.removed(100, at(39));
        assert!(!sweeping.is_due(&disk(1, 1), at(39)) && sweeping.is_due(&disk(1, 1), at(40)));
        sweeping.removed(64 * MIB, at(39));
        assert!(sweeping.is_due(&disk(1, 1), at(39)));
        sweeping.begin(at(40));
        assert!(!sweeping.is_due(&disk(1, 1), at(41)) && !sweeping.has_removed());
    }

    #[test]
    fn what_a_sweep_has_left_is_still_to_be_taken() {
        let sweeping = begun();
        sweeping.removed(100, at(10));
        sweeping.begin(at(20));
        sweeping.end(at(20), Duration::ZERO, false);
        assert!(sweeping.has_removed() && sweeping.is_due(&disk(1, 1), at(40)));
        sweeping.begin(at(40));
        sweeping.end(at(40), Duration::ZERO, true);
        assert!(!sweeping.has_removed() && !sweeping.is_due(&disk(1, 1), at(100)));
    }

    #[test]
    fn a_sweep_that_took_long_is_followed_by_a_long_pause() {
        let sweeping = begun();
        sweeping.begin(at(100));
        sweeping.end(at(110), Duration::from_secs(10), true);
        assert!(!sweeping.is_due(&disk(100, 0), at(199)) && !sweeping.may_begin(at(199)));
        assert!(sweeping.is_due(&disk(100, 0), at(200)) && sweeping.may_begin(at(200)));
    }

    #[test]
    fn what_grows_faster_than_it_is_swept_is_swept_after_a_shorter_pause() {
        let sweeping = begun();
        sweeping.begin(at(100));
        sweeping.end(at(110), Duration::from_secs(10), true);
        assert!(!sweeping.is_due(&disk(128, 0), at(119)) && !sweeping.is_due(&disk(127, 0), at(120)));
        assert!(sweeping.is_due(&disk(128, 0), at(120)));
    }
}
