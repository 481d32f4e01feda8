//! What is ours on an engine that others use as well, and what a process of ours left behind.
//!
//! Owns: finding it by its labels. Does not own: who we are ([`dormouse_containers::identity`]), and its removal.

use std::collections::{BTreeSet, HashMap, HashSet};

use bollard::query_parameters::{ListContainersOptionsBuilder, ListVolumesOptionsBuilder};
use dormouse_containers::identity::{Identity, OWNER, PROCESS};
use dormouse_core::Result;

use crate::engine::Engine;
use crate::thing::Thing;

/// The filter that finds what carries one of the labels.
pub(crate) fn filter(label: &str, value: &str) -> HashMap<&'static str, Vec<String>> {
    HashMap::from([("label", vec![format!("{label}={value}")])])
}

/// The names of the installation's containers and volumes.
///
/// # Errors
/// `provider_unavailable`.
pub(crate) async fn left(identity: &Identity, engine: &Engine) -> Result<Vec<String>> {
    let docker = engine.docker().await?;
    let filter = filter(OWNER, identity.owner());
    let options = ListContainersOptionsBuilder::default().all(true).filters(&filter).build();
    let containers = engine.ask("list containers", docker.list_containers(Some(options))).await?;
    let options = ListVolumesOptionsBuilder::default().filters(&filter).build();
    let volumes = engine.ask("list volumes", docker.list_volumes(Some(options))).await?;
    let names = containers.into_iter().flat_map(|container| container.names.unwrap_or_default());
    let volumes = volumes.volumes.unwrap_or_default().into_iter().map(|volume| volume.name);
    Ok(names.chain(volumes).collect())
}

/// What processes of this installation left behind that are no more.
///
/// # Errors
/// `provider_unavailable`.
pub(crate) async fn reap(identity: &Identity, engine: &Engine) -> Result<Vec<Thing>> {
    if !identity.lasts() {
        return Ok(Vec::new());
    }
    let docker = engine.docker().await?;
    let filter = filter(OWNER, identity.owner());
    let options = ListContainersOptionsBuilder::default().all(true).filters(&filter).build();
    let containers = engine.ask("list containers", docker.list_containers(Some(options))).await?;
    let options = ListVolumesOptionsBuilder::default().filters(&filter).build();
    let volumes = engine.ask("list volumes", docker.list_volumes(Some(options))).await?;
    let of =
        |labels: Option<&HashMap<String, String>>| labels.and_then(|labels| labels.get(PROCESS)).cloned();
    let containers = containers
        .into_iter()
        .filter_map(|container| Some((of(container.labels.as_ref())?, Thing::Container(container.id?))));
    let volumes = volumes.volumes.unwrap_or_default().into_iter();
    let volumes = volumes.filter_map(|volume| Some((of(Some(&volume.labels))?, Thing::Volume(volume.name))));
    // Containers first: a volume that one has cannot be removed.
    let all: Vec<(String, Thing)> = containers.chain(volumes).collect();
    let mut processes: BTreeSet<&String> = all.iter().map(|(process, _)| process).collect();
    processes.retain(|process| identity.is_over(process));
    let left: Vec<Thing> = all
        .iter()
        .filter(|(process, _)| processes.contains(process))
        .map(|(_, thing)| thing.clone())
        .collect();
    if !left.is_empty() {
        tracing::info!(left = left.len(), "earlier processes left containers and volumes, which are removed");
    }
    Ok(left)
}

/// Volumes of this process that no container has.
///
/// # Errors
/// `provider_unavailable`.
pub(crate) async fn loose_volumes(identity: &Identity, engine: &Engine) -> Result<HashSet<String>> {
    let docker = engine.docker().await?;
    let mut filter = filter(PROCESS, identity.process());
    filter.insert("dangling", vec!["true".into()]);
    let options = ListVolumesOptionsBuilder::default().filters(&filter).build();
    let volumes = engine.ask("list volumes", docker.list_volumes(Some(options))).await?;
    Ok(volumes.volumes.unwrap_or_default().into_iter().map(|volume| volume.name).collect())
}
