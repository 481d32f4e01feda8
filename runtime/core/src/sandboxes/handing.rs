//! Handing a sandbox over to another process that waits for it.
//!
//! What a call has done is saved a moment later, and until then no other process may have the sandbox. Whoever waits for it says so
//! through its lease; then it is saved at once. A server looks for that every few milliseconds while it has leases, and whoever
//! comes to a sandbox looks as well, so that calls without a pause let others in between.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::Sandboxes;
use super::call::{ASK_AGAIN, Call, Live};
use super::upkeep::{SAVES, TICK, upgrade};
use crate::Result;
use crate::sandbox::Event;

/// How often it is looked whether a sandbox is wanted, while there is one that can be.
const LOOK: Duration = Duration::from_millis(10);
/// How long those who wait have to come before the calls that are here go on.
const LET_IN: Duration = ASK_AGAIN.saturating_mul(4);

impl Live {
    /// Whether another process waits for it, and it can be given away once it is saved.
    fn is_wanted(&self, sandboxes: &Sandboxes) -> bool {
        let inner = &sandboxes.inner;
        self.changed
            && self.lease.as_ref().is_some_and(|lease| lease.is_wanted())
            && !(self.jobs.any() || self.works_on() || self.backs_off(&inner.rules, inner.clock.uptime()))
    }
}

impl Sandboxes {
    /// Looks who waits, until the last handle to the sandboxes is dropped.
    pub(super) async fn hand_over(weak: std::sync::Weak<super::Inner>, leased: Arc<Notify>) {
        let mut saves = JoinSet::new();
        loop {
            let Some(sandboxes) = upgrade(&weak) else { return };
            while saves.try_join_next().is_some() {}
            let has_leases = sandboxes.hand_over_wanted(&mut saves);
            drop(sandboxes);
            if has_leases {
                sleep(LOOK).await;
            } else {
                // Nobody can wait for what is not held.
                let _ = timeout(TICK, leased.notified()).await;
            }
        }
    }

    /// Begins to save those that rest and are wanted. Whether there is any that can be wanted.
    fn hand_over_wanted(&self, saves: &mut JoinSet<()>) -> bool {
        let mut has_leases = false;
        for (id, resident) in self.residents() {
            let Ok(live) = resident.live.try_lock() else {
                has_leases = true;
                continue;
            };
            has_leases |= live.lease.is_some();
            // Whoever has a turn, or comes next, lets others in himself.
            let wanted = live.is_wanted(self) && resident.turns.is_free();
            drop(live);
            if wanted && saves.len() < SAVES {
                let sandboxes = self.clone();
                saves.spawn(async move { sandboxes.rest_one(id, resident, false).await });
            }
        }
        has_leases
    }

    /// Lets another process that waits for the sandbox have it before the call that has come to it. One that was saved when the
    /// call came is the call's.
    ///
    /// # Errors
    /// As of coming to it.
    pub(super) async fn let_others_in(&self, call: Call) -> Result<Call> {
        if !call.live.is_wanted(self) {
            return Ok(call);
        }
        let (mut call, saved) = call.try_save().await?;
        if saved.is_err() || call.live.changed {
            return Ok(call);
        }
        call.live.lease = None;
        sleep(LET_IN).await;
        self.take_lease(&mut call, Event::Call).await?;
        call.record.phase.after(Event::Call)?;
        call.forget_outdated();
        Ok(call)
    }
}
