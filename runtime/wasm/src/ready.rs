//! Unused instances kept ready, so that a run does not wait for instantiation.
//!
//! A taken instance is replaced in the background; a used one never comes back. With a size of 0 nothing is kept.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use dormouse_core::{Error, ErrorCode, Result};
use tokio::sync::{MappedMutexGuard, MutexGuard};

use crate::instance::Instance;
use crate::loaded::Loaded;

/// A loaded guest and its waiting instances.
pub(crate) struct Ready {
    inner: Arc<Inner>,
}

struct Inner {
    loaded: Loaded,
    size: usize,
    waiting: Mutex<VecDeque<Instance>>,
    filling: AtomicBool,
    has_base: AtomicBool,
    /// One that never runs: its memory is the image.
    base: tokio::sync::Mutex<Option<Instance>>,
}

impl Ready {
    pub(crate) fn new(loaded: Loaded, size: usize) -> Self {
        let waiting = Mutex::new(VecDeque::with_capacity(size));
        Self {
            inner: Arc::new(Inner {
                loaded,
                size,
                waiting,
                filling: AtomicBool::new(false),
                has_base: AtomicBool::new(false),
                base: Default::default(),
            }),
        }
    }

    pub(crate) fn loaded(&self) -> &Loaded {
        &self.inner.loaded
    }

    /// An instance that has never run: a waiting one if there is one, else a new one.
    pub(crate) async fn take(&self) -> Result<Instance> {
        if self.inner.size == 0 {
            return self.inner.loaded.instantiate().await;
        }
        let waiting = self.inner.waiting().pop_front();
        self.refill();
        match waiting {
            Some(instance) => Ok(instance),
            None => self.inner.loaded.instantiate().await,
        }
    }

    /// An instance for an interpreter that lasts. What its state will be compared with is made before it, while nothing can
    /// be lost for want of a place.
    pub(crate) async fn lasting(&self) -> Result<Instance> {
        if self.inner.loaded.doors.is_some() && !self.inner.has_base.load(Ordering::Acquire) {
            drop(self.base().await?);
        }
        self.take().await
    }

    /// The instance whose memory is the guest's image. It must not run.
    pub(crate) async fn base(&self) -> Result<MappedMutexGuard<'_, Instance>> {
        let mut base = self.inner.base.lock().await;
        if base.is_none() {
            *base = Some(self.inner.loaded.instantiate().await?);
            self.inner.has_base.store(true, Ordering::Release);
        }
        MutexGuard::try_map(base, Option::as_mut)
            .map_err(|_| Error::new(ErrorCode::Internal, "the guest's image is gone"))
    }

    /// Starts filling up, unless that goes on already. The task ends when the queue is full or the guest is gone.
    fn refill(&self) {
        if self.inner.filling.swap(true, Ordering::AcqRel) {
            return;
        }
        let weak = Arc::downgrade(&self.inner);
        tokio::spawn(async move {
            while let Some(inner) = weak.upgrade() {
                if inner.waiting().len() >= inner.size {
                    inner.filling.store(false, Ordering::Release);
                    return;
                }
                match inner.loaded.try_instantiate().await {
                    Ok(Some(instance)) => inner.waiting().push_back(instance),
                    full_or_failed => {
                        // A full pool is no fault: the next run tries again.
                        if let Err(error) = full_or_failed {
                            tracing::debug!(%error, "no instance could be made ready");
                        }
                        inner.filling.store(false, Ordering::Release);
                        return;
                    }
                }
                tokio::task::yield_now().await;
            }
        });
    }
}

impl Inner {
    fn waiting(&self) -> std::sync::MutexGuard<'_, VecDeque<Instance>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
