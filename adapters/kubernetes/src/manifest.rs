//! What is made in the cluster: everything that confines a pod.
//!
//! A pod's programs run as a user that owns nothing, without capabilities, with a root that cannot be written and the runtime's own
//! filter of system calls. Its main process waits, and takes the end of what lost its parent. It has no token of an account, and
//! the names of a sandbox, its owner and its session are nowhere in it: labels are random numbers.

use std::collections::HashMap;

use dormouse_containers::{TMP, WORKSPACE};
use serde_json::{Map, Value as Json, json};

use crate::kinds::Kind;
use crate::settings::Settings;
use crate::size::Size;

/// The container of a pod of ours.
pub(crate) const CONTAINER: &str = "sandbox";
/// The user and the group that own nothing.
const NOBODY: u32 = 65_534;
/// Keeps a pod running, and reaps what lost its parent.
const KEEP: &str = "trap 'exit 0' TERM; while :; do sleep 3600 & wait; done";
/// Bytes of a node's disk for what the runtime itself keeps of a pod.
const OWN_DISK: u64 = 64 << 20;

/// A pod. `volume`: the volume of its sandbox, which is there already; none: what it has at `/workspace` goes with it.
pub(crate) fn pod(
    settings: &Settings,
    labels: &HashMap<String, String>,
    (name, image): (&str, &str),
    size: &Size,
    volume: Option<&str>,
) -> Json {
    let workspace = match (volume, &settings.storage_class) {
        (Some(volume), _) => json!({"name": "workspace", "persistentVolumeClaim": {"claimName": volume}}),
        (None, Some(class)) => json!({
            "name": "workspace",
            "ephemeral": {"volumeClaimTemplate": {
                "metadata": {"labels": labels},
                "spec": storage(class, size.workspace),
            }},
        }),
        (None, None) => in_memory("workspace", size.workspace),
    };
    let requests = |limit: u64| limit.saturating_mul(settings.requests_percent.into()) / 100;
    let resources = json!({
        "limits": {
            "cpu": format!("{}m", size.cpu_millis),
            "memory": size.memory.to_string(),
            "ephemeral-storage": OWN_DISK.to_string(),
        },
        "requests": {
            "cpu": format!("{}m", requests(size.cpu_millis.into()).max(1)),
            "memory": requests(size.memory).to_string(),
            "ephemeral-storage": OWN_DISK.to_string(),
        },
    });
    let environment = json!([
        {"name": "HOME", "value": WORKSPACE},
        {"name": "NPM_CONFIG_FETCH_RETRIES", "value": "0"},
        {"name": "PIP_RETRIES", "value": "0"},
    ]);
    let container = json!({
        "name": CONTAINER,
        "image": image,
        "command": ["sh", "-c", KEEP],
        "workingDir": WORKSPACE,
        "env": environment,
        "resources": resources,
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "privileged": false,
            "readOnlyRootFilesystem": true,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [
            {"name": "workspace", "mountPath": WORKSPACE},
            {"name": "tmp", "mountPath": TMP},
        ],
    });
    let mut spec = json!({
        "automountServiceAccountToken": false,
        "enableServiceLinks": false,
        "hostname": "sandbox",
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": if volume.is_some() { i64::from(crate::left::GRACE) } else { 0 },
        "securityContext": {
            "runAsNonRoot": true,
            "runAsUser": NOBODY,
            "runAsGroup": NOBODY,
            "fsGroup": NOBODY,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
        "volumes": [workspace, in_memory("tmp", size.tmp)],
    });
    if let Some(fields) = spec.as_object_mut() {
        optional(fields, settings);
    }
    json!({
        "apiVersion": Kind::Pod.api_version(),
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
    })
}

/// What a volume of a class is to be.
fn storage(class: &str, bytes: u64) -> Json {
    json!({
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": class,
        "resources": {"requests": {"storage": bytes.to_string()}},
    })
}

/// A volume that outlives pods. `notes` are its annotations.
pub(crate) fn volume(
    labels: &HashMap<String, String>,
    notes: &Json,
    name: &str,
    (class, bytes): (&str, u64),
) -> Json {
    json!({
        "apiVersion": Kind::Volume.api_version(),
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "labels": labels, "annotations": notes},
        "spec": storage(class, bytes),
    })
}

fn optional(spec: &mut Map<String, Json>, settings: &Settings) {
    if let Some(class) = &settings.runtime_class {
        spec.insert("runtimeClassName".into(), json!(class));
    }
    if !settings.node_selector.is_empty() {
        spec.insert("nodeSelector".into(), json!(settings.node_selector));
    }
    if !settings.image_pull_secrets.is_empty() {
        let secrets: Vec<Json> =
            settings.image_pull_secrets.iter().map(|name| json!({"name": name})).collect();
        spec.insert("imagePullSecrets".into(), json!(secrets));
    }
}

fn in_memory(name: &str, bytes: u64) -> Json {
    json!({"name": name, "emptyDir": {"medium": "Memory", "sizeLimit": bytes.to_string()}})
}

/// The name of an installation's policy.
pub(crate) fn policy_name(owner: &str) -> String {
    format!("dormouse-{owner}")
}

/// A policy that lets nothing in and nothing out of an installation's pods.
pub(crate) fn policy(owner: &str, (label, value): (&str, &str)) -> Json {
    json!({
        "apiVersion": Kind::Policy.api_version(),
        "kind": "NetworkPolicy",
        "metadata": {"name": policy_name(owner), "labels": {label: value}},
        "spec": {
            "podSelector": {"matchLabels": {label: value}},
            "policyTypes": ["Ingress", "Egress"],
        },
    })
}

/// A claim on a pool. It has no environment and no volumes of its own: with them it would begin cold. `notes` are its annotations.
pub(crate) fn claim(labels: &HashMap<String, String>, notes: &Json, name: &str, pool: &str) -> Json {
    json!({
        "apiVersion": Kind::Claim.api_version(),
        "kind": "SandboxClaim",
        "metadata": {"name": name, "labels": labels, "annotations": notes},
        "spec": {
            "warmPoolRef": {"name": pool},
            "lifecycle": {"shutdownPolicy": "Delete"},
        },
    })
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
    use k8s_openapi::api::networking::v1::NetworkPolicy;

    use super::*;

    fn made(settings: &Settings) -> Pod {
        let labels = HashMap::from([("dormouse.owner".to_owned(), "0f".to_owned())]);
        let size = Size { memory: 512 << 20, workspace: 256 << 20, tmp: 64 << 20, cpu_millis: 500 };
        serde_json::from_value(pod(settings, &labels, ("dormouse-1", "tools:1"), &size, None)).unwrap()
    }

    /// KUB-01: a pod that could do more than it needs.
    #[test]
    fn kub_01_a_pod_is_confined_by_default() {
        let pod = made(&Settings::default());
        let spec = pod.spec.unwrap();
        assert_eq!(spec.automount_service_account_token, Some(false));
        for shared in [spec.host_network, spec.host_pid, spec.host_ipc, spec.share_process_namespace] {
            assert_ne!(shared, Some(true));
        }
        let user = spec.security_context.unwrap();
        assert_eq!((user.run_as_non_root, user.run_as_user), (Some(true), Some(65_534)));
        assert_eq!(user.seccomp_profile.unwrap().type_, "RuntimeDefault");
        assert_eq!(spec.containers.len(), 1);
        let container = &spec.containers[0];
        let own = container.security_context.clone().unwrap();
        assert_eq!((own.allow_privilege_escalation, own.privileged), (Some(false), Some(false)));
        assert_eq!(own.read_only_root_filesystem, Some(true));
        let capabilities = own.capabilities.unwrap();
        assert_eq!((capabilities.drop, capabilities.add), (Some(vec!["ALL".to_owned()]), None));
        let limits = container.resources.clone().unwrap().limits.unwrap();
        assert_eq!(limits.keys().collect::<Vec<_>>(), ["cpu", "ephemeral-storage", "memory"]);
        for volume in spec.volumes.unwrap() {
            let held = volume.empty_dir.unwrap();
            assert!(held.size_limit.is_some() && held.medium.as_deref() == Some("Memory"));
            assert!(volume.host_path.is_none());
        }
    }

    #[test]
    fn what_the_operator_chooses_is_in_the_pod() {
        let settings = Settings {
            runtime_class: Some("gvisor".into()),
            storage_class: Some("fast".into()),
            image_pull_secrets: vec!["pull".into()],
            node_selector: [("pool".to_owned(), "boxes".to_owned())].into(),
            requests_percent: 50,
            ..Settings::default()
        };
        let spec = made(&settings).spec.unwrap();
        assert_eq!(spec.runtime_class_name.as_deref(), Some("gvisor"));
        assert_eq!(spec.node_selector.unwrap()["pool"], "boxes");
        assert_eq!(spec.image_pull_secrets.unwrap()[0].name, "pull");
        assert_eq!(spec.containers[0].resources.clone().unwrap().requests.unwrap()["cpu"].0, "250m");
        let volumes = spec.volumes.unwrap();
        let claim = volumes[0].ephemeral.clone().unwrap().volume_claim_template.unwrap();
        assert_eq!(claim.spec.storage_class_name.as_deref(), Some("fast"));
    }

    #[test]
    fn a_volume_of_the_sandbox_is_in_the_pod_that_has_one_and_its_end_is_waited_for() {
        let labels = HashMap::from([("dormouse.owner".to_owned(), "0f".to_owned())]);
        let size = Size { memory: 512 << 20, workspace: 256 << 20, tmp: 64 << 20, cpu_millis: 500 };
        let settings = Settings { storage_class: Some("fast".into()), ..Settings::default() };
        let made = pod(&settings, &labels, ("dormouse-1", "tools:1"), &size, Some("dormouse-0f-1"));
        let spec = serde_json::from_value::<Pod>(made).unwrap().spec.unwrap();
        let volumes = spec.volumes.unwrap();
        assert_eq!(volumes[0].persistent_volume_claim.clone().unwrap().claim_name, "dormouse-0f-1");
        assert!(spec.termination_grace_period_seconds.unwrap() > 0, "0 would not wait for the pod's node");
        let notes = json!({"dormouse.use": "dormouse-1"});
        let made = volume(&labels, &notes, "dormouse-0f-1", ("fast", size.workspace));
        let volume: PersistentVolumeClaim = serde_json::from_value(made).unwrap();
        let spec = volume.spec.unwrap();
        assert_eq!(spec.storage_class_name.as_deref(), Some("fast"));
        assert_eq!(spec.resources.unwrap().requests.unwrap()["storage"].0, (256 << 20).to_string());
    }

    /// KUB-02: a network that was not allowed.
    #[test]
    fn kub_02_the_policy_lets_nothing_in_and_nothing_out() {
        let policy: NetworkPolicy = serde_json::from_value(policy("0f", ("dormouse.owner", "0f"))).unwrap();
        let spec = policy.spec.unwrap();
        assert_eq!(spec.policy_types.unwrap(), ["Ingress", "Egress"]);
        assert_eq!((spec.ingress, spec.egress), (None, None));
        assert_eq!(spec.pod_selector.unwrap().match_labels.unwrap()["dormouse.owner"], "0f");
    }
}
