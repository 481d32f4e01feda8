//! What could not be removed: tried again, ever less often, until it is gone.
//!
//! Owns: the list of it. An engine that restarts, or does not answer for a while, keeps containers, and the memory that their
//! files take, only that long. Does not own: the task that works it off ([`crate::shared`]).

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bollard::errors::Error as Fault;
use bollard::query_parameters::{RemoveContainerOptionsBuilder, RemoveVolumeOptionsBuilder};
use dormouse_core::Result;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::engine::Engine;
use crate::fault::is_missing;

/// How long it is waited after a first attempt; twice as long after each further one, up to the longest.
const FIRST: Duration = Duration::from_millis(200);
const LONGEST: Duration = Duration::from_secs(30);
/// How long something may still come to be after its maker gave up waiting for it.
const LATE: Duration = Duration::from_secs(120);

/// What is to be removed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Thing {
    /// A container with its volumes, by id or name.
    Container(String),
    /// A volume, by name.
    Volume(String),
}

impl Thing {
    pub(crate) fn container(id: &str) -> Self {
        Self::Container(id.to_owned())
    }
}

/// When one is tried again.
struct Try {
    at: Instant,
    wait: Duration,
    /// Until then it may be missing and come to be all the same.
    comes_until: Option<Instant>,
}

/// What is left, and when it is tried again.
#[derive(Default)]
pub(crate) struct Leftovers {
    tries: Mutex<HashMap<Thing, Try>>,
    more: Notify,
}

impl Leftovers {
    /// Takes one up, to be removed at once. `late`: it may not be there yet.
    pub(crate) fn add(&self, thing: Thing, late: bool) {
        let now = Instant::now();
        let comes_until = late.then(|| now + LATE);
        self.lock().entry(thing).or_insert(Try { at: now, wait: FIRST, comes_until });
        self.more.notify_one();
    }

    /// When the next is due.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.lock().values().map(|one| one.at).min()
    }

    /// Waits until there is one more.
    pub(crate) async fn added(&self) {
        self.more.notified().await;
    }

    /// Those that are due; all of them at the end.
    fn due(&self, all: bool) -> Vec<Thing> {
        let now = Instant::now();
        self.lock().iter().filter(|(_, one)| all || one.at <= now).map(|(thing, _)| thing.clone()).collect()
    }

    /// Notes what came of an attempt.
    fn tried(&self, thing: &Thing, removed: Result<Removed>) {
        let mut tries = self.lock();
        let Some(one) = tries.get_mut(thing) else { return };
        let now = Instant::now();
        match removed {
            Ok(Removed::Missing) if one.comes_until.is_some_and(|until| now < until) => {}
            Ok(_) => {
                tries.remove(thing);
                return;
            }
            // Once is enough for who reads it: it is tried again until it is gone.
            Err(error) if one.wait == FIRST => tracing::warn!(?thing, %error, "it was not removed yet"),
            Err(error) => tracing::debug!(?thing, %error, again_in = ?one.wait, "it was not removed yet"),
        }
        one.at = now + one.wait;
        one.wait = (one.wait * 2).min(LONGEST);
    }

    /// Tries those that are due. How many are left?
    pub(crate) async fn work(&self, engine: &Engine, all: bool) -> usize {
        for thing in self.due(all) {
            let removed = remove(engine, &thing).await;
            self.tried(&thing, removed);
        }
        self.lock().len()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Thing, Try>> {
        self.tries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What came of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Removed {
    Done,
    /// There is no such thing.
    Missing,
}

/// Removes one.
///
/// # Errors
/// `provider_unavailable` when the engine does not say that it is gone.
pub(crate) async fn remove(engine: &Engine, thing: &Thing) -> Result<Removed> {
    let docker = engine.docker().await?;
    let missing = |answer: std::result::Result<(), Fault>| match answer {
        Err(fault) if is_missing(&fault) => Ok(Removed::Missing),
        answer => answer.map(|()| Removed::Done),
    };
    match thing {
        Thing::Container(id) => {
            let options = RemoveContainerOptionsBuilder::default().v(true).force(true).build();
            let removing = async { missing(docker.remove_container(id, Some(options)).await) };
            engine.ask("remove a container", removing).await
        }
        Thing::Volume(name) => {
            let options = RemoveVolumeOptionsBuilder::default().force(true).build();
            let removing = async { missing(docker.remove_volume(name, Some(options)).await) };
            engine.ask("remove a volume", removing).await
        }
    }
}
