//! What of a sandbox outlives its pods in the cluster: the words that are noted on it, and how they are changed.
//!
//! That is a volume (`pods`) or a claim whose sandbox has one (`agent-sandbox`). Its name and its labels say of which installation and
//! which sandbox it is. One annotation says who uses it, another one which saved state its files are. Both are changed by
//! compare-and-swap alone: whoever begins to use it takes the second away, and only who still is its user writes it. Owns: that, and what
//! this process uses. Does not own: when it is used, and what is in it ([`dormouse_containers::volume`]).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dormouse_containers::identity::{Identity, OWNER, PROCESS};
use dormouse_containers::volume::Volume;
use dormouse_core::sandbox::{ChunkId, SandboxId};
use dormouse_core::{Error, Result};
use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::{Value as Json, json};

use crate::cluster::Cluster;
use crate::fault::{is_missing, status, wrong};
use crate::kinds::Kind;
use crate::state::text;

/// The label of the sandbox: its id, which is a random number.
pub(crate) const SANDBOX: &str = "dormouse.sandbox";
/// The annotation that says which saved state the files are.
const SAVE: &str = "dormouse.save";
/// The annotation that says who uses it.
const USE: &str = "dormouse.use";
/// How often a change is tried that others get ahead of: controllers write into the same objects.
const TRIES: u32 = 8;

/// What this process uses just now, by user.
#[derive(Default)]
pub(crate) struct Uses(Mutex<HashMap<String, Arc<Volume>>>);

impl Uses {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Volume>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The volume that a user of this process has.
    pub(crate) fn of(&self, user: &str) -> Option<Arc<Volume>> {
        self.lock().get(user).cloned()
    }

    pub(crate) fn begin(&self, user: &str, volume: &Arc<Volume>) {
        self.lock().insert(user.to_owned(), volume.clone());
    }

    pub(crate) fn end(&self, user: &str) {
        self.lock().remove(user);
    }
}

/// The name of what is kept of a sandbox.
pub(crate) fn name(identity: &Identity, id: &SandboxId) -> String {
    let digits = id.as_str().strip_prefix(SandboxId::PREFIX).unwrap_or(id.as_str());
    format!("dormouse-{}-{digits}", identity.owner())
}

/// The labels of what is kept of a sandbox.
pub(crate) fn labels(identity: &Identity, id: &SandboxId) -> HashMap<String, String> {
    HashMap::from([(OWNER.into(), identity.owner().to_owned()), (SANDBOX.into(), id.to_string())])
}

/// The annotations of a new one, which this user has.
pub(crate) fn used_by(user: &str) -> Json {
    json!({USE: user})
}

/// Whether it is what its name says: another one with this name is not ours to use or to empty.
pub(crate) fn is_of(object: &Json, identity: &Identity, id: &SandboxId) -> bool {
    labels(identity, id).iter().all(|(label, value)| label_of(object, label) == Some(value.as_str()))
}

fn label_of<'a>(object: &'a Json, label: &str) -> Option<&'a str> {
    object.pointer("/metadata/labels")?.get(label)?.as_str()
}

fn note_of<'a>(object: &'a Json, note: &str) -> Option<&'a str> {
    object.pointer("/metadata/annotations")?.get(note)?.as_str()
}

/// Who uses it, or did when a process was killed.
pub(crate) fn user_of(object: &Json) -> Option<&str> {
    note_of(object, USE).filter(|user| !user.is_empty())
}

/// Whether somebody removes it.
pub(crate) fn is_going(object: &Json) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some()
}

/// Whether it is known what it holds, so that nobody uses it.
pub(crate) fn rests(object: &DynamicObject) -> bool {
    object.metadata.annotations.as_ref().is_some_and(|notes| notes.contains_key(SAVE))
}

/// What the files are a part of: the object itself and the disk behind it. An object that somebody made anew from a copy of another,
/// with its annotations, is not this one.
fn place(object: &Json) -> Option<String> {
    let uid = text(object, "/metadata/uid").filter(|uid| !uid.is_empty())?;
    let disk = text(object, "/spec/volumeName").or_else(|| text(object, "/status/sandbox/name"))?;
    Some(format!("{uid}/{disk}"))
}

/// The state whose files it has and no others. None: nobody knows what it has.
pub(crate) fn saved_in(object: &Json) -> Option<ChunkId> {
    let (root, at) = note_of(object, SAVE)?.split_once(' ')?;
    if root.len() != 64 || !root.is_ascii() || place(object)? != at {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, digits) in bytes.iter_mut().zip(root.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    // One way to write it, and no other.
    Some(ChunkId::from_bytes(bytes)).filter(|id| id.to_string() == root)
}

/// What there is of a name.
///
/// # Errors
/// `provider_unavailable`.
pub(crate) async fn get(cluster: &Cluster, kind: Kind, name: &str) -> Result<Option<Json>> {
    let what = "look at what is kept of a sandbox";
    let api = cluster.of(kind).await?;
    match cluster.asked(what, api.get(name)).await? {
        Ok(object) => json_of(&object).map(Some),
        Err(fault) if is_missing(&fault) => Ok(None),
        Err(fault) => Err(wrong(what, fault)),
    }
}

fn json_of(object: &DynamicObject) -> Result<Json> {
    serde_json::to_value(object)
        .map_err(|error| Error::internal("an object of the cluster is not understood", error))
}

/// Changes annotations and labels of an object, if it is still as it was seen. None: it is not, and nothing is changed.
async fn swap(
    cluster: &Cluster,
    kind: Kind,
    seen: &Json,
    (notes, labels): (Json, Json),
) -> Result<Option<DynamicObject>> {
    let what = "note who has what is kept of a sandbox";
    let name = text(seen, "/metadata/name").unwrap_or_default();
    let version = text(seen, "/metadata/resourceVersion").unwrap_or_default();
    if version.is_empty() {
        // Without one a server would change whatever is there.
        return Ok(None);
    }
    let change = json!({"metadata": {"resourceVersion": version, "annotations": notes, "labels": labels}});
    let api = cluster.of(kind).await?;
    let options = PatchParams::default();
    match cluster.asked(what, api.patch(name, &options, &Patch::Merge(&change))).await? {
        Ok(object) => Ok(Some(object)),
        Err(fault) if matches!(status(&fault), Some(404 | 409)) => Ok(None),
        Err(fault) => Err(wrong(what, fault)),
    }
}

/// Begins to use an object that was seen: from now on nobody knows what it holds. `process`: the process that is to be named as well.
/// With it comes the state whose files it had. None: somebody else was faster.
///
/// # Errors
/// `provider_unavailable`: it may be this user's by now, and holds what it held.
pub(crate) async fn take(
    cluster: &Cluster,
    kind: Kind,
    seen: &Json,
    user: &str,
    process: Option<&str>,
) -> Result<Option<(DynamicObject, Option<ChunkId>)>> {
    let labels = process.map_or_else(|| json!({}), |process| json!({PROCESS: process}));
    let taken = swap(cluster, kind, seen, (json!({SAVE: null, USE: user}), labels)).await?;
    Ok(taken.map(|object| (object, saved_in(seen))))
}

/// Notes that nobody uses an object any more, if this user still does, and that its files are those of a saved state and no others; none:
/// nobody knows what it has. False: it is somebody else's, or gone.
///
/// # Errors
/// `provider_unavailable`.
pub(crate) async fn note(
    cluster: &Cluster,
    kind: Kind,
    (name, user): (&str, &str),
    root: Option<&ChunkId>,
) -> Result<bool> {
    for _ in 0..TRIES {
        let object = get(cluster, kind, name).await?.filter(|object| user_of(object) == Some(user));
        let Some(object) = object else { return Ok(false) };
        let save = root.and_then(|root| place(&object).map(|place| format!("{root} {place}")));
        let notes = json!({SAVE: save, USE: null});
        if swap(cluster, kind, &object, (notes, json!({}))).await?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(save: &str) -> Json {
        json!({"metadata": {"uid": "u-1", "annotations": {SAVE: save}}, "spec": {"volumeName": "pv-1"}})
    }

    /// KUB-17: an annotation that cannot be read, or was written for something else.
    #[test]
    fn kub_17_an_annotation_is_believed_as_it_was_written_and_for_what_it_was_written() {
        let root = ChunkId::of(b"a state");
        assert_eq!(saved_in(&object(&format!("{root} u-1/pv-1"))), Some(root));
        let text = root.to_string();
        for bad in [
            String::new(),
            text.clone(),
            format!("{text}  u-1/pv-1"),
            format!("{text} u-2/pv-1"),
            format!("{text} u-1/pv-2"),
            format!("{text} u-1/"),
            format!("{} u-1/pv-1", &text[1..]),
            format!("{} u-1/pv-1", text.to_uppercase()),
            format!("+{} u-1/pv-1", &text[1..]),
            format!("{} u-1/pv-1", "ä".repeat(32)),
        ] {
            assert_eq!(saved_in(&object(&bad)), None, "{bad}");
        }
        let mut none = object(&format!("{root} /pv-1"));
        none["metadata"]["uid"] = json!("");
        assert_eq!(saved_in(&none), None);
        assert_eq!(saved_in(&json!({})), None);
    }
}
