//! A stand-in for the controller of agent-sandbox: gives each claim a sandbox of its pool that no other has, or a new one, and ends and
//! makes the pods of sandboxes that are suspended and resumed.

use std::collections::VecDeque;
use std::time::Duration;

use dormouse_core::testing::wait_until_async;
use serde_json::{Value as Json, json};

use crate::objects::VOLUMES;
use crate::server::{PATIENCE, Server};

const EXTENSIONS: &str = "extensions.agents.x-k8s.io/v1beta1";

/// The template of a pool, which confines.
pub(crate) fn template(name: &str, image: &str) -> Json {
    json!({"apiVersion": EXTENSIONS, "kind": "SandboxTemplate", "metadata": {"name": name}, "spec": {
        "networkPolicyManagement": "Managed",
        "networkPolicy": {"ingress": [], "egress": []},
        "podTemplate": {"spec": {
            "securityContext": {"runAsNonRoot": true, "runAsUser": 65534, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [{
                "name": "box", "image": image, "workingDir": "/workspace",
                "command": ["sh", "-c", "while :; do sleep 3600 & wait; done"],
                "securityContext": {"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
                    "capabilities": {"drop": ["ALL"]}},
                "resources": {"limits": {"cpu": "1", "memory": "512Mi"}},
                "volumeMounts": [{"name": "w", "mountPath": "/workspace"}, {"name": "t", "mountPath": "/tmp"}],
            }],
            "volumes": [
                {"name": "w", "emptyDir": {"medium": "Memory", "sizeLimit": "268435456"}},
                {"name": "t", "emptyDir": {"medium": "Memory", "sizeLimit": "67108864"}},
            ],
        }},
    }})
}

/// The same with a container beside the sandbox's own by which rules let something out.
pub(crate) fn gated_template(name: &str, image: &str) -> Json {
    let mut template = template(name, image);
    let pod = &mut template["spec"]["podTemplate"]["spec"];
    let mut gate = pod["containers"][0].clone();
    gate["name"] = json!("gate");
    gate["volumeMounts"] = json!([{"name": "dormouse-gate", "mountPath": "/run/dormouse"}]);
    pod["containers"].as_array_mut().unwrap().push(gate);
    let told = json!({"name": "dormouse-gate", "mountPath": "/run/dormouse", "readOnly": true});
    pod["containers"][0]["volumeMounts"].as_array_mut().unwrap().push(told);
    let volume = json!({"name": "dormouse-gate", "emptyDir": {"medium": "Memory", "sizeLimit": "4194304"}});
    pod["volumes"].as_array_mut().unwrap().push(volume);
    template
}

/// The same with a volume of its own at `/workspace`.
pub(crate) fn keeping_template(name: &str, image: &str) -> Json {
    let mut template = template(name, image);
    template["spec"]["podTemplate"]["spec"]["volumes"].as_array_mut().unwrap().remove(0);
    template["spec"]["volumeClaimTemplates"] = json!([{"metadata": {"name": "w"}, "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "64Mi"}}}}]);
    template
}

/// A pool.
pub(crate) fn pool(name: &str, template: &str, replicas: usize) -> Json {
    json!({"apiVersion": EXTENSIONS, "kind": "SandboxWarmPool", "metadata": {"name": name},
        "spec": {"replicas": replicas, "sandboxTemplateRef": {"name": template}},
        "status": {"replicas": replicas, "readyReplicas": replicas}})
}

fn box_of(server: &Server, template: &str, name: &str) -> String {
    let template = server.get("sandboxtemplates", template).unwrap();
    let mut spec = template["spec"]["podTemplate"]["spec"].clone();
    for claim in template["spec"]["volumeClaimTemplates"].as_array().into_iter().flatten() {
        let volume = claim["metadata"]["name"].as_str().unwrap();
        let own = format!("{volume}-{name}");
        server.put(
            VOLUMES,
            json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": own}, "spec": claim["spec"]}),
        );
        let own = json!({"name": volume, "persistentVolumeClaim": {"claimName": own}});
        spec["volumes"].as_array_mut().unwrap().push(own);
    }
    server.put(
        "sandboxes",
        json!({"apiVersion": "agents.x-k8s.io/v1beta1", "kind": "Sandbox",
            "metadata": {"name": name, "annotations": {"agents.x-k8s.io/pod-name": format!("{name}-pod")}},
            "spec": {"operatingMode": "Running", "podTemplate": {"spec": spec}}}),
    );
    make_pod(server, name);
    name.to_owned()
}

/// The name of a sandbox, which no other test's has: they share an engine.
fn named(server: &Server, kind: &str, number: usize) -> String {
    format!("{kind}-{}-{number}", server.address.port())
}

/// The pod of a sandbox.
fn make_pod(server: &Server, name: &str) {
    let spec = server.get("sandboxes", name).unwrap()["spec"]["podTemplate"]["spec"].clone();
    let pod = format!("{name}-pod");
    server.put("pods", json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": pod}, "spec": spec}));
}

/// Removes a sandbox with what belongs to it.
fn remove(server: &Server, name: &str) {
    server.remove("sandboxes", name);
    server.remove("pods", &format!("{name}-pod"));
    for volume in server.names(VOLUMES).iter().filter(|volume| volume.ends_with(&format!("-{name}"))) {
        server.remove(VOLUMES, volume);
    }
}

/// The claim that a sandbox was given to.
fn claim_of(server: &Server, sandbox: &str) -> Option<String> {
    let is_of = |name: &String| {
        server.get("sandboxclaims", name).is_some_and(|claim| claim["status"]["sandbox"]["name"] == sandbox)
    };
    server.names("sandboxclaims").into_iter().find(is_of)
}

/// Suspends and resumes sandboxes for as long as the server is there: the pod of one that is suspended is removed, its volumes stay.
fn operate(server: &Server) {
    let (server, mut changes, mut sandboxes) = (server.clone(), server.changes(), server.follow("sandboxes"));
    tokio::spawn(async move {
        loop {
            for (kind, own) in sandboxes() {
                let name = own["metadata"]["name"].as_str().unwrap().to_owned();
                let (pod, suspended) = (format!("{name}-pod"), own["spec"]["operatingMode"] == "Suspended");
                let there = server.get("pods", &pod).is_some();
                let Some(claim) = claim_of(&server, &name) else { continue };
                if kind != "MODIFIED" || suspended != there {
                    continue;
                }
                if suspended {
                    let mut status = not_ready("SandboxSuspended");
                    status["sandbox"] = json!({"name": name});
                    server.status("sandboxclaims", &claim, status);
                    server.node.end(&pod).await;
                    server.remove("pods", &pod);
                } else {
                    make_pod(&server, &name);
                    runs(&server, &pod).await;
                    server.status("sandboxclaims", &claim, ready(&name));
                }
            }
            if changes.recv().await.is_err() {
                return;
            }
        }
    });
}

async fn runs(server: &Server, pod: &str) {
    wait_until_async("the pod runs", PATIENCE, || {
        server.get("pods", pod).is_none_or(|pod| pod["status"]["phase"] == "Running")
    })
    .await;
}

fn ready(sandbox: &str) -> Json {
    json!({"sandbox": {"name": sandbox}, "conditions": [
        {"type": "Ready", "status": "True", "reason": "DependenciesReady", "message": "ready"}]})
}

/// Fills a pool, and answers claims on it for as long as the server is there.
pub(crate) fn run(server: &Server, pool: &str, (name, template): (&str, Json), replicas: usize) {
    server.put("sandboxtemplates", template);
    let template = name;
    operate(server);
    server.put("sandboxwarmpools", self::pool(pool, template, replicas));
    let mut waiting: VecDeque<String> =
        (0..replicas).map(|number| box_of(server, template, &named(server, pool, number))).collect();
    let (server, mut changes, mut claims) =
        (server.clone(), server.changes(), server.follow("sandboxclaims"));
    let template = template.to_owned();
    tokio::spawn(async move {
        let mut number = replicas;
        loop {
            for (kind, claim) in claims() {
                let name = claim["metadata"]["name"].as_str().unwrap().to_owned();
                if kind == "DELETED" {
                    if let Some(own) = claim["status"]["sandbox"]["name"].as_str() {
                        remove(&server, own);
                    }
                    continue;
                }
                if kind != "ADDED" {
                    continue;
                }
                let pool = claim["spec"]["warmPoolRef"]["name"].as_str().unwrap_or_default();
                if server.get("sandboxwarmpools", pool).is_none() {
                    server.status("sandboxclaims", &name, not_ready("WarmPoolNotFound"));
                    continue;
                }
                let own = match waiting.pop_front() {
                    Some(own) => own,
                    None => {
                        server.status("sandboxclaims", &name, not_ready("SandboxNotReady"));
                        tokio::time::sleep(Duration::from_millis(20)).await;
                        number += 1;
                        box_of(&server, &template, &named(&server, "cold", number))
                    }
                };
                runs(&server, &format!("{own}-pod")).await;
                server.status("sandboxclaims", &name, ready(&own));
            }
            if changes.recv().await.is_err() {
                return;
            }
        }
    });
}

/// A claim's status that says why it is not ready.
pub(crate) fn not_ready(reason: &str) -> Json {
    json!({"conditions": [{"type": "Ready", "status": "False", "reason": reason, "message": "not ready"}]})
}
