//! A sandbox from a warm pool of agent-sandbox: a claim, which its controller gives to one pod alone.
//!
//! Where the template gives `/workspace` a volume of its own, the claim of a sandbox that is put away is kept, and its pod suspended. It
//! is resumed for the state whose files it has, and for no other: then one from the pool is there sooner.

use std::sync::Arc;

use dormouse_containers::random;
use dormouse_core::sandbox::{ChunkId, SandboxId, SandboxSpec, WarmPool};
use dormouse_core::{Error, ErrorCode, Result};
use kube::api::DynamicObject;
use serde_json::{Value as Json, json};
use tokio::time::Instant;

use crate::kinds::Kind;
use crate::left::{self, Thing, Which};
use crate::pod::{Made, Own, RunningPod};
use crate::shared::Shared;
use crate::size::Vetted;
use crate::state::{self, State, text};
use crate::using::{ENDS_WITHIN, Use, ended, operate};
use crate::{gate, keep, manifest, vet};

/// The annotation of a sandbox that names its pod, where that has another name.
const POD: &str = "agents.x-k8s.io/pod-name";

/// Claims one, or resumes the one that is kept of a sandbox, and waits until it is ready: a dry pool is waited for. `of`: the sandbox,
/// and the chunk under which its state is saved.
///
/// # Errors
/// `args_invalid` for more than the template gives; `capability_unavailable` for a template that does not confine; `busy` when one
/// that waits is required and none does; what keeps the cluster from it.
pub(crate) async fn create(
    shared: &Arc<Shared>,
    pool: &str,
    spec: &SandboxSpec,
    of: Option<&(SandboxId, Option<ChunkId>)>,
) -> Result<RunningPod> {
    let vetted = vet::pool(shared, pool).await?;
    vetted.admit(spec)?;
    if spec.network.is_some() && !vetted.has_gate {
        return Err(gate::missing(pool));
    }
    let keeps = vetted.keeps && shared.identity.lasts() && spec.warm_pool != WarmPool::Require;
    let of = of.filter(|_| keeps);
    if let Some((id, root)) = of {
        match dormouse_containers::pulse::excused(resumed(shared, &vetted, id, root.as_ref())).await {
            Ok(Some(running)) => return Ok(running),
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, sandbox = %id, "a sandbox begins without its volume"),
        }
    }
    if spec.warm_pool == WarmPool::Require && vet::waiting(shared, pool).await? == 0 {
        return Err(Error::new(ErrorCode::Busy, format!("no sandbox of the pool `{pool}` waits"))
            .with_hint("try again in a moment, or ask for `prefer`"));
    }
    let name = format!("dormouse-{}", random()?);
    let (mut labels, mut notes) = (shared.identity.labels(), json!({}));
    let used = of.map(|(id, _)| {
        labels.extend(keep::labels(&shared.identity, id));
        notes = keep::used_by(&name);
        Use::begin(shared, (Kind::Claim, &name, &name))
    });
    let claim = manifest::claim(&labels, &notes, &name, pool);
    let made = Made::create(shared, Kind::Claim, &name, claim, used).await?;
    running(shared, made, state::of_claim, &vetted).await
}

/// Waits until a claim is ready.
async fn running(
    shared: &Arc<Shared>,
    mut made: Made,
    of: fn(&Json) -> State,
    vetted: &Vetted,
) -> Result<RunningPod> {
    let claim = made.ready(of, &vetted.pool).await?;
    let sandbox = state::sandbox_of(&claim).unwrap_or_default().to_owned();
    let pod = pod_of(shared, &sandbox).await?;
    if let Some(used) = &mut made.used {
        used.sandbox = Some((sandbox, pod.clone()));
    }
    let (container, helped, has_gate) = (vetted.container.clone(), vetted.helped, vetted.has_gate);
    let own = Own { pod, container, helped, has_gate };
    RunningPod::new(shared, made, own, (vetted.pool.clone(), vetted.memory)).await
}

/// The claim that is kept of a sandbox and has the files of this state, resumed. Others that are kept of it are removed. None: there is
/// none.
async fn resumed(
    shared: &Arc<Shared>,
    vetted: &Vetted,
    id: &SandboxId,
    root: Option<&ChunkId>,
) -> Result<Option<RunningPod>> {
    for claim in resting(shared, id).await? {
        let json = serde_json::to_value(&claim)
            .map_err(|error| Error::internal("an object of the cluster is not understood", error))?;
        let fits = root.is_some()
            && keep::saved_in(&json).as_ref() == root
            && text(&json, "/spec/warmPoolRef/name") == Some(vetted.pool.as_str());
        let (Some(name), Some(version)) = (claim.metadata.name, claim.metadata.resource_version) else {
            continue;
        };
        if !fits {
            shared.leftovers.add(Thing::only(Kind::Claim, name, Which::Version(version)), false);
            continue;
        }
        let (user, process) = (random()?, shared.identity.process());
        let used = Use::begin(shared, (Kind::Claim, &name, &user));
        let taking = keep::take(&shared.cluster, Kind::Claim, &json, &user, Some(process));
        let Some((claim, found)) = taking.await? else { continue };
        let used = used.of(&claim, found);
        // From here on it is removed if it does not come to be ready.
        let made = Made::found(shared, &claim, used);
        operate(shared, state::sandbox_of(&json).unwrap_or_default(), true).await?;
        return running(shared, made, state::of_resumed_claim, vetted).await.map(Some);
    }
    Ok(None)
}

/// The claims of a sandbox that nobody uses; one that this process is just done with is waited for.
async fn resting(shared: &Arc<Shared>, id: &SandboxId) -> Result<Vec<DynamicObject>> {
    let until = Instant::now() + ENDS_WITHIN;
    loop {
        let all = left::of_sandbox(&shared.cluster, Kind::Claim, (&shared.identity, id)).await?;
        let mut again = false;
        for claim in all.iter().filter(|claim| !keep::rests(claim)) {
            let json = serde_json::to_value(claim).unwrap_or_default();
            let user = keep::user_of(&json).unwrap_or_default();
            again |= ended(shared, user, until).await == Some(true);
        }
        if !again {
            let there = |claim: &DynamicObject| claim.metadata.deletion_timestamp.is_none();
            return Ok(all.into_iter().filter(|claim| keep::rests(claim) && there(claim)).collect());
        }
    }
}

/// The pod of a sandbox: it has the sandbox's name, unless it came from the pool under its own.
async fn pod_of(shared: &Arc<Shared>, sandbox: &str) -> Result<String> {
    let api = shared.cluster.of(Kind::Sandbox).await?;
    let found = shared.cluster.ask("look at a claimed sandbox", api.get(sandbox)).await?;
    let found: Json = serde_json::to_value(&found)
        .map_err(|error| Error::internal("an object of the cluster is not understood", error))?;
    let named = found.pointer("/metadata/annotations").and_then(|all| all.get(POD)).and_then(Json::as_str);
    let own = text(&found, "/metadata/name").unwrap_or(sandbox);
    Ok(named.filter(|name| !name.is_empty()).unwrap_or(own).to_owned())
}
