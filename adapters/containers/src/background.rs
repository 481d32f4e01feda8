//! Work that goes to its end whoever gives up waiting for it.
//!
//! Owns: that such work comes to its end before the provider does. Does not own: what is done.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use dormouse_core::{Error, Result};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

use crate::pulse;

/// What goes on in the background of a provider.
#[derive(Debug, Default)]
pub struct Background {
    tasks: TaskTracker,
    runtime: OnceLock<Handle>,
    closed: AtomicBool,
    /// What has no end of its own.
    endless: Mutex<Vec<JoinHandle<()>>>,
}

impl Background {
    /// Notes the runtime of the caller, once: work is given to it from then on, also where no runtime is at hand.
    pub fn here(&self) {
        let _first = self.runtime.set(Handle::current());
    }

    /// Whether nothing is to be begun any more.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Nothing is begun any more.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.tasks.close();
    }

    /// Waits, once it is closed, for the end of all that was begun.
    pub async fn ended(&self) {
        self.tasks.wait().await;
    }

    /// Does something in the background, also where no runtime is at hand, as in a drop. None: nobody has said which runtime
    /// ([`Background::here`]), and nothing is done.
    pub fn spawn<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<JoinHandle<T>> {
        self.runtime.get().map(|runtime| self.tasks.spawn_on(work, runtime))
    }

    /// Does something that has no end of its own on the runtime of the caller, until [`Background::stop`].
    pub fn spawn_endless(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.endless.lock().unwrap_or_else(PoisonError::into_inner).push(tokio::spawn(work));
    }

    /// Ends what has no end of its own.
    pub fn stop(&self) {
        for work in self.endless.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            work.abort();
        }
    }

    /// Does something on the runtime of the caller.
    pub fn spawn_here(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(work);
    }

    /// Does something to its end also when the caller gives up; what comes of it is then dropped before the end, so that
    /// whoever waits for the end waits for the removal as well.
    ///
    /// # Errors
    /// Those of `work`.
    pub async fn finish<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        self.tasks.spawn(async move {
            let _unheard = sender.send(work.await);
        });
        let done = receiver.await;
        pulse::beat();
        done.map_err(|error| Error::internal("a container was not started to the end", error))?
    }
}
