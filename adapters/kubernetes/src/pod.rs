//! One pod that runs, and its end.
//!
//! Owns: that a pod or a claim which was made is removed, whoever gives up when. Does not own: what is done in it.

use std::sync::{Arc, Mutex, PoisonError};

use dormouse_containers::Patience;
use dormouse_containers::exec::run_own;
use dormouse_containers::program::{Exec, Program};
use dormouse_containers::tools::{self, Tools};
use dormouse_containers::volume::Volume;
use dormouse_core::{Error, ErrorCode, Result};
use kube::api::DynamicObject;
use serde_json::Value as Json;
use tokio::sync::watch::Receiver;

use crate::fault::is_missing;
use crate::kinds::Kind;
use crate::left::Thing;
use crate::manifest;
use crate::shared::Shared;
use crate::state::{self, State};
use crate::using::Use;
use crate::watch::Seen;

/// What to do where an image has no shell.
const NO_SHELL: &str = "use an image with `sh` and `tar`, such as one of Debian, Alpine or busybox, or have the operator name a `helper_image`";

/// What was made in the cluster, and is removed when this is dropped.
pub(crate) struct Made {
    shared: Arc<Shared>,
    pub(crate) thing: Thing,
    pub(crate) seen: Receiver<Seen>,
    /// Whether it may come to be after this is dropped.
    late: bool,
    /// What it has of its sandbox that outlives it.
    pub(crate) used: Option<Use>,
}

impl Drop for Made {
    fn drop(&mut self) {
        match self.used.take() {
            Some(used) => used.end(self.thing.clone(), self.late, self.seen.clone()),
            None => self.shared.remove(self.thing.clone(), self.late),
        }
    }
}

impl Made {
    /// Makes one, and watches it from before it is there.
    ///
    /// # Errors
    /// What keeps the cluster from it.
    pub(crate) async fn create(
        shared: &Arc<Shared>,
        kind: Kind,
        name: &str,
        manifest: Json,
        used: Option<Use>,
    ) -> Result<Self> {
        let what = format!("make a {}", kind.names().2);
        let object: DynamicObject = serde_json::from_value(manifest)
            .map_err(|error| Error::internal("a manifest cannot be written", error))?;
        let api = shared.cluster.of(kind).await?;
        let seen = shared.watch.add(name);
        let has_volume = used.is_some() && kind == Kind::Pod;
        let thing = if has_volume { Thing::with_volume(name) } else { Thing::new(kind, name) };
        let mut made = Self { shared: shared.clone(), thing, seen, late: true, used };
        let options = kube::api::PostParams::default();
        match shared.cluster.asked(&what, api.create(&options, &object)).await? {
            Ok(object) => {
                made.late = false;
                shared.watch.note(&object);
                Ok(made)
            }
            Err(fault) => {
                made.late = !crate::fault::is_refusal(&fault);
                Err(crate::fault::wrong(&what, fault))
            }
        }
    }

    /// A claim that was there, as it was when this process took it.
    pub(crate) fn found(shared: &Arc<Shared>, claim: &DynamicObject, used: Use) -> Self {
        let seen = shared.watch.add(used.name());
        shared.watch.note(claim);
        let thing = Thing::new(Kind::Claim, used.name());
        Self { shared: shared.clone(), thing, seen, late: false, used: Some(used) }
    }

    /// Waits until it is ready, and answers what it is then.
    ///
    /// # Errors
    /// `capability_unavailable` when it never will be; `provider_unavailable` when it has ended, or takes too long.
    pub(crate) async fn ready(&mut self, of: fn(&Json) -> State, name: &str) -> Result<Arc<Json>> {
        let within = self.shared.settings.ready_within();
        let mut told = String::new();
        let waiting = async {
            loop {
                let seen = self.seen.borrow_and_update().clone();
                let state = match &seen {
                    Seen::Object(object) => of(object),
                    Seen::Nothing => State::Coming("nothing is known of it yet".into()),
                    Seen::Gone => State::Ended("somebody removed it".into()),
                };
                match (state, seen) {
                    (State::Ready, Seen::Object(object)) => return Ok(object),
                    (State::Failed(why), _) => {
                        return Err(Error::new(
                            ErrorCode::CapabilityUnavailable,
                            format!("`{name}` cannot be had from the cluster: {why}"),
                        )
                        .with_hint(hint(&why)));
                    }
                    (State::Ended(why), _) => {
                        let what = format!("what was made of `{name}` ended before it was ready: {why}");
                        return Err(crate::fault::unavailable(what).with_hint(hint(&why)));
                    }
                    (State::Coming(why), _) if why != told => {
                        tracing::info!(name = self.thing.name, why, "a sandbox is waited for in the cluster");
                        told = why;
                    }
                    _ => {}
                }
                if self.seen.changed().await.is_err() {
                    return Err(crate::fault::unavailable("the provider was closed"));
                }
            }
        };
        let waited = dormouse_containers::pulse::excused(tokio::time::timeout(within, waiting)).await;
        waited.unwrap_or_else(|_| {
            Err(crate::fault::unavailable(format!(
                "`{name}` was not ready within {} ms: {told}",
                within.as_millis()
            ))
            .with_hint("the cluster may have no room for it, or a pool is dry: `dormouse doctor` looks"))
        })
    }

    /// Why it has ended, as far as is known; nothing: it has not.
    fn ended(&self, of: fn(&Json) -> State) -> Option<String> {
        match &*self.seen.borrow() {
            Seen::Object(object) => match of(object) {
                State::Ended(why) => Some(why),
                _ => None,
            },
            Seen::Gone => Some("somebody removed it".into()),
            Seen::Nothing => None,
        }
    }
}

/// What to do about what cannot be started.
fn hint(why: &str) -> &'static str {
    match why.contains("executable file not found") || why.contains("no such file or directory") {
        true => NO_SHELL,
        false => "the cluster's events say more: `kubectl get events`",
    }
}

/// What a pod is, for who runs something in it.
pub(crate) struct Own {
    /// Its name.
    pub(crate) pod: String,
    /// The container that is the sandbox's; none: the first.
    pub(crate) container: Option<String>,
    /// Whether that has the helper for images without a shell.
    pub(crate) helped: bool,
    /// Whether there is one beside it that leads to the gate.
    pub(crate) has_gate: bool,
}

/// A pod in which a sandbox runs.
pub(crate) struct RunningPod {
    pub(crate) shared: Arc<Shared>,
    pub(crate) own: Own,
    /// What people call what it was made of.
    pub(crate) reference: String,
    pub(crate) memory: u64,
    pub(crate) tools: Arc<Tools>,
    made: Made,
    /// Why it has ended, if it was asked.
    looked: Mutex<Option<String>>,
}

impl RunningPod {
    /// One that is ready, with what its image has.
    ///
    /// # Errors
    /// `capability_unavailable` when the image has no shell; `provider_unavailable`.
    pub(crate) async fn new(
        shared: &Arc<Shared>,
        made: Made,
        own: Own,
        (reference, memory): (String, u64),
    ) -> Result<Self> {
        let mut running = Self {
            shared: shared.clone(),
            own,
            reference,
            memory,
            tools: Arc::default(),
            made,
            looked: Mutex::default(),
        };
        running.tools = match shared.tools.of(&running.reference) {
            Some(tools) => tools,
            None => shared.tools.note(&running.reference, running.probe().await?),
        };
        Ok(running)
    }

    async fn probe(&self) -> Result<Tools> {
        let written = run_own(self, tools::probe(), Vec::new()).await?;
        tools::found(&written).ok_or_else(|| {
            Error::new(
                ErrorCode::CapabilityUnavailable,
                format!("`{}` has no shell: `sh` does not run in it", self.reference),
            )
            .with_hint(NO_SHELL)
        })
    }

    /// Starts a program in it.
    ///
    /// # Errors
    /// `provider_unavailable`.
    pub(crate) async fn start(&self, exec: Exec, input: bool) -> Result<Program> {
        let at = (self.own.pod.as_str(), self.own.container.as_deref(), self.own.helped);
        crate::exec::program(&self.shared.cluster, at, &exec, input).await
    }

    /// The same, for who waits for it elsewhere. In a pod of a pool it has the variables that a pod of our own has: those of the pod are
    /// its template's.
    pub(crate) fn starting(
        &self,
        mut exec: Exec,
        input: bool,
    ) -> impl Future<Output = Result<Program>> + Send + use<> {
        if self.made.thing.kind == Kind::Claim {
            let has_network = self.shared.settings.network_of(&self.reference).is_some();
            let usual = manifest::environment(has_network).into_iter();
            let usual = usual.map(|(name, value)| format!("{name}={value}"));
            exec.environment = usual.chain(exec.environment).collect();
        }
        let (shared, pod, container) =
            (self.shared.clone(), self.own.pod.clone(), self.own.container.clone());
        let helped = self.own.helped;
        async move {
            crate::exec::program(&shared.cluster, (&pod, container.as_deref(), helped), &exec, input).await
        }
    }

    /// What it has of its sandbox that outlives it.
    pub(crate) fn volume(&self) -> Option<&Volume> {
        self.made.used.as_ref().map(|used| used.volume.as_ref())
    }

    pub(crate) fn patience(&self) -> &Patience {
        &self.shared.patience
    }

    /// Why it has ended, as far as is known.
    pub(crate) fn ended(&self) -> Option<String> {
        let of = if self.made.thing.kind == Kind::Pod { state::of_pod } else { state::of_claim };
        let looked = || self.looked.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.made.ended(of).or_else(looked)
    }

    /// What the cluster calls what was made for it.
    pub(crate) fn name(&self) -> &str {
        &self.made.thing.name
    }

    /// Asks the API server whether it has ended, before the watch says so. One that does not answer says nothing.
    pub(crate) async fn look(&self) {
        let Ok(api) = self.shared.cluster.of(Kind::Pod).await else { return };
        let looked = self.shared.cluster.asked("look at a pod", api.get(&self.own.pod)).await;
        let why = match looked {
            Ok(Err(fault)) if is_missing(&fault) => Some("it is gone".to_owned()),
            Ok(Ok(pod)) => serde_json::to_value(&pod).ok().and_then(|pod| match state::of_pod(&pod) {
                State::Ended(why) => Some(why),
                _ => state::container_ended(&pod, Some(self.own.container.as_deref()?)),
            }),
            _ => None,
        };
        if why.is_some() {
            *self.looked.lock().unwrap_or_else(PoisonError::into_inner) = why;
        }
    }
}
