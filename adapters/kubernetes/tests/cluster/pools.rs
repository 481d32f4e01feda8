//! A stand-in for the controller of agent-sandbox: gives each claim a sandbox of its pool that no other has, or a new one.

use std::collections::VecDeque;
use std::time::Duration;

use dormouse_core::testing::wait_until_async;
use serde_json::{Value as Json, json};

use crate::server::Server;
use crate::support::PATIENCE;

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

/// A pool.
pub(crate) fn pool(name: &str, template: &str, replicas: usize) -> Json {
    json!({"apiVersion": EXTENSIONS, "kind": "SandboxWarmPool", "metadata": {"name": name},
        "spec": {"replicas": replicas, "sandboxTemplateRef": {"name": template}},
        "status": {"replicas": replicas, "readyReplicas": replicas}})
}

fn box_of(server: &Server, template: &str, name: &str) -> String {
    let spec = server.get("sandboxtemplates", template).unwrap()["spec"]["podTemplate"]["spec"].clone();
    let pod = format!("{name}-pod");
    server.put("pods", json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": pod}, "spec": spec}));
    server.put(
        "sandboxes",
        json!({"apiVersion": "agents.x-k8s.io/v1beta1", "kind": "Sandbox",
            "metadata": {"name": name, "annotations": {"agents.x-k8s.io/pod-name": pod}}}),
    );
    name.to_owned()
}

/// Fills a pool, and answers claims on it for as long as the server is there.
pub(crate) fn run(server: &Server, pool: &str, template: &str, replicas: usize) {
    server.put("sandboxtemplates", self::template(template, "dormouse-test/full:1"));
    server.put("sandboxwarmpools", self::pool(pool, template, replicas));
    let mut waiting: VecDeque<String> =
        (0..replicas).map(|number| box_of(server, template, &format!("{pool}-{number}"))).collect();
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
                        server.remove("sandboxes", own);
                        server.remove("pods", &format!("{own}-pod"));
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
                        box_of(&server, &template, &format!("cold-{number}"))
                    }
                };
                let pod = format!("{own}-pod");
                wait_until_async("the pod runs", PATIENCE, || {
                    server.get("pods", &pod).is_none_or(|pod| pod["status"]["phase"] == "Running")
                })
                .await;
                server.status(
                    "sandboxclaims",
                    &name,
                    json!({"sandbox": {"name": own}, "conditions": [
                        {"type": "Ready", "status": "True", "reason": "DependenciesReady", "message": "ready"}]}),
                );
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
