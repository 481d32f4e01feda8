//! The container beside a sandbox's own in the same pod, by which its programs come to what the operator's rules let out.
//!
//! Owns: which sandboxes have it, its part of a pod, and how it is known in a template. Does not own: what runs in it
//! ([`crate::reach`]). It needs no network, so the policy lets nothing out of such a pod either.

use dormouse_containers::relay::{PROGRAM, TOLD};
use dormouse_core::{Error, ErrorCode, Result};
use serde_json::{Value as Json, json};

use crate::settings::Settings;
use crate::state::text;

/// The container.
pub(crate) const CONTAINER: &str = "gate";
/// The volume that it shares with the sandbox's own, and how large that is.
const VOLUME: &str = "dormouse-gate";
const BYTES: u64 = 4 << 20;
/// Bytes of memory, and thousandths of a core.
pub(crate) const MEMORY: u64 = 64 << 20;
pub(crate) const CPU_MILLIS: u32 = 250;

/// Whether sandboxes of an image, or a pool, can have a network by rules, as far as is known before there is a pod.
///
/// # Errors
/// `capability_unavailable` where they have one of the cluster, or there is no program for it.
pub(crate) fn can_be(settings: &Settings, offered: &str) -> Result<()> {
    let refuse =
        |what: String, hint: &str| Err(Error::new(ErrorCode::CapabilityUnavailable, what).with_hint(hint));
    if settings.network_of(offered).is_some() {
        return refuse(
            format!(
                "sandboxes of `{offered}` reach addresses of the cluster's network, so that rules would not bind them"
            ),
            "leave `network` out, or use an image or a pool that the operator does not name in `network.for`",
        );
    }
    if PROGRAM.is_empty() {
        return refuse(
            "a pod cannot reach the gate from here".into(),
            "run this on Linux, or leave `network` out",
        );
    }
    Ok(())
}

/// The container, confined as the one whose fields these are. `keep`: the script that keeps it running.
pub(crate) fn container(image: &str, keep: &str, security: &Json, resources: &Json) -> Json {
    json!({
        "name": CONTAINER,
        "image": image,
        "command": ["sh", "-c", keep],
        "securityContext": security,
        "resources": resources,
        "volumeMounts": [{"name": VOLUME, "mountPath": TOLD}],
    })
}

/// What mounts in the sandbox's container what it is told.
pub(crate) fn mount() -> Json {
    json!({"name": VOLUME, "mountPath": TOLD, "readOnly": true})
}

/// The volume that it is in.
pub(crate) fn volume() -> Json {
    json!({"name": VOLUME, "emptyDir": {"medium": "Memory", "sizeLimit": BYTES.to_string()}})
}

/// Whether there is one beside the sandbox's own, which can read what it writes and cannot write there.
pub(crate) fn is_there(own: &Json, containers: &[Json]) -> bool {
    let mounted = |container: &Json| {
        let mounts = container.pointer("/volumeMounts").and_then(Json::as_array);
        let mount = mounts.into_iter().flatten().find(|mount| text(mount, "/mountPath") == Some(TOLD))?;
        let only_read = mount.get("readOnly").and_then(Json::as_bool) == Some(true);
        Some((text(mount, "/name")?.to_owned(), only_read))
    };
    let beside = containers.iter().find(|one| text(one, "/name") == Some(CONTAINER));
    match (mounted(own), beside.and_then(mounted)) {
        (Some((own, true)), Some((other, false))) => own == other,
        _ => false,
    }
}

/// A pool whose template has none.
pub(crate) fn missing(pool: &str) -> Error {
    Error::new(
        ErrorCode::CapabilityUnavailable,
        format!("the template of the pool `{pool}` has no container `{CONTAINER}`, by which rules let something out"),
    )
    .with_hint("the guide for Kubernetes has the lines that it lacks; or leave `network` out")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_container_is_known_by_its_name_and_by_the_folder_that_both_have() {
        let none = json!({});
        let beside = container("i", "keep", &none, &none);
        let own = json!({"name": "sandbox", "volumeMounts": [mount()]});
        assert!(is_there(&own, &[own.clone(), beside.clone()]));
        assert!(!is_there(&own, std::slice::from_ref(&own)), "nothing is beside it");
        let other =
            json!({"name": "sandbox", "volumeMounts": [{"name": "x", "mountPath": TOLD, "readOnly": true}]});
        assert!(!is_there(&other, &[other.clone(), beside.clone()]), "another folder");
        let writes = json!({"name": "sandbox", "volumeMounts": [{"name": VOLUME, "mountPath": TOLD}]});
        assert!(!is_there(&writes, &[writes.clone(), beside]), "the sandbox would write there");
    }

    /// NET-34: rules beside a network that they do not know of.
    #[test]
    fn net_34_rules_are_refused_where_the_image_has_a_network_of_the_cluster() {
        let text = r#"{"images": ["a:1", "b:1"], "network": {"for": ["a:1"], "to": ["all"]}}"#;
        let settings = Settings { gate: true, ..Settings::read(text).unwrap() };
        assert_eq!(can_be(&settings, "a:1").unwrap_err().code(), ErrorCode::CapabilityUnavailable);
        can_be(&settings, "b:1").unwrap();
        let spec = dormouse_core::sandbox::SandboxSpec::default();
        assert!(settings.has_gate("b:1", &spec) && !settings.has_gate("a:1", &spec));
        let settings = Settings { gate: false, ..settings };
        assert!(!settings.has_gate("b:1", &spec), "one that asks for nothing has nothing");
    }
}
