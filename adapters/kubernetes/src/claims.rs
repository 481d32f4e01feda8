//! A sandbox from a warm pool of agent-sandbox: a claim, which its controller gives to one pod alone.

use std::sync::Arc;

use dormouse_containers::random;
use dormouse_core::sandbox::{SandboxSpec, WarmPool};
use dormouse_core::{Error, ErrorCode, Result};
use serde_json::Value as Json;

use crate::kinds::Kind;
use crate::pod::{Made, RunningPod};
use crate::shared::Shared;
use crate::state::{self, text};
use crate::{manifest, vet};

/// The annotation of a sandbox that names its pod, where that has another name.
const POD: &str = "agents.x-k8s.io/pod-name";

/// Claims one, and waits until it is ready: a dry pool is waited for.
///
/// # Errors
/// `args_invalid` for more than the template gives; `capability_unavailable` for a template that does not confine; `busy` when one
/// that waits is required and none does; what keeps the cluster from it.
pub(crate) async fn create(shared: &Arc<Shared>, pool: &str, spec: &SandboxSpec) -> Result<RunningPod> {
    let vetted = vet::pool(shared, pool).await?;
    vetted.admit(spec)?;
    if spec.warm_pool == WarmPool::Require && vet::waiting(shared, pool).await? == 0 {
        return Err(Error::new(ErrorCode::Busy, format!("no sandbox of the pool `{pool}` waits"))
            .with_hint("try again in a moment, or ask for `prefer`"));
    }
    let name = format!("dormouse-{}", random()?);
    let claim = manifest::claim(&shared.identity.labels(), &name, pool);
    let mut made = Made::create(shared, Kind::Claim, &name, claim).await?;
    let claim = made.ready(state::of_claim, pool).await?;
    let sandbox = state::sandbox_of(&claim).unwrap_or_default().to_owned();
    let pod = pod_of(shared, &sandbox).await?;
    let own = (pod, vetted.container.clone(), vetted.helped);
    RunningPod::new(shared, made, own, (pool.to_owned(), vetted.memory)).await
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
