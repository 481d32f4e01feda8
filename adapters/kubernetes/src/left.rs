//! What is ours in a namespace that others use as well, and what a process of ours left behind.

use std::collections::BTreeSet;

use dormouse_containers::identity::{Identity, OWNER, PROCESS};
use dormouse_containers::leftovers::Removed;
use dormouse_core::Result;
use dormouse_core::sandbox::SandboxId;
use kube::api::{DeleteParams, DynamicObject, ListParams, Preconditions};

use crate::cluster::Cluster;
use crate::fault::{is_missing, status};
use crate::keep;
use crate::kinds::Kind;

/// Seconds that a pod with a volume of its sandbox has for its end. With none the API server forgets a pod before its node has ended
/// it, and nobody would know when the next one may have the volume.
pub(crate) const GRACE: u32 = 1;

/// What is to be removed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Thing {
    pub(crate) kind: Kind,
    pub(crate) name: String,
    /// Seconds that a pod has for its end.
    grace: u32,
    /// None: whatever has the name.
    only: Option<Which>,
}

impl std::fmt::Display for Thing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (_, _, kind, _) = self.kind.names();
        write!(f, "{kind} {}", self.name)
    }
}

/// Which of the objects that may have a name one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Which {
    /// The one with this number.
    Uid(String),
    /// One that nobody has changed since it had this version.
    Version(String),
}

impl Thing {
    /// One that nobody waits for the end of.
    pub(crate) fn new(kind: Kind, name: impl Into<String>) -> Self {
        Self { kind, name: name.into(), grace: 0, only: None }
    }

    /// One of those that may have this name one after the other.
    pub(crate) fn only(kind: Kind, name: impl Into<String>, which: Which) -> Self {
        Self { only: Some(which), ..Self::new(kind, name) }
    }

    /// A pod with a volume of its sandbox.
    pub(crate) fn with_volume(name: impl Into<String>) -> Self {
        Self { grace: GRACE, ..Self::new(Kind::Pod, name) }
    }
}

/// Removes one.
///
/// # Errors
/// `provider_unavailable` when the cluster does not say that it is going.
pub(crate) async fn remove(cluster: &Cluster, thing: &Thing) -> Result<Removed> {
    let api = cluster.of(thing.kind).await?;
    let preconditions = thing.only.as_ref().map(|only| match only {
        Which::Uid(uid) => Preconditions { uid: Some(uid.clone()), resource_version: None },
        Which::Version(version) => Preconditions { uid: None, resource_version: Some(version.clone()) },
    });
    let options = DeleteParams {
        preconditions,
        grace_period_seconds: (thing.kind == Kind::Pod).then_some(thing.grace),
        ..DeleteParams::background()
    };
    let removed = async {
        match api.delete(&thing.name, &options).await {
            Err(fault) if is_missing(&fault) => Ok(Removed::Missing),
            // What was meant is gone, or not left behind any more.
            Err(fault) if thing.only.is_some() && status(&fault) == Some(409) => Ok(Removed::Done),
            removed => removed.map(|_| Removed::Done),
        }
    };
    cluster.ask("remove what was made in the cluster", removed).await
}

/// The label that finds what one installation, or one process of it, has made.
pub(crate) fn selector(label: &str, value: &str) -> String {
    format!("{label}={value}")
}

/// All objects of a kind that an installation has made.
///
/// # Errors
/// `provider_unavailable`.
pub(crate) async fn all(cluster: &Cluster, kind: Kind, identity: &Identity) -> Result<Vec<DynamicObject>> {
    let api = cluster.of(kind).await?;
    let options = ListParams::default().labels(&selector(OWNER, identity.owner()));
    let listed = cluster.ask("list what was made in the cluster", api.list(&options)).await?;
    Ok(listed.items)
}

/// What an installation keeps of a sandbox, in use or not.
///
/// # Errors
/// `provider_unavailable`.
pub(crate) async fn of_sandbox(
    cluster: &Cluster,
    kind: Kind,
    (identity, id): (&Identity, &SandboxId),
) -> Result<Vec<DynamicObject>> {
    let both = [selector(OWNER, identity.owner()), selector(keep::SANDBOX, id.as_str())];
    let api = cluster.of(kind).await?;
    let options = ListParams::default().labels(&both.join(","));
    let listed = cluster.ask("list what is kept of a sandbox", api.list(&options)).await?;
    Ok(listed.items)
}

/// The sandboxes of which an installation keeps something of a kind: those that its labels name.
///
/// # Errors
/// `provider_unavailable`.
pub(crate) async fn kept(cluster: &Cluster, kind: Kind, identity: &Identity) -> Result<Vec<SandboxId>> {
    let all = all(cluster, kind, identity).await?.into_iter();
    let there = all.filter(|object| object.metadata.deletion_timestamp.is_none());
    let label = |object: DynamicObject| SandboxId::parse(object.metadata.labels?.get(keep::SANDBOX)?);
    Ok(there.filter_map(label).collect())
}

/// What processes of this installation left behind that are no more. A claim that rests is not left behind.
///
/// # Errors
/// `provider_unavailable`.
pub(crate) async fn orphans(cluster: &Cluster, kind: Kind, identity: &Identity) -> Result<Vec<Thing>> {
    if !identity.lasts() {
        return Ok(Vec::new());
    }
    let all: Vec<(String, Thing)> = all(cluster, kind, identity)
        .await?
        .into_iter()
        .filter(|object| !keep::rests(object))
        .filter_map(|object| {
            let mut labels = object.metadata.labels?;
            let (process, name) = (labels.remove(PROCESS)?, object.metadata.name?);
            let has_volume = kind == Kind::Pod && labels.contains_key(keep::SANDBOX);
            let thing = match (kind, object.metadata.resource_version) {
                (Kind::Pod, _) if has_volume => Thing::with_volume(name),
                // Another process may begin to use it meanwhile.
                (Kind::Claim, Some(version)) => Thing::only(kind, name, Which::Version(version)),
                _ => Thing::new(kind, name),
            };
            Some((process, thing))
        })
        .collect();
    let mut over: BTreeSet<&String> = all.iter().map(|(process, _)| process).collect();
    over.retain(|process| identity.is_over(process));
    let left: Vec<Thing> =
        all.iter().filter(|(process, _)| over.contains(process)).map(|(_, thing)| thing.clone()).collect();
    if !left.is_empty() {
        tracing::info!(
            left = left.len(),
            "earlier processes left sandboxes in the cluster, which are removed"
        );
    }
    Ok(left)
}
