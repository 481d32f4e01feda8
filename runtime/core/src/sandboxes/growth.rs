//! Whether more may be kept: looked at before each call that can make a sandbox grow.
//!
//! What a call has done is always saved, whatever that takes; a quota that refused a save would lose what was answered. So the
//! bounds of what is saved are held here, a call earlier: while an owner's states take more than they may, or all states more of
//! the disk, calls that look, put away and remove are taken, and calls that can only add something are not. Runs are taken where
//! the sandbox can be held, so that its files do not grow: they can remove. A call that was taken adds at most what its sandbox's
//! own limits allow.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::Sandboxes;
use super::call::Call;
use crate::sandbox::quota::shown;
use crate::sandbox::{Excess, Owner, Share, Timestamp};
use crate::{Error, ErrorCode, Result};

/// For how long it is known that an owner may keep more.
const KNOWN: Duration = Duration::from_secs(1);
/// Owners of whom it is known.
const MOST: usize = 1_024;
/// How long a call waits for room that a sweep makes.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// Who was found to be within the bounds, and when.
#[derive(Default)]
pub(super) struct Growth(Mutex<HashMap<Owner, Timestamp>>);

impl Growth {
    fn is_known(&self, owner: &Owner, now: Timestamp) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(owner).is_some_and(|at| *at <= now && now < at.after(KNOWN))
    }

    fn note(&self, owner: Owner, now: Timestamp) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(owner, now);
    }
}

impl Sandboxes {
    /// Refuses what can make a sandbox of the owner grow while more is saved than may be.
    ///
    /// # Errors
    /// `quota_exceeded`, naming the quota, what there is, and what to remove; what keeps the ledger from reading.
    pub(super) async fn may_grow(&self, owner: &Owner) -> Result<()> {
        self.inner.ledger.writable()?;
        let now = self.inner.clock.now();
        if self.inner.rules.quota.saved == Share::default() || self.inner.growth.is_known(owner, now) {
            return Ok(());
        }
        if let Err(full) = self.look(owner).await {
            // What nobody needs any more counts on the disk until it is swept.
            let swept = full.code() == ErrorCode::QuotaExceeded && self.sweep_for_room(PATIENCE).await;
            if !swept {
                return Err(full);
            }
            self.look(owner).await?;
        }
        self.inner.growth.note(owner.clone(), now);
        Ok(())
    }

    /// The same for calls that can also remove: why the sandbox may only shrink, if more is saved than may be.
    ///
    /// # Errors
    /// What keeps the ledger from reading.
    pub(super) async fn held(&self, owner: &Owner) -> Result<Option<Error>> {
        match self.may_grow(owner).await {
            Err(full) if full.code() == ErrorCode::QuotaExceeded => Ok(Some(full)),
            done => done.map(|()| None),
        }
    }

    async fn look(&self, owner: &Owner) -> Result<()> {
        let (inner, owner) = (self.inner.clone(), owner.clone());
        let looked = tokio::task::spawn_blocking(move || {
            let (ledger, quota) = (&inner.ledger, &inner.rules.quota);
            if quota.saved.of_owner.is_some() {
                quota.check_stored(&ledger.stored(&owner)?)?;
            }
            if quota.saved.in_all.is_some() {
                quota.check_disk(ledger.disk()?.used)?;
            }
            Ok(())
        });
        looked.await.map_err(|error| Error::internal("what is saved was not counted", error))?
    }
}

impl Call {
    /// Why what was run could only make the sandbox's files smaller, if that is so.
    pub(super) fn warning(&mut self) -> Option<Error> {
        self.held.take().or_else(|| too_full(self.live.machine.as_ref()?.excess()))
    }
}

/// The files are more than the sandbox was made for: they come from where there was more room.
fn too_full(excess: Excess) -> Option<Error> {
    let Excess { bytes, names } = excess;
    let over = match (bytes, names) {
        (0, 0) => return None,
        (bytes, 0) => shown(bytes),
        (0, names) => format!("{names} names"),
        (bytes, names) => format!("{} and {names} names", shown(bytes)),
    };
    let full =
        Error::new(ErrorCode::LimitDisk, format!("the sandbox's files exceed its disk quota by {over}"));
    Some(full.with_hint(
        "remove some: until then nothing can be added. A container has additional space for /tmp, and the sandbox is not running in one now",
    ))
}
