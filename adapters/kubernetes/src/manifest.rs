//! What is made in the cluster: everything that confines a pod.
//!
//! A pod's programs run as a user that owns nothing, without capabilities, with a root that cannot be written and the runtime's own
//! filter of system calls. Its main process waits, and takes the end of what lost its parent. It has no token of an account, and
//! the names of a sandbox, its owner and its session are nowhere in it: labels are random numbers.

use std::collections::HashMap;

use dormouse_containers::{TMP, WORKSPACE};
use dormouse_core::Result;
use serde_json::{Map, Value as Json, json};

use crate::kinds::{CONTAINER, Kind};
use crate::network::Block;
use crate::settings::Settings;
use crate::size::Size;
use crate::{gate, helper};

/// The user and the group that own nothing.
const NOBODY: u32 = 65_534;
/// Keeps a pod running, and reaps what lost its parent.
pub(crate) const KEEP: &str = "trap 'exit 0' TERM; while :; do sleep 3600 & wait; done";
/// The label of pods that have a network, with the word for which.
const NETWORK: &str = "dormouse.network";
/// Bytes of a node's disk for what the runtime itself keeps of a pod.
const OWN_DISK: u64 = 64 << 20;

/// A pod. `volume`: the volume of its sandbox, which is there already; none: what it has at `/workspace` goes with it. `has_gate`: whether
/// rules let something out of it, which is another matter than the network of its image.
pub(crate) fn pod(
    settings: &Settings,
    labels: &HashMap<String, String>,
    (name, image): (&str, &str),
    size: &Size,
    (volume, has_gate): (Option<&str>, bool),
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
    let resources = resources(settings, size.cpu_millis, size.memory);
    let network = settings.network_of(image);
    let mut labels = labels.clone();
    if let Some(network) = network {
        labels.insert(NETWORK.into(), network.word());
    }
    let environment = environment(network.is_some());
    let environment: Vec<Json> =
        environment.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
    let security = json!({
        "allowPrivilegeEscalation": false,
        "privileged": false,
        "readOnlyRootFilesystem": true,
        "capabilities": {"drop": ["ALL"]},
    });
    let mut volumes = vec![workspace, in_memory("tmp", size.tmp)];
    let mut mounts =
        vec![json!({"name": "workspace", "mountPath": WORKSPACE}), json!({"name": "tmp", "mountPath": TMP})];
    let helper = settings.helper_image.as_ref().map(|image| {
        volumes.push(helper::volume());
        mounts.push(helper::mount());
        helper::container(image, &security, &resources)
    });
    let gate = has_gate.then(|| {
        volumes.push(gate::volume());
        mounts.push(gate::mount());
        let image = settings.helper_image.as_deref().unwrap_or(image);
        gate::container(image, KEEP, &security, &self::resources(settings, gate::CPU_MILLIS, gate::MEMORY))
    });
    let container = json!({
        "name": CONTAINER,
        "image": image,
        "command": helper::shell(helper.is_some(), KEEP),
        "workingDir": WORKSPACE,
        "env": environment,
        "resources": resources,
        "securityContext": security,
        "volumeMounts": mounts,
    });
    let containers: Vec<Json> = std::iter::once(container).chain(gate).collect();
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
        "containers": containers,
        "volumes": volumes,
    });
    if let Some(fields) = spec.as_object_mut() {
        optional(fields, settings);
        if let Some(helper) = helper {
            fields.insert("initContainers".into(), json!([helper]));
        }
        if let Some(network) = network.filter(|network| !network.dns.is_empty()) {
            fields.insert("dnsPolicy".into(), json!("None"));
            fields.insert("dnsConfig".into(), json!({"nameservers": network.dns}));
        }
    }
    json!({
        "apiVersion": Kind::Pod.api_version(),
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
    })
}

/// What a container may use, and what of it is requested.
fn resources(settings: &Settings, cpu_millis: u32, memory: u64) -> Json {
    let requests = |limit: u64| limit.saturating_mul(settings.requests_percent.into()) / 100;
    json!({
        "limits": {
            "cpu": format!("{cpu_millis}m"),
            "memory": memory.to_string(),
            "ephemeral-storage": OWN_DISK.to_string(),
        },
        "requests": {
            "cpu": format!("{}m", requests(cpu_millis.into()).max(1)),
            "memory": requests(memory).to_string(),
            "ephemeral-storage": OWN_DISK.to_string(),
        },
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

/// The variables of programs in a pod: without a network, who asks again waits for nothing.
pub(crate) fn environment(has_network: bool) -> Vec<(&'static str, &'static str)> {
    let mut all = vec![("HOME", WORKSPACE)];
    if !has_network {
        all.extend([("NPM_CONFIG_FETCH_RETRIES", "0"), ("PIP_RETRIES", "0")]);
    }
    all
}

/// The policies of an installation, by name: one that lets nothing in and nothing out of its pods, and one that lets those with a
/// network reach what the operator allows. Policies only add up.
///
/// # Errors
/// As [`crate::network::Network::allowed`].
pub(crate) fn policies(
    settings: &Settings,
    owner: &str,
    (label, value): (&str, &str),
) -> Result<Vec<(String, Json)>> {
    let policy = |name: &str, spec: Json| {
        json!({
            "apiVersion": Kind::Policy.api_version(),
            "kind": "NetworkPolicy",
            "metadata": {"name": name, "labels": {label: value}},
            "spec": spec,
        })
    };
    let name = format!("dormouse-{owner}");
    let closed =
        json!({"podSelector": {"matchLabels": {label: value}}, "policyTypes": ["Ingress", "Egress"]});
    let mut all = vec![(name.clone(), policy(&name, closed))];
    if let Some(network) = &settings.network {
        let (allowed, word) = (network.allowed()?, network.word());
        let block = |block: &Block, except: &[Block]| {
            let mut own = json!({"cidr": block.to_string()});
            if !except.is_empty() {
                own["except"] = except.iter().map(ToString::to_string).collect();
            }
            json!({"ipBlock": own})
        };
        let to: Vec<Json> = allowed.blocks.iter().map(|(own, except)| block(own, except)).collect();
        let dns: Vec<Json> = allowed.dns.iter().map(|address| block(&Block::of(*address), &[])).collect();
        let mut out = Vec::new();
        if !to.is_empty() {
            out.push(json!({"to": to}));
        }
        if !dns.is_empty() {
            let ports = ["UDP", "TCP"].map(|protocol| json!({"protocol": protocol, "port": 53}));
            out.push(json!({"to": dns, "ports": ports}));
        }
        let name = format!("{name}-{word}");
        let open = json!({
            "podSelector": {"matchLabels": {label: value, NETWORK: word}},
            "policyTypes": ["Egress"],
            "egress": out,
        });
        all.push((name.clone(), policy(&name, open)));
    }
    Ok(all)
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
    use crate::network::Network;

    fn made(settings: &Settings) -> Pod {
        let labels = HashMap::from([("dormouse.owner".to_owned(), "0f".to_owned())]);
        let size = Size { memory: 512 << 20, workspace: 256 << 20, tmp: 64 << 20, cpu_millis: 500 };
        serde_json::from_value(pod(settings, &labels, ("dormouse-1", "tools:1"), &size, (None, false)))
            .unwrap()
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
    fn a_helper_is_put_into_the_pod_by_a_container_that_is_confined_as_well_and_cannot_be_written() {
        let settings = Settings { helper_image: Some("busybox:1".into()), ..Settings::default() };
        let spec = made(&settings).spec.unwrap();
        let [own, first] = [&spec.containers[0], &spec.init_containers.as_ref().unwrap()[0]];
        assert_eq!((first.image.as_deref(), &first.resources), (Some("busybox:1"), &own.resources));
        assert_eq!(first.security_context, own.security_context);
        let mount =
            |of: &k8s_openapi::api::core::v1::Container| of.volume_mounts.clone().unwrap().pop().unwrap();
        assert_eq!((mount(own).mount_path, mount(own).read_only), (helper::PLACE.to_owned(), Some(true)));
        assert_eq!((mount(first).name, mount(first).read_only), (mount(own).name, None));
        assert_eq!(own.command.as_ref().unwrap()[0], "/opt/dormouse/sh");
    }

    #[test]
    fn a_volume_of_the_sandbox_is_in_the_pod_that_has_one_and_its_end_is_waited_for() {
        let labels = HashMap::from([("dormouse.owner".to_owned(), "0f".to_owned())]);
        let size = Size { memory: 512 << 20, workspace: 256 << 20, tmp: 64 << 20, cpu_millis: 500 };
        let settings = Settings { storage_class: Some("fast".into()), ..Settings::default() };
        let made = pod(&settings, &labels, ("dormouse-1", "tools:1"), &size, (Some("dormouse-0f-1"), false));
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
    fn kub_02_the_policy_lets_nothing_in_and_nothing_out_but_where_the_operator_allows_it() {
        let network = Network {
            of: vec!["tools:1".into()],
            to: vec!["all".into(), "10.20.0.0/16".into()],
            except: Vec::new(),
            dns: vec!["10.0.0.53".parse().unwrap()],
        };
        let open = Settings { network: Some(network.clone()), ..Settings::default() };
        let of = |settings: &Settings| -> Vec<NetworkPolicy> {
            let all = policies(settings, "0f", ("dormouse.owner", "0f")).unwrap();
            all.into_iter().map(|(_, policy)| serde_json::from_value(policy).unwrap()).collect()
        };
        assert_eq!(of(&Settings::default()).len(), 1);
        let [closed, lets_out] = <[NetworkPolicy; 2]>::try_from(of(&open)).unwrap();
        let spec = closed.spec.unwrap();
        assert_eq!(spec.policy_types.unwrap(), ["Ingress", "Egress"]);
        assert_eq!((spec.ingress, spec.egress), (None, None));
        assert_eq!(spec.pod_selector.unwrap().match_labels.unwrap()["dormouse.owner"], "0f");
        let spec = lets_out.spec.unwrap();
        assert_eq!(spec.policy_types.unwrap(), ["Egress"]);
        let selected = spec.pod_selector.unwrap().match_labels.unwrap();
        assert_eq!((selected["dormouse.owner"].as_str(), &selected[NETWORK]), ("0f", &network.word()));
        let rules = spec.egress.unwrap();
        let blocks: Vec<_> = rules[0].to.iter().flatten().filter_map(|peer| peer.ip_block.clone()).collect();
        assert_eq!(
            blocks.iter().map(|block| block.cidr.as_str()).collect::<Vec<_>>(),
            ["0.0.0.0/0", "::/0", "10.20.0.0/16"]
        );
        let without = blocks[0].except.clone().unwrap();
        assert!(without.contains(&"10.0.0.0/8".into()) && without.contains(&"169.254.0.0/16".into()));
        assert_eq!((blocks[2].except.clone(), rules[1].ports.clone().unwrap().len()), (None, 2));
        assert!(
            rules
                .iter()
                .flat_map(|rule| rule.to.iter().flatten())
                .all(|peer| peer.pod_selector.is_none() && peer.namespace_selector.is_none())
        );
        // Pods of other images have no part in it.
        let pod = made(&open);
        assert_eq!(pod.metadata.labels.unwrap()[NETWORK], network.word());
        let spec = pod.spec.unwrap();
        assert_eq!(
            (spec.dns_policy.as_deref(), spec.dns_config.unwrap().nameservers),
            (Some("None"), Some(vec!["10.0.0.53".to_owned()]))
        );
        let other = Network { of: vec!["other:1".into()], ..network };
        let pod = made(&Settings { network: Some(other), ..Settings::default() });
        assert!(
            !pod.metadata.labels.unwrap().contains_key(NETWORK) && pod.spec.unwrap().dns_policy.is_none()
        );
    }
}
