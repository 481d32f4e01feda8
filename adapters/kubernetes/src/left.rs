//! What is ours in a namespace that others use as well, and what a process of ours left behind.

use std::collections::BTreeSet;

use dormouse_containers::identity::{Identity, OWNER, PROCESS};
use dormouse_containers::leftovers::Removed;
use dormouse_core::Result;
use kube::api::{DeleteParams, DynamicObject, ListParams};

use crate::cluster::Cluster;
use crate::fault::is_missing;
use crate::kinds::Kind;

/// What is to be removed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Thing {
    pub(crate) kind: Kind,
    pub(crate) name: String,
}

/// Removes one.
///
/// # Errors
/// `provider_unavailable` when the cluster does not say that it is going.
pub(crate) async fn remove(cluster: &Cluster, thing: &Thing) -> Result<Removed> {
    let api = cluster.of(thing.kind).await?;
    let options = DeleteParams {
        grace_period_seconds: (thing.kind == Kind::Pod).then_some(0),
        ..DeleteParams::background()
    };
    let removed = async {
        match api.delete(&thing.name, &options).await {
            Err(fault) if is_missing(&fault) => Ok(Removed::Missing),
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

/// What processes of this installation left behind that are no more.
///
/// # Errors
/// `provider_unavailable`.
pub(crate) async fn orphans(cluster: &Cluster, kind: Kind, identity: &Identity) -> Result<Vec<Thing>> {
    if !identity.lasts() {
        return Ok(Vec::new());
    }
    let all: Vec<(String, String)> = all(cluster, kind, identity)
        .await?
        .into_iter()
        .filter_map(|object| {
            let process = object.metadata.labels?.remove(PROCESS)?;
            Some((process, object.metadata.name?))
        })
        .collect();
    let mut over: BTreeSet<&String> = all.iter().map(|(process, _)| process).collect();
    over.retain(|process| identity.is_over(process));
    let left: Vec<Thing> = all
        .iter()
        .filter(|(process, _)| over.contains(process))
        .map(|(_, name)| Thing { kind, name: name.clone() })
        .collect();
    if !left.is_empty() {
        tracing::info!(
            left = left.len(),
            "earlier processes left sandboxes in the cluster, which are removed"
        );
    }
    Ok(left)
}
