//! Whether the template of a pool confines its sandboxes as a pod of ours is confined.
//!
//! The pods of a pool are the template's, and policies of the network only add up: what a template lets out nobody can take back
//! afterwards. So a pool whose template gives more than is allowed is refused, with all that is wrong with it.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use dormouse_containers::{TMP, WORKSPACE};
use dormouse_core::{Error, ErrorCode, Result};
use serde_json::Value as Json;
use tokio::time::Instant;

use crate::gate;
use crate::helper;
use crate::kinds::Kind;
use crate::network::{Allowed, Block, Network};
use crate::shared::Shared;
use crate::size::{Vetted, quantity};
use crate::state::text;

/// How long it is remembered what a template was found to be.
const REMEMBERED: Duration = Duration::from_secs(60);
/// Most of what is wrong that is told.
const TOLD: usize = 12;

/// Looks at a pool and its template.
///
/// # Errors
/// `capability_unavailable` when it does not confine, or is not there; `provider_unavailable`.
pub(crate) async fn pool(shared: &Shared, pool: &str) -> Result<Arc<Vetted>> {
    let known = shared.vetted.lock().unwrap_or_else(PoisonError::into_inner).get(pool).cloned();
    if let Some((at, vetted)) = known
        && at.elapsed() < REMEMBERED
    {
        return Ok(vetted);
    }
    let found = get(shared, Kind::Pool, pool).await?;
    let template = text(&found, "/spec/sandboxTemplateRef/name").unwrap_or_default();
    let template = get(shared, Kind::Template, template).await?;
    let network = shared.settings.network_of(pool).map(Network::allowed).transpose()?;
    let container = shared.settings.container.as_deref();
    let vetted = look(pool, &template, container, network.as_ref()).map_err(|wrong| {
        let told: Vec<&str> = wrong.iter().take(TOLD).map(String::as_str).collect();
        Error::new(
            ErrorCode::CapabilityUnavailable,
            format!("the template of the pool `{pool}` does not confine its sandboxes: {}", told.join("; ")),
        )
        .with_hint("the guide for Kubernetes has a template that does")
    })?;
    let vetted = Arc::new(vetted);
    let mut known = shared.vetted.lock().unwrap_or_else(PoisonError::into_inner);
    known.insert(pool.to_owned(), (Instant::now(), vetted.clone()));
    Ok(vetted)
}

/// How many sandboxes of a pool wait.
///
/// # Errors
/// `capability_unavailable` when there is no such pool; `provider_unavailable`.
pub(crate) async fn waiting(shared: &Shared, pool: &str) -> Result<u64> {
    let found = get(shared, Kind::Pool, pool).await?;
    Ok(found.pointer("/status/readyReplicas").and_then(Json::as_u64).unwrap_or_default())
}

async fn get(shared: &Shared, kind: Kind, name: &str) -> Result<Json> {
    let (group, _, what, _) = kind.names();
    let api = shared.cluster.of(kind).await?;
    let asked = format!("look at the {what} `{name}`");
    let found = match shared.cluster.asked(&asked, api.get(name)).await? {
        Err(fault) if crate::fault::is_missing(&fault) => {
            return Err(Error::new(
                ErrorCode::CapabilityUnavailable,
                format!("the cluster has no {what} `{name}` of {group}/{}", crate::kinds::VERSION),
            )
            .with_hint("`dormouse doctor` says whether agent-sandbox is there, and in which version"));
        }
        found => found.map_err(|fault| crate::fault::wrong(&asked, fault))?,
    };
    serde_json::to_value(&found)
        .map_err(|error| Error::internal("an object of the cluster is not understood", error))
}

/// What a template is, or all that is wrong with it.
pub(crate) fn look(
    pool: &str,
    template: &Json,
    container: Option<&str>,
    allowed: Option<&Allowed>,
) -> std::result::Result<Vetted, Vec<String>> {
    let mut wrong = Vec::new();
    let mut must = |is: bool, what: String| {
        if !is {
            wrong.push(what);
        }
    };
    let empty = Json::Null;
    let pod = template.pointer("/spec/podTemplate/spec").unwrap_or(&empty);
    let flag = |of: &Json, path: &str| of.pointer(path).and_then(Json::as_bool);
    // The controller's default is false.
    must(
        flag(pod, "/automountServiceAccountToken") != Some(true),
        "`automountServiceAccountToken` is true".into(),
    );
    for shared in ["hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace"] {
        must(flag(pod, &format!("/{shared}")) != Some(true), format!("`{shared}` is true"));
    }
    let volumes = pod.pointer("/volumes").and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
    must(volumes.iter().all(|volume| volume.get("hostPath").is_none()), "a volume is a `hostPath`".into());
    let list = |path: &str| pod.pointer(path).and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
    let containers = list("/containers");
    let own = match container {
        Some(name) => containers.iter().find(|one| text(one, "/name") == Some(name)),
        // The one that leads to the gate may stand before it.
        None => containers
            .iter()
            .find(|one| text(one, "/name") != Some(gate::CONTAINER))
            .or_else(|| containers.first()),
    };
    must(own.is_some(), format!("there is no container `{}`", container.unwrap_or_default()));
    for one in containers.iter().chain(list("/initContainers")) {
        confined(pod, one, &mut must);
    }
    let own = own.unwrap_or(&empty);
    let mounted = |path: &str| {
        let mounts = own.pointer("/volumeMounts").and_then(Json::as_array);
        mounts.into_iter().flatten().any(|mount| text(mount, "/mountPath") == Some(path))
    };
    for folder in [WORKSPACE, TMP] {
        must(mounted(folder), format!("nothing is mounted at `{folder}`"));
    }
    network(template, allowed, &mut must);
    let limit = |name: &str, millis| {
        text_or_number(own.pointer(&format!("/resources/limits/{name}")))
            .and_then(|text| quantity(&text, millis))
    };
    let (memory, cpu_millis) = (limit("memory", false), limit("cpu", true));
    match (memory, cpu_millis) {
        (Some(memory), Some(cpu_millis)) if wrong.is_empty() => Ok(Vetted {
            pool: pool.to_owned(),
            container: text(own, "/name").map(str::to_owned),
            helped: helper::is_mounted(own),
            has_gate: gate::is_there(own, containers),
            memory,
            cpu_millis,
            keeps: keeps(template, own),
        }),
        _ => Err(wrong),
    }
}

/// Whether what is mounted at `/workspace` is of one of the template's volume claims, which stay while a sandbox is suspended.
fn keeps(template: &Json, own: &Json) -> bool {
    let list = |of: &Json, path: &str| of.pointer(path).and_then(Json::as_array).cloned().unwrap_or_default();
    let mounts = list(own, "/volumeMounts");
    let mount = mounts.iter().find(|mount| text(mount, "/mountPath") == Some(WORKSPACE));
    let name = mount.and_then(|mount| text(mount, "/name"));
    let claims = list(template, "/spec/volumeClaimTemplates");
    name.is_some() && claims.iter().any(|claim| text(claim, "/metadata/name") == name)
}

fn text_or_number(value: Option<&Json>) -> Option<String> {
    match value? {
        Json::String(text) => Some(text.clone()),
        Json::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn confined(pod: &Json, one: &Json, must: &mut impl FnMut(bool, String)) {
    let name = text(one, "/name").unwrap_or_default();
    let own = |path: &str| one.pointer(&format!("/securityContext/{path}"));
    let either = |path: &str| own(path).or_else(|| pod.pointer(&format!("/securityContext/{path}")));
    let user = either("runAsUser").and_then(Json::as_u64);
    let not_root =
        either("runAsNonRoot").and_then(Json::as_bool) == Some(true) || user.is_some_and(|user| user > 0);
    must(not_root && user != Some(0), format!("`{name}` may run as root"));
    let is = |path: &str, value: bool| own(path).and_then(Json::as_bool) == Some(value);
    must(is("allowPrivilegeEscalation", false), format!("`{name}` may gain privileges"));
    must(!is("privileged", true), format!("`{name}` is privileged"));
    must(is("readOnlyRootFilesystem", true), format!("the root of `{name}` can be written"));
    let capabilities = |path: &str| own(path).and_then(Json::as_array).cloned().unwrap_or_default();
    let dropped = capabilities("capabilities/drop").iter().any(|one| one.as_str() == Some("ALL"));
    must(dropped && capabilities("capabilities/add").is_empty(), format!("`{name}` has capabilities"));
    let filter = either("seccompProfile/type").and_then(Json::as_str);
    must(
        matches!(filter, Some("RuntimeDefault" | "Localhost")),
        format!("the system calls of `{name}` are not filtered"),
    );
    for limit in ["memory", "cpu"] {
        let has = one.pointer(&format!("/resources/limits/{limit}")).is_some();
        must(has, format!("`{name}` has no limit of `{limit}`"));
    }
}

/// Without a policy of its own, the controller's default lets a sandbox reach the internet.
fn network(template: &Json, allowed: Option<&Allowed>, must: &mut impl FnMut(bool, String)) {
    let managed = text(template, "/spec/networkPolicyManagement").unwrap_or("Managed") == "Managed";
    must(managed, "its network is not managed (`networkPolicyManagement`)".into());
    let policy = template.pointer("/spec/networkPolicy");
    must(policy.is_some(), "it has no `networkPolicy`, so that the internet can be reached".into());
    let out = policy.and_then(|policy| policy.get("egress"));
    match (out, allowed) {
        (None | Some(Json::Null), _) => {}
        (Some(Json::Array(rules)), Some(allowed)) => {
            for rule in rules {
                let wrong = lets_out(rule, allowed);
                must(wrong.is_none(), wrong.unwrap_or_default());
            }
        }
        (Some(out), _) => {
            let none = out.as_array().is_some_and(Vec::is_empty);
            must(none, "its `networkPolicy` lets something out (`egress`)".into());
        }
    }
}

/// What a rule lets out that is not allowed.
fn lets_out(rule: &Json, allowed: &Allowed) -> Option<String> {
    let peers = rule.get("to").and_then(Json::as_array).filter(|peers| !peers.is_empty());
    let Some(peers) = peers else {
        return Some("its `networkPolicy` lets everything out (`egress` without `to`)".into());
    };
    let ports = rule.get("ports").and_then(Json::as_array).filter(|ports| !ports.is_empty());
    let asks_names = ports.is_some_and(|ports| {
        ports
            .iter()
            .all(|port| port.get("port").and_then(Json::as_u64) == Some(53) && port.get("endPort").is_none())
    });
    for peer in peers {
        let Some(own) = peer.get("ipBlock") else {
            return Some("its `networkPolicy` lets out to pods of the cluster".into());
        };
        let block = |text: &Json| text.as_str().and_then(Block::parse);
        let without = own.get("except").and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
        let without: Vec<Block> = without.iter().filter_map(block).collect();
        let fine = own
            .get("cidr")
            .and_then(block)
            .is_some_and(|block| allowed.admits(&block, &without) || (asks_names && allowed.is_dns(&block)));
        if !fine {
            let shown = own.get("cidr").and_then(Json::as_str).unwrap_or_default();
            return Some(format!(
                "its `networkPolicy` lets out to `{shown}`, which `network` does not allow"
            ));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use dormouse_core::sandbox::SandboxSpec;
    use serde_json::json;

    use super::*;

    fn template() -> Json {
        json!({"spec": {
            "networkPolicyManagement": "Managed",
            "networkPolicy": {"ingress": [], "egress": []},
            "podTemplate": {"spec": {
                "securityContext": {"runAsNonRoot": true, "runAsUser": 65534, "seccompProfile": {"type": "RuntimeDefault"}},
                "containers": [{
                    "name": "sandbox", "image": "tools:1",
                    "securityContext": {"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
                        "capabilities": {"drop": ["ALL"]}},
                    "resources": {"limits": {"cpu": "1", "memory": "512Mi"}},
                    "volumeMounts": [{"name": "w", "mountPath": "/workspace"}, {"name": "t", "mountPath": "/tmp"}],
                }],
            }},
        }})
    }

    /// KUB-08: a template that lets out more than the operator allows, or does not confine.
    #[test]
    fn kub_08_a_template_that_gives_more_than_a_pod_of_ours_is_refused() {
        let vetted = look("p", &template(), None, None).unwrap();
        assert_eq!(
            (vetted.memory, vetted.cpu_millis, vetted.container.as_deref()),
            (512 << 20, 1_000, Some("sandbox"))
        );
        let pod = "/spec/podTemplate/spec";
        let own = format!("{pod}/containers/0");
        let cases = [
            (pod.to_owned(), "hostNetwork", json!(true)),
            (pod.to_owned(), "hostPID", json!(true)),
            (pod.to_owned(), "automountServiceAccountToken", json!(true)),
            (pod.to_owned(), "volumes", json!([{"name": "h", "hostPath": {"path": "/"}}])),
            (pod.to_owned(), "securityContext", json!({})),
            (format!("{pod}/securityContext"), "runAsUser", json!(0)),
            (own.clone(), "securityContext", json!({})),
            (format!("{own}/securityContext"), "privileged", json!(true)),
            (format!("{own}/securityContext"), "readOnlyRootFilesystem", json!(false)),
            (format!("{own}/securityContext/capabilities"), "add", json!(["NET_ADMIN"])),
            (own.clone(), "resources", json!({})),
            (own.clone(), "volumeMounts", json!([])),
            ("/spec".to_owned(), "networkPolicy", Json::Null),
            ("/spec".to_owned(), "networkPolicyManagement", json!("Unmanaged")),
            ("/spec/networkPolicy".to_owned(), "egress", json!([{}])),
        ];
        for (at, field, value) in cases {
            let mut bad = template();
            let fields = bad.pointer_mut(&at).unwrap().as_object_mut().unwrap();
            match value {
                Json::Null => fields.remove(field),
                value => fields.insert(field.to_owned(), value),
            };
            assert!(look("p", &bad, None, None).is_err_and(|wrong| !wrong.is_empty()), "{at}/{field}");
        }
        let mut more = template();
        let containers = more.pointer_mut(&format!("{pod}/containers")).unwrap().as_array_mut().unwrap();
        containers.push(json!({"name": "other", "image": "x"}));
        assert!(look("p", &more, None, None).is_err(), "each container is looked at");
        assert!(look("p", &template(), Some("other"), None).is_err(), "the one that is meant must be there");
    }

    /// KUB-36: a template that lets out other addresses than those that the operator allows.
    #[test]
    fn kub_36_a_template_lets_out_no_more_than_the_operator_allows() {
        let network = Network {
            of: vec!["p".into()],
            to: vec!["all".into(), "10.20.0.0/16".into()],
            except: Vec::new(),
            dns: vec!["10.0.0.53".parse().unwrap()],
        };
        let allowed = network.allowed().unwrap();
        let look = |egress: Json, allowed: Option<&Allowed>| {
            let mut template = template();
            template["spec"]["networkPolicy"]["egress"] = egress;
            look("p", &template, None, allowed)
        };
        let to = |cidr: &str| json!([{"to": [{"ipBlock": {"cidr": cidr}}]}]);
        let names = |port: u16, cidr: &str| json!([{"to": [{"ipBlock": {"cidr": cidr}}], "ports": [{"protocol": "UDP", "port": port}]}]);
        let except = json!([{"to": [{"ipBlock": {"cidr": "8.0.0.0/6", "except": ["10.0.0.0/8"]}}, {"ipBlock": {"cidr": "10.20.1.0/24"}}]}]);
        for fine in [json!([]), to("1.1.1.1/32"), to("2606:4700::/32"), names(53, "10.0.0.53/32"), except] {
            assert!(look(fine.clone(), Some(&allowed)).is_ok(), "{fine}");
            assert!(fine == json!([]) || look(fine.clone(), None).is_err(), "{fine}");
        }
        let cases = [
            json!([{}]),
            json!([{"to": []}]),
            json!("all"),
            json!([{"to": [{"podSelector": {}}]}]),
            json!([{"to": [{"namespaceSelector": {}}], "ports": [{"port": 53}]}]),
            to("0.0.0.0/0"),
            to("169.254.169.254/32"),
            to("10.0.0.53/32"),
            to("nowhere"),
            names(80, "10.0.0.53/32"),
            names(53, "10.0.0.54/32"),
            json!([{"to": [{"ipBlock": {"cidr": "10.0.0.53/32"}}], "ports": [{"port": 53, "endPort": 65535}]}]),
            json!([{"to": [{"ipBlock": {"cidr": "1.1.1.1/32"}}, {"ipBlock": {"cidr": "10.1.1.1/32"}}]}]),
        ];
        for bad in cases {
            assert!(look(bad.clone(), Some(&allowed)).is_err_and(|wrong| wrong.len() == 1), "{bad}");
        }
    }

    #[test]
    fn the_container_for_the_gate_is_none_of_a_sandboxs_wherever_it_stands() {
        let mut gated = template();
        let containers = gated.pointer_mut("/spec/podTemplate/spec/containers").unwrap();
        let containers = containers.as_array_mut().unwrap();
        containers[0]["volumeMounts"].as_array_mut().unwrap().push(gate::mount());
        let own = containers[0].clone();
        let beside = gate::container("i", "keep", &own["securityContext"], &own["resources"]);
        containers.insert(0, beside);
        let vetted = look("p", &gated, None, None).unwrap();
        assert_eq!((vetted.container.as_deref(), vetted.has_gate), (Some("sandbox"), true));
        assert!(!look("p", &template(), None, None).unwrap().has_gate);
    }

    #[test]
    fn a_workspace_of_a_volume_claim_outlives_its_pods() {
        let mut kept = template();
        assert!(!look("p", &kept, None, None).unwrap().keeps);
        for (name, keeps) in [("other", false), ("w", true), ("t", false)] {
            kept["spec"]["volumeClaimTemplates"] = json!([{"metadata": {"name": name}, "spec": {}}]);
            assert_eq!(look("p", &kept, None, None).unwrap().keeps, keeps, "{name}");
        }
    }

    #[test]
    fn more_than_the_template_gives_is_refused() {
        let vetted = look("p", &template(), None, None).unwrap();
        let spec = SandboxSpec { memory: 512 << 20, cpu_millis: 1_000, ..SandboxSpec::default() };
        vetted.admit(&spec).unwrap();
        let more = SandboxSpec { memory: 513 << 20, ..spec.clone() };
        assert_eq!(vetted.admit(&more).unwrap_err().code(), ErrorCode::ArgsInvalid);
        let more = SandboxSpec { cpu_millis: 1_001, ..spec };
        assert!(vetted.admit(&more).unwrap_err().message().contains("cpu_millis"));
    }
}
