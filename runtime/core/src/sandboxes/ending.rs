//! How calls of a sandbox are ended by somebody else: by its end, or by a stop that has waited long enough.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use crate::{Error, ErrorCode, Result};

/// Why calls are ended. The later one of this list is what is said when there are two reasons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Why {
    /// The sandbox is being put away.
    #[default]
    Stopped,
    /// It is being destroyed.
    Destroyed,
}

impl Why {
    /// What a call is told that was ended.
    pub(super) fn error(self) -> Error {
        match self {
            Self::Stopped => Error::new(ErrorCode::Cancelled, "the sandbox is being stopped")
                .with_hint("call again, which wakes it; files that the call has written are kept"),
            Self::Destroyed => Error::new(ErrorCode::Cancelled, "the sandbox is being destroyed")
                .with_hint("its variables and files are gone; sandbox_create creates another"),
        }
    }
}

/// The ends that are going on of one sandbox's calls.
#[derive(Default)]
pub(super) struct Endings(Mutex<State>);

#[derive(Default)]
struct State {
    ended: CancellationToken,
    /// The same for its end alone: a stop saves what stands.
    destroyed: CancellationToken,
    why: Why,
    /// Calls whose turn has a smaller number are ended; those behind a stop are not its concern.
    before: u64,
    /// How many go on.
    count: usize,
}

impl Endings {
    /// Ends the call that runs and those that wait before the turn of this number, for as long as the answer lives.
    pub(super) fn begin(self: &Arc<Self>, why: Why, before: u64) -> Ending {
        let mut state = self.state();
        state.why = if state.count == 0 { why } else { state.why.max(why) };
        state.before = if state.count == 0 { before } else { state.before.max(before) };
        state.count += 1;
        state.ended.cancel();
        if why == Why::Destroyed {
            state.destroyed.cancel();
        }
        Ending(self.clone())
    }

    /// Waits for `work`, unless calls are ended meanwhile, or are already.
    ///
    /// # Errors
    /// `cancelled` then, and those of `work`.
    pub(super) async fn unless<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let ended = self.state().ended.clone();
        tokio::select! {
            biased;
            () = ended.cancelled() => Err(self.error()),
            done = work => done,
        }
    }

    /// Waits for `work`, which takes what is to be saved, unless the sandbox is destroyed meanwhile, or is already.
    ///
    /// # Errors
    /// `cancelled` then, and those of `work`.
    pub(super) async fn unless_destroyed<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let destroyed = self.state().destroyed.clone();
        tokio::select! {
            biased;
            () = destroyed.cancelled() => Err(Why::Destroyed.error()),
            done = work => done,
        }
    }

    /// Waits for what a call needs before its turn, which has this number, unless it has to wait and such calls are ended
    /// meanwhile.
    ///
    /// # Errors
    /// `cancelled` then, and those of `work`.
    pub(super) async fn while_waiting<T>(
        &self,
        number: u64,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let ended = self.state().ended.clone();
        let mut work = std::pin::pin!(work);
        tokio::select! {
            biased;
            done = work.as_mut() => return done,
            () = ended.cancelled() => {}
        }
        if number < self.state().before {
            return Err(self.error());
        }
        self.unless_destroyed(work).await
    }

    /// Refuses a call while calls are ended.
    ///
    /// # Errors
    /// `cancelled`.
    pub(super) fn check(&self) -> Result<()> {
        if self.state().ended.is_cancelled() { Err(self.error()) } else { Ok(()) }
    }

    fn error(&self) -> Error {
        self.state().why.error()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The time in which calls are ended. Afterwards calls go on.
pub(super) struct Ending(Arc<Endings>);

impl Drop for Ending {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.count -= 1;
        if state.count == 0 {
            (state.ended, state.destroyed) = Default::default();
        }
    }
}
