//! Which containers have ended by themselves: a process outside removed one, or the engine was restarted.
//!
//! Owns: one subscription to the engine's events, and that nothing is missed while there is none.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bollard::query_parameters::EventsOptionsBuilder;
use dormouse_containers::identity::{Identity, PROCESS};
use futures::StreamExt as _;

use crate::engine::Engine;
use crate::fault::is_missing;
use crate::reap::filter;

/// How long to wait before a subscription that ended is made again.
const AGAIN: Duration = Duration::from_secs(1);
/// How often all are looked at besides.
const LOOK: Duration = Duration::from_secs(30);

/// The containers that are watched, by id.
#[derive(Default)]
pub(crate) struct Watch {
    watched: Mutex<HashMap<String, Arc<AtomicBool>>>,
    started: AtomicBool,
}

impl Watch {
    /// Watches one. The answer becomes true when it has ended.
    pub(crate) fn add(&self, id: &str) -> Arc<AtomicBool> {
        let gone = Arc::new(AtomicBool::new(false));
        self.watched().insert(id.to_owned(), gone.clone());
        gone
    }

    pub(crate) fn remove(&self, id: &str) {
        self.watched().remove(id);
    }

    /// Whether this call is the one that has to start [`Watch::run`].
    pub(crate) fn must_start(&self) -> bool {
        !self.started.swap(true, Ordering::AcqRel)
    }

    fn watched(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<AtomicBool>>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ended(&self, id: &str) {
        if let Some(gone) = self.watched().get(id) {
            gone.store(true, Ordering::Release);
            tracing::warn!(container = id, "a sandbox's container has ended");
        }
    }

    /// Follows the engine's events for as long as it is polled.
    pub(crate) async fn run(&self, engine: &Engine, identity: &Identity) {
        loop {
            self.follow(engine, identity).await;
            tokio::time::sleep(AGAIN).await;
            self.look(engine).await;
        }
    }

    async fn follow(&self, engine: &Engine, identity: &Identity) {
        let Ok(docker) = engine.docker().await else { return };
        let mut filter = filter(PROCESS, identity.process());
        filter.insert("type", vec!["container".into()]);
        filter.insert("event", vec!["die".into(), "destroy".into()]);
        let options = EventsOptionsBuilder::default().filters(&filter).build();
        let mut events = docker.events(Some(options));
        loop {
            tokio::select! {
                event = events.next() => match event {
                    Some(Ok(event)) => {
                        if let Some(id) = event.actor.and_then(|actor| actor.id) {
                            self.ended(&id);
                        }
                    }
                    _ => return,
                },
                () = tokio::time::sleep(LOOK) => self.look(engine).await,
            }
        }
    }

    /// Looks at each one.
    async fn look(&self, engine: &Engine) {
        let Ok(docker) = engine.docker().await else { return };
        let ids: Vec<String> = self.watched().keys().cloned().collect();
        for id in ids {
            let looked = engine.ask("look at a container", async {
                match docker.inspect_container(&id, None).await {
                    Err(fault) if is_missing(&fault) => Ok(false),
                    looked => looked.map(|found| found.state.and_then(|state| state.running) == Some(true)),
                }
            });
            match looked.await {
                Ok(true) => {}
                Ok(false) => self.ended(&id),
                // An engine that does not answer says nothing about its containers.
                Err(_) => return,
            }
        }
    }
}
