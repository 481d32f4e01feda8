//! What is known of a `/workspace` that outlives its container: one that is to be looked into before it is relied on.
//!
//! Owns: what one use of it knows, from the engine that finds it to the engine that notes what it holds at the end. Does not own: what
//! makes that certain ([`crate::lasting`]).

use std::sync::{Mutex, MutexGuard, PoisonError};

use dormouse_core::sandbox::ChunkId;
use tokio::sync::watch;

/// How far the use of a volume by one container is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// A sandbox is awake in it.
    Used,
    /// No call comes any more; what it holds may be being looked at, and the container being removed.
    LetGo,
    /// The container is gone, and what is known of the volume is noted.
    Over,
}

/// What is known of what a volume holds at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Nothing.
    Unknown,
    /// The files of the state that was saved under this chunk, and nothing else.
    Saved(ChunkId),
    /// What cannot be used any more.
    Useless,
}

/// The volume of a container.
#[derive(Debug)]
pub struct Volume {
    /// The state whose files it had when the container began, until somebody relies on it.
    found: Mutex<Option<ChunkId>>,
    content: Mutex<Content>,
    stage: watch::Sender<Stage>,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Default for Volume {
    /// One of which nobody knows what it has.
    fn default() -> Self {
        let (found, content) = (Mutex::default(), Mutex::new(Content::Unknown));
        Self { found, content, stage: watch::Sender::new(Stage::Used) }
    }
}

impl Volume {
    /// What it had, for who relies on it now: nobody does a second time.
    pub(crate) fn rely(&self) -> Option<ChunkId> {
        lock(&self.found).take()
    }

    /// Notes that it has the files of this state and no others, before anything has run in its container.
    pub fn find(&self, root: ChunkId) {
        *lock(&self.found) = Some(root);
    }

    /// What it holds, as far as is known now that it is not used any more.
    pub fn content(&self) -> Content {
        *lock(&self.content)
    }

    /// Notes what it holds. Nothing makes one useful again.
    pub fn note(&self, content: Content) {
        let mut now = lock(&self.content);
        if *now != Content::Useless {
            *now = content;
        }
    }

    /// Notes how far its use is. It never goes back.
    pub fn reach(&self, stage: Stage) {
        self.stage.send_if_modified(|now| {
            let further = stage > *now;
            *now = stage.max(*now);
            further
        });
    }

    /// How far its use is.
    pub fn stage(&self) -> Stage {
        *self.stage.borrow()
    }

    /// Waits until its use is over, for ever if need be.
    pub async fn over(&self) {
        let mut stage = self.stage.subscribe();
        let _never_closed = stage.wait_for(|stage| *stage == Stage::Over).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_known_of_a_volume_never_becomes_more_than_it_was() {
        let volume = Volume::default();
        assert_eq!((volume.content(), volume.stage()), (Content::Unknown, Stage::Used));
        volume.note(Content::Useless);
        volume.note(Content::Saved(ChunkId::of(b"x")));
        assert_eq!(volume.content(), Content::Useless);
        volume.reach(Stage::Over);
        volume.reach(Stage::LetGo);
        volume.over().await;
        assert_eq!(volume.stage(), Stage::Over);
    }
}
