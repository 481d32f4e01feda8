//! What becomes of the objects that this process has made: one list and one watch for all of them, whoever waits for how many.
//!
//! Owns: that nothing is missed while there is no watch: it goes on where it was, and when the server has forgotten that place
//! (410), or the watch broke off, all objects are listed again. Does not own: what an object's state means ([`crate::state`]).

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt as _;
use kube::api::{DynamicObject, ListParams, WatchEvent, WatchParams};
use serde_json::Value as Json;
use tokio::sync::watch::{Receiver, Sender, channel};
use tokio::time::timeout;

use crate::cluster::Cluster;
use crate::kinds::Kind;
use crate::state::text;

/// How long it is waited before a watch that ended is made again; twice as long each time, up to the longest.
const AGAIN: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);
/// How long a server is asked to keep a watch (290 s), and how long nothing may come of one: then it is made anew.
const KEPT: u32 = 290;
const SILENT: Duration = Duration::from_secs(300);

/// What is known of an object.
#[derive(Clone, Debug, Default)]
pub(crate) enum Seen {
    /// Nothing yet.
    #[default]
    Nothing,
    /// As it was last.
    Object(Arc<Json>),
    /// It is gone.
    Gone,
}

/// The objects that are watched, by name.
#[derive(Default)]
pub(crate) struct Watch {
    watched: Mutex<HashMap<String, Sender<Seen>>>,
    started: AtomicBool,
}

impl Watch {
    /// Watches one, which need not be there yet.
    pub(crate) fn add(&self, name: &str) -> Receiver<Seen> {
        let (sender, receiver) = channel(Seen::Nothing);
        self.watched().insert(name.to_owned(), sender);
        receiver
    }

    pub(crate) fn remove(&self, name: &str) {
        self.watched().remove(name);
    }

    /// Whether this call is the one that has to start [`Watch::run`].
    pub(crate) fn must_start(&self) -> bool {
        !self.started.swap(true, Ordering::AcqRel)
    }

    fn watched(&self) -> std::sync::MutexGuard<'_, HashMap<String, Sender<Seen>>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what an object is now.
    pub(crate) fn note(&self, object: &DynamicObject) {
        let Some(name) = object.metadata.name.as_deref() else { return };
        let watched = self.watched();
        let Some(sender) = watched.get(name) else { return };
        if let Ok(json) = serde_json::to_value(object) {
            let newer = |seen: &mut Seen| {
                let old = matches!(seen, Seen::Object(before) if version(before) > version(&json));
                if !old && !matches!(seen, Seen::Gone) {
                    *seen = Seen::Object(Arc::new(json));
                    return true;
                }
                false
            };
            sender.send_if_modified(newer);
        }
    }

    /// Notes that an object is gone, as it was last. One that was seen later has come back: a claim can be another process's for a while,
    /// which does not carry our label then.
    pub(crate) fn note_gone(&self, object: &DynamicObject) {
        let watched = self.watched();
        let Some(sender) = watched.get(object.metadata.name.as_deref().unwrap_or_default()) else { return };
        let at = object.metadata.resource_version.as_deref().and_then(|version| version.parse().ok());
        let gone = |seen: &mut Seen| {
            let gone = matches!(seen, Seen::Object(before) if version(before) <= at.unwrap_or(u64::MAX));
            if gone {
                *seen = Seen::Gone;
            }
            gone
        };
        sender.send_if_modified(gone);
    }

    /// Notes all that there were at a version: what was seen before that and is not among them is gone.
    fn note_all(&self, objects: &[DynamicObject], at: u64) {
        objects.iter().for_each(|object| self.note(object));
        let there: Vec<&str> = objects.iter().filter_map(|object| object.metadata.name.as_deref()).collect();
        for (name, sender) in self.watched().iter() {
            let before = matches!(&*sender.borrow(), Seen::Object(seen) if version(seen) <= at);
            let lost = before && !there.contains(&name.as_str());
            if lost {
                sender.send_replace(Seen::Gone);
            }
        }
    }

    /// Follows what carries a label for as long as it is polled.
    pub(crate) async fn run(&self, cluster: &Cluster, kind: Kind, selector: &str) {
        let mut wait = AGAIN;
        loop {
            match self.follow(cluster, kind, selector).await {
                Ok(()) => wait = AGAIN,
                Err(error) => {
                    tracing::debug!(%error, "what was made in the cluster is not watched for the moment");
                    tokio::time::sleep(wait).await;
                    wait = (wait * 2).min(LONGEST);
                }
            }
        }
    }

    /// One list, and watches from there on, until the place is forgotten.
    async fn follow(&self, cluster: &Cluster, kind: Kind, selector: &str) -> dormouse_core::Result<()> {
        let api = cluster.of(kind).await?;
        let listed = ListParams::default().labels(selector);
        let listed = cluster.ask("list what was made in the cluster", api.list(&listed)).await?;
        let mut place = listed.metadata.resource_version.unwrap_or_else(|| "0".into());
        self.note_all(&listed.items, place.parse().unwrap_or(u64::MAX));
        let watched = WatchParams::default().labels(selector).timeout(KEPT);
        loop {
            let opened = api.watch(&watched, &place);
            let mut events = Box::pin(cluster.ask("watch what was made in the cluster", opened).await?);
            while let Ok(Some(event)) = timeout(SILENT, events.next()).await {
                match event {
                    Ok(WatchEvent::Added(object) | WatchEvent::Modified(object)) => {
                        self.note(&object);
                        place = object.metadata.resource_version.unwrap_or(place);
                    }
                    Ok(WatchEvent::Deleted(object)) => {
                        self.note_gone(&object);
                        place = object.metadata.resource_version.unwrap_or(place);
                    }
                    Ok(WatchEvent::Bookmark(mark)) => place = mark.metadata.resource_version,
                    Ok(WatchEvent::Error(status)) if status.code == 410 => return Ok(()),
                    Ok(WatchEvent::Error(status)) => {
                        return Err(crate::fault::unavailable(crate::fault::shown(&status.message)));
                    }
                    Err(fault) => {
                        return Err(crate::fault::wrong("watch what was made in the cluster", fault));
                    }
                }
            }
            // A server that ends each watch at once is not asked without a pause.
            tokio::time::sleep(AGAIN).await;
        }
    }
}

/// The version of an object as a number, which it is on every server that there is.
fn version(object: &Json) -> u64 {
    text(object, "/metadata/resourceVersion").and_then(|version| version.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(name: &str, version: u32) -> DynamicObject {
        serde_json::from_value(json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "resourceVersion": version.to_string()}}))
        .unwrap()
    }

    #[test]
    fn an_object_that_a_list_does_not_have_is_gone_only_if_it_was_seen_before() {
        let watch = Watch::default();
        let (one, two) = (watch.add("one"), watch.add("two"));
        watch.note_all(&[object("one", 3), object("other", 1)], 3);
        assert!(matches!(*one.borrow(), Seen::Object(_)) && matches!(*two.borrow(), Seen::Nothing));
        // What comes late is older than what is known.
        watch.note(&object("one", 2));
        let Seen::Object(known) = one.borrow().clone() else { panic!("it is there") };
        assert_eq!(version(&known), 3);
        // A list that is older than what is known of it says nothing of it.
        watch.note_all(&[], 2);
        assert!(matches!(*one.borrow(), Seen::Object(_)));
        watch.note_all(&[], 4);
        assert!(matches!(*one.borrow(), Seen::Gone) && matches!(*two.borrow(), Seen::Nothing));
        // Nothing brings back what is gone: another one is watched anew.
        watch.note(&object("one", 9));
        assert!(matches!(*one.borrow(), Seen::Gone));
    }
}
