//! One use of what is kept of a sandbox: from when a pod or a claim begins with it until it is known, or not, what it holds.
//!
//! Owns: the order at the end: nothing runs any more, the pod is gone, and only then is it noted
//! what the volume holds. Does not own: whether it is certain what it holds ([`dormouse_containers::volume`]).

use std::sync::Arc;
use std::time::Duration;

use dormouse_containers::volume::{Content, Stage, Volume};
use dormouse_core::Result;
use dormouse_core::sandbox::ChunkId;
use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::{Value as Json, json};
use tokio::sync::watch::Receiver;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::fault::is_missing;
use crate::keep;
use crate::kinds::Kind;
use crate::left::{self, Thing, Which};
use crate::shared::Shared;
use crate::state::{self, State, text};
use crate::watch::Seen;

/// How long the end of a pod is waited for, by who ends it and by who wants its volume.
pub(crate) const ENDS_WITHIN: Duration = Duration::from_secs(20);
/// How often it is looked whether a pod that is not watched is gone.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// A use. Dropped, it is over.
pub(crate) struct Use {
    shared: Arc<Shared>,
    kind: Kind,
    name: String,
    /// The number of the object with that name.
    uid: String,
    user: String,
    pub(crate) volume: Arc<Volume>,
    /// Of a claim: its sandbox, and that one's pod.
    pub(crate) sandbox: Option<(String, String)>,
}

impl Drop for Use {
    fn drop(&mut self) {
        self.shared.uses.end(&self.user);
        self.volume.reach(Stage::Over);
    }
}

impl Use {
    /// One of an object of this kind and name, from before its annotation says so: whoever reads that finds the use here.
    pub(crate) fn begin(shared: &Arc<Shared>, (kind, name, user): (Kind, &str, &str)) -> Self {
        let volume = Arc::new(Volume::default());
        shared.uses.begin(user, &volume);
        let (name, user) = (name.to_owned(), user.to_owned());
        Self { shared: shared.clone(), kind, name, uid: String::new(), user, volume, sandbox: None }
    }

    /// The same, once the object is this user's. It had the files of that state and no others; none: nobody knows what it had.
    pub(crate) fn of(mut self, object: &DynamicObject, found: Option<ChunkId>) -> Self {
        self.uid = object.metadata.uid.clone().unwrap_or_default();
        if let Some(root) = found {
            self.volume.find(root);
        }
        self
    }

    /// The name of what is used.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Ends it with what was made for it, in the background. `late`: that may come to be yet.
    pub(crate) fn end(self, thing: Thing, late: bool, mut seen: Receiver<Seen>) {
        self.volume.reach(Stage::LetGo);
        let shared = self.shared.clone();
        let _ending = shared.background.clone().spawn(async move {
            if self.kind == Kind::Claim {
                self.end_claim(&thing, late, &mut seen).await;
            } else {
                self.end_pod(&thing, late, &mut seen).await;
            }
            shared.watch.remove(&thing.name);
        });
    }

    async fn end_pod(&self, thing: &Thing, late: bool, seen: &mut Receiver<Seen>) {
        if !self.remove(thing, late).await {
            // It may come to be, or go, later; nothing is noted then.
            return;
        }
        let saved = match self.volume.content() {
            Content::Saved(root) => Some(root),
            Content::Unknown => None,
            Content::Useless => {
                let this = Which::Uid(self.uid.clone());
                return self.shared.leftovers.add(Thing::only(Kind::Volume, self.name.as_str(), this), false);
            }
        };
        let gone = timeout(ENDS_WITHIN, seen.wait_for(|seen| matches!(seen, Seen::Gone)));
        let is_gone = matches!(gone.await, Ok(Ok(_)));
        if is_gone {
            self.note(saved.as_ref()).await;
        }
    }

    async fn end_claim(&self, thing: &Thing, late: bool, seen: &mut Receiver<Seen>) {
        if let (Content::Saved(root), false) = (self.volume.content(), late) {
            let suspended = timeout(ENDS_WITHIN, self.suspend(seen)).await;
            if matches!(suspended, Ok(Ok(true))) {
                if !self.note(Some(&root)).await {
                    self.remove_own().await;
                }
                return;
            }
            tracing::debug!(claim = thing.name, ?suspended, "a claimed sandbox is not suspended");
        }
        self.remove(thing, late).await;
    }

    /// Removes a claim of which it is not known whether it rests: then it may be somebody else's by now.
    async fn remove_own(&self) {
        let Ok(Some(claim)) = keep::get(&self.shared.cluster, Kind::Claim, &self.name).await else { return };
        if keep::user_of(&claim) == Some(self.user.as_str()) {
            let version = text(&claim, "/metadata/resourceVersion").unwrap_or_default().to_owned();
            let this = Thing::only(Kind::Claim, self.name.as_str(), Which::Version(version));
            self.shared.leftovers.add(this, false);
        }
    }

    /// Removes what was made, now or later. Whether it is going.
    async fn remove(&self, thing: &Thing, late: bool) -> bool {
        let removed = left::remove(&self.shared.cluster, thing).await;
        let is_going = removed.is_ok() && !late;
        if !is_going {
            self.shared.leftovers.add(thing.clone(), late);
        }
        is_going
    }

    async fn note(&self, root: Option<&ChunkId>) -> bool {
        let noted = keep::note(&self.shared.cluster, self.kind, (&self.name, &self.user), root).await;
        if !matches!(noted, Ok(true)) {
            tracing::debug!(name = self.name, ?noted, "it is not noted what a volume holds");
        }
        noted.unwrap_or_default()
    }

    /// Suspends the sandbox of a claim, and waits until its pod is gone and its claim says so: one that was still called ready would be
    /// taken for one that is ready again. False: it is gone.
    async fn suspend(&self, seen: &mut Receiver<Seen>) -> Result<bool> {
        let Some((sandbox, pod)) = &self.sandbox else { return Ok(false) };
        operate(&self.shared, sandbox, false).await?;
        let rests = |seen: &Seen| match seen {
            Seen::Object(claim) => state::of_claim(claim) != State::Ready,
            Seen::Nothing | Seen::Gone => true,
        };
        let is_there = seen.wait_for(rests).await.is_ok_and(|seen| matches!(&*seen, Seen::Object(_)));
        if is_there {
            while get_pod(&self.shared, pod).await?.is_some() {
                sleep(LOOK_AGAIN).await;
            }
        }
        Ok(is_there)
    }
}

/// Sets whether a sandbox of agent-sandbox runs.
///
/// # Errors
/// `provider_unavailable`.
pub(crate) async fn operate(shared: &Shared, sandbox: &str, runs: bool) -> Result<()> {
    let what = if runs { "resume a claimed sandbox" } else { "suspend a claimed sandbox" };
    let mode = if runs { "Running" } else { "Suspended" };
    let change = json!({"spec": {"operatingMode": mode}});
    let api = shared.cluster.of(Kind::Sandbox).await?;
    let options = PatchParams::default();
    shared.cluster.ask(what, api.patch(sandbox, &options, &Patch::Merge(&change))).await.map(drop)
}

async fn get_pod(shared: &Shared, name: &str) -> Result<Option<Json>> {
    let what = "look at a pod";
    let api = shared.cluster.of(Kind::Pod).await?;
    match shared.cluster.asked(what, api.get(name)).await? {
        Err(fault) if is_missing(&fault) => Ok(None),
        Err(fault) => Err(crate::fault::wrong(what, fault)),
        Ok(pod) => Ok(serde_json::to_value(&pod).ok()),
    }
}

/// Waits until a user of this process has ended. None: it is no user of this process. False: it goes on, or takes too long.
pub(crate) async fn ended(shared: &Shared, user: &str, until: Instant) -> Option<bool> {
    let volume = shared.uses.of(user)?;
    Some(volume.stage() != Stage::Used && timeout_at(until, volume.over()).await.is_ok())
}

/// Waits until the pod of a user that is one no more is gone. False: it takes too long.
///
/// # Errors
/// `provider_unavailable`.
pub(crate) async fn pod_ended(shared: &Shared, name: &str, until: Instant) -> Result<bool> {
    let mut asked = false;
    while let Some(pod) = get_pod(shared, name).await? {
        if !(asked || keep::is_going(&pod)) {
            left::remove(&shared.cluster, &Thing::with_volume(name)).await?;
            asked = true;
        }
        if Instant::now() >= until {
            return Ok(false);
        }
        sleep(LOOK_AGAIN).await;
    }
    Ok(true)
}
