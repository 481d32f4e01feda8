//! The volume of a sandbox whose pods are made by this crate: a PersistentVolumeClaim of its own.
//!
//! It is there to save time. Whatever keeps it from being used is no error: the pod then has a volume that goes with it.

use std::sync::Arc;

use dormouse_core::sandbox::SandboxId;
use dormouse_core::{Error, Result};
use kube::api::{DynamicObject, PostParams};
use serde_json::Value as Json;
use tokio::time::Instant;

use crate::fault::{status, wrong};
use crate::keep;
use crate::kinds::Kind;
use crate::left::{Thing, Which};
use crate::manifest;
use crate::shared::Shared;
use crate::size::{Size, quantity};
use crate::state::text;
use crate::using::{ENDS_WITHIN, Use, ended, pod_ended};

/// How often it is tried again where others are faster.
const TRIES: u32 = 8;

/// The volume of a sandbox, for a pod that is to be made. None: it cannot be had, as when another pod of the sandbox has it, or there
/// are to be none.
pub(crate) async fn of(shared: &Arc<Shared>, id: Option<&SandboxId>, pod: &str, size: &Size) -> Option<Use> {
    let (id, class) = (id?, shared.settings.storage_class.as_deref()?);
    if !shared.identity.lasts() {
        return None;
    }
    let taking = take(shared, id, pod, (class, size.workspace));
    match dormouse_containers::pulse::excused(taking).await {
        Ok(taken) => taken,
        Err(error) => {
            tracing::warn!(%error, sandbox = %id, "a sandbox begins without its volume");
            None
        }
    }
}

async fn take(shared: &Arc<Shared>, id: &SandboxId, pod: &str, asked: (&str, u64)) -> Result<Option<Use>> {
    let name = keep::name(&shared.identity, id);
    let user = format!("{pod}/{}", shared.identity.process());
    let used = Use::begin(shared, (Kind::Volume, &name, &user));
    let until = Instant::now() + ENDS_WITHIN;
    for _ in 0..TRIES {
        let Some(object) = keep::get(&shared.cluster, Kind::Volume, &name).await? else {
            if let Some(made) = make(shared, id, (&name, &user), asked).await? {
                return Ok(Some(used.of(&made, None)));
            }
            continue;
        };
        if !keep::is_of(&object, &shared.identity, id) {
            tracing::warn!(name, "a volume with the name of a sandbox's is another's, and is left alone");
            return Ok(None);
        }
        if keep::is_going(&object) {
            return Ok(None);
        }
        if !fits(&object, asked) {
            tracing::info!(name, "the volume of a sandbox is lost, or another one is wanted: it is removed");
            let uid = text(&object, "/metadata/uid").unwrap_or_default().to_owned();
            shared.leftovers.add(Thing::only(Kind::Volume, name, Which::Uid(uid)), false);
            return Ok(None);
        }
        if let Some(other) = keep::user_of(&object) {
            match ended(shared, other, until).await {
                // What it has noted at its end is to be read.
                Some(true) => continue,
                Some(false) => return Ok(None),
                None if !is_left(shared, other, until).await? => return Ok(None),
                None => {}
            }
        }
        if let Some((taken, found)) = keep::take(&shared.cluster, Kind::Volume, &object, &user, None).await? {
            return Ok(Some(used.of(&taken, found)));
        }
    }
    Ok(None)
}

/// Whether a user that is none of this process's uses is one no more. A process that lives may be about to make its pod; of one that is
/// no more, and of a use of this process that is over, the pod alone is waited for.
async fn is_left(shared: &Shared, user: &str, until: Instant) -> Result<bool> {
    // Nobody of ours writes another form.
    let Some((pod, process)) = user.split_once('/') else { return Ok(true) };
    if process != shared.identity.process() && !shared.identity.is_over(process) {
        return Ok(false);
    }
    pod_ended(shared, pod, until).await
}

/// Whether it can be used, and is what it would be if it was made now.
fn fits(object: &Json, (class, bytes): (&str, u64)) -> bool {
    let has = text(object, "/spec/resources/requests/storage").and_then(|text| quantity(text, false));
    text(object, "/status/phase") != Some("Lost")
        && text(object, "/spec/storageClassName") == Some(class)
        && has.is_some_and(|has| has >= bytes)
}

/// Makes one that this user has. None: there is one.
async fn make(
    shared: &Arc<Shared>,
    id: &SandboxId,
    (name, user): (&str, &str),
    asked: (&str, u64),
) -> Result<Option<DynamicObject>> {
    let what = "make a volume";
    let labels = keep::labels(&shared.identity, id);
    let object = manifest::volume(&labels, &keep::used_by(user), name, asked);
    let object: DynamicObject = serde_json::from_value(object)
        .map_err(|error| Error::internal("a manifest cannot be written", error))?;
    let api = shared.cluster.of(Kind::Volume).await?;
    let options = PostParams::default();
    match shared.cluster.asked(what, api.create(&options, &object)).await? {
        Ok(made) => Ok(Some(made)),
        Err(fault) if status(&fault) == Some(409) => Ok(None),
        Err(fault) => Err(wrong(what, fault)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_volume_that_is_lost_or_was_made_for_something_else_is_not_used() {
        let volume = |class: &str, bytes: &str, phase: &str| {
            json!({"spec": {"storageClassName": class, "resources": {"requests": {"storage": bytes}}},
                "status": {"phase": phase}})
        };
        assert!(fits(&volume("fast", "64Mi", "Bound"), ("fast", 64 << 20)));
        assert!(fits(&volume("fast", "67108864", "Pending"), ("fast", 1)));
        assert!(!fits(&volume("fast", "64Mi", "Bound"), ("fast", (64 << 20) + 1)));
        assert!(!fits(&volume("slow", "64Mi", "Bound"), ("fast", 64 << 20)));
        assert!(!fits(&volume("fast", "64Mi", "Lost"), ("fast", 64 << 20)));
        assert!(!fits(&json!({}), ("fast", 0)));
    }
}
