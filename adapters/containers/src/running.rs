//! What runs in a container: which sessions are to live on, and the sweep that ends all others.
//!
//! Owns: that what was started is ended when its caller gives up, at whatever moment. Does not own: how it is ended
//! ([`crate::sweep`]).

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use dormouse_core::{Error, Result};
use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};

use crate::patience::again;
use crate::port::Container;
use crate::program::Starts;

/// How long a sweep waits for what is just starting to say which session it is.
const STARTING: Duration = Duration::from_millis(500);

/// The sessions of what is to live on in a container; 0 is one that has not said which it is.
#[derive(Clone, Default)]
pub(crate) struct Sessions {
    all: Arc<Mutex<HashMap<u64, Arc<AtomicU32>>>>,
    /// What is being started, whether or not somebody waits for it still.
    pub(crate) starts: Starts,
}

impl Sessions {
    /// One more, until the answer is dropped.
    pub(crate) fn enter(&self) -> Session {
        let mut all = self.lock();
        let key = all.keys().max().map_or(0, |last| last + 1);
        let number = Arc::new(AtomicU32::new(0));
        all.insert(key, number.clone());
        Session { all: self.clone(), key, number }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Arc<AtomicU32>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All of them, once they are known or had time enough to be.
    pub(crate) async fn known(&self) -> Vec<u32> {
        self.starts.settled().await;
        let until = tokio::time::Instant::now() + STARTING;
        loop {
            let all: Vec<u32> = self.lock().values().map(|number| number.load(Ordering::Acquire)).collect();
            if !all.contains(&0) || tokio::time::Instant::now() >= until {
                return all.into_iter().filter(|number| *number != 0).collect();
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// One that lives on.
pub(crate) struct Session {
    all: Sessions,
    key: u64,
    /// Its number, as soon as it is known.
    pub(crate) number: Arc<AtomicU32>,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.all.lock().remove(&self.key);
    }
}

/// The sweep that goes on, which the next call waits for.
#[derive(Clone, Default)]
pub(crate) struct Sweeping(Arc<Mutex<Option<Sweep>>>);

/// A sweep, which several may wait for, and which goes on when they give up.
type Sweep = Shared<BoxFuture<'static, std::result::Result<(), Arc<Error>>>>;

impl Sweeping {
    /// Begins one, after the one that goes on.
    pub(crate) fn begin(&self, container: &Arc<dyn Container>, sessions: &Sessions) {
        let mut slot = self.lock();
        let (before, own, sessions) = (slot.take(), container.clone(), sessions.clone());
        let swept = container.background().spawn(async move {
            if let Some(before) = before {
                let _swept = before.await;
            }
            own.sweep(&sessions.known().await).await
        });
        *slot = swept.map(|swept| {
            let end = async move {
                match swept.await {
                    Ok(swept) => swept.map_err(Arc::new),
                    Err(error) => Err(Arc::new(Error::internal("a sweep did not come to its end", error))),
                }
            };
            end.boxed().shared()
        });
    }

    /// Waits for its end. It is waited for again when this is dropped before.
    pub(crate) async fn end(&self) -> Result<()> {
        let Some(sweep) = self.lock().clone() else { return Ok(()) };
        let swept = sweep.clone().await;
        let mut slot = self.lock();
        if slot.as_ref().is_some_and(|now| now.ptr_eq(&sweep)) {
            *slot = None;
        }
        swept.map_err(|error| again(&error))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Sweep>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends what was started if it is dropped before it came to its end by itself.
pub(crate) struct Running {
    container: Arc<dyn Container>,
    sessions: Sessions,
    sweeping: Sweeping,
    session: Option<Session>,
}

impl Running {
    pub(crate) fn new(
        container: &Arc<dyn Container>,
        sessions: &Sessions,
        sweeping: &Sweeping,
        session: Session,
    ) -> Self {
        let (container, sessions, sweeping) = (container.clone(), sessions.clone(), sweeping.clone());
        Self { container, sessions, sweeping, session: Some(session) }
    }

    /// It came to its end by itself, or is to live on with the session that this answers.
    pub(crate) fn done(mut self) -> Option<Session> {
        self.session.take()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.session.take().is_some() {
            self.sweeping.begin(&self.container, &self.sessions);
        }
    }
}
