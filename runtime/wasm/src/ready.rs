//! Unused instances kept ready, so that a run does not wait for instantiation.
//!
//! A taken instance is replaced in the background; a used one never comes back. With a size of 0 nothing is kept.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dormouse_core::Result;

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
}

impl Ready {
    pub(crate) fn new(loaded: Loaded, size: usize) -> Self {
        let waiting = Mutex::new(VecDeque::with_capacity(size));
        Self { inner: Arc::new(Inner { loaded, size, waiting, filling: AtomicBool::new(false) }) }
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
                match inner.loaded.instantiate().await {
                    Ok(instance) => inner.waiting().push_back(instance),
                    Err(error) => {
                        // A full pool is no fault: the next run tries again.
                        tracing::debug!(%error, "no instance could be made ready");
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
    fn waiting(&self) -> MutexGuard<'_, VecDeque<Instance>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
