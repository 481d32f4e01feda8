//! What the provider writes, sent to Kubernetes' own API machinery with the resources of agent-sandbox: `cargo xtask test kubernetes`.
//!
//! The provider works with the server of these tests, which notes what it is sent. All of it that is about agent-sandbox is then sent
//! to the real one, which refuses a field that it does not know and a value that it does not take.

use dormouse_core::Provider as _;
use dormouse_core::sandbox::SandboxId;
use dormouse_core::testing::{wait_for_async, wait_until_async};
use dormouse_kubernetes::Mode;
use http_body_util::BodyExt as _;
use hyper::{Method, Request};
use kube::Client;
use kube::client::Body;
use serde_json::{Value as Json, json};

use crate::pools;
use crate::support::{Bench, PATIENCE, patient, said, save};

/// The resources as agent-sandbox releases them, without the descriptions.
const DEFINITIONS: [&str; 4] = [
    include_str!("../resources/agents.x-k8s.io_sandboxes.json"),
    include_str!("../resources/extensions.agents.x-k8s.io_sandboxclaims.json"),
    include_str!("../resources/extensions.agents.x-k8s.io_sandboxtemplates.json"),
    include_str!("../resources/extensions.agents.x-k8s.io_sandboxwarmpools.json"),
];
const SANDBOXES: &str = "/apis/agents.x-k8s.io/v1beta1/namespaces/boxes/sandboxes";
const EXTENSIONS: &str = "/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/boxes";

/// The real API server; none: it was not asked for, which is said.
struct Machinery(Client);

impl Machinery {
    async fn new(test: &str) -> Option<Self> {
        let Ok(address) = std::env::var("DORMOUSE_TEST_KUBERNETES") else {
            println!("skipped: {test}: no API machinery (`cargo xtask test kubernetes`)");
            return None;
        };
        let mut config = kube::Config::new(address.parse().unwrap());
        config.accept_invalid_certs = true;
        let machinery = Self(Client::try_from(config).unwrap());
        for definition in DEFINITIONS {
            let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
            let (status, told) =
                machinery.send(Method::POST, definitions, "application/json", definition).await;
            assert!([201, 409].contains(&status), "{status} {told}");
        }
        for place in [SANDBOXES.to_owned(), format!("{EXTENSIONS}/sandboxclaims")] {
            wait_for_async("the resources are served", PATIENCE, async || {
                match machinery.send(Method::GET, &place, "application/json", "").await {
                    (200, _) => Ok(()),
                    other => Err(other),
                }
            })
            .await;
        }
        Some(machinery)
    }

    /// Sends a request, in which no field may be unknown; its status and the answer.
    async fn send(&self, method: Method, path: &str, kind: &str, body: &str) -> (u16, Json) {
        let strict = if method == Method::GET { "" } else { "fieldValidation=Strict" };
        let join = if path.contains('?') { '&' } else { '?' };
        let request = Request::builder()
            .method(method)
            .uri(format!("{path}{join}{strict}"))
            .header("content-type", kind)
            .body(Body::from(body.as_bytes().to_vec()))
            .unwrap();
        let answer = self.0.send(request).await.unwrap();
        let status = answer.status().as_u16();
        let bytes = answer.into_body().collect().await.unwrap().to_bytes();
        (status, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    async fn create(&self, path: &str, object: &Json) -> (u16, Json) {
        self.send(Method::POST, path, "application/json", &object.to_string()).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_is_what_the_resources_take() {
    let Some(machinery) = Machinery::new("resources").await else { return };
    // The whole life of a sandbox from a pool: it is claimed, suspended, resumed and destroyed.
    let Some(bench) = Bench::containers_with("resources", Mode::AgentSandbox, patient).await else { return };
    bench.fill_keeping(1);
    let id = SandboxId::random().unwrap();
    let mut machine = bench.machine_of(&id, None).await;
    said(machine.as_mut(), "echo one > a").await;
    let (state, ..) = save(machine.as_mut()).await;
    drop(machine);
    let claims = || {
        let names = bench.server.names("sandboxclaims");
        names.iter().filter_map(|name| bench.server.get("sandboxclaims", name)).collect::<Vec<Json>>()
    };
    let is_suspended = |claim: &Json| claim["metadata"]["annotations"]["dormouse.save"].is_string();
    wait_until_async("it is suspended", PATIENCE, || claims().iter().any(is_suspended)).await;
    drop(bench.machine_of(&id, Some(state)).await);
    bench.provider.forget(&id);
    wait_until_async("the claim is gone", PATIENCE, || claims().is_empty()).await;
    // What stands in for the operator and the controller is as real as what the provider makes of it.
    for (place, object) in [
        ("sandboxtemplates", pools::keeping_template("full", "tools:1")),
        ("sandboxwarmpools", pools::pool("full", "full", 1)),
    ] {
        let (status, told) = machinery.create(&format!("{EXTENSIONS}/{place}"), &object).await;
        assert!([201, 409].contains(&status), "{place}: {status} {told}");
    }
    let written: Vec<_> = std::mem::take(&mut bench.server.store.lock().unwrap().written);
    let mut sent = 0;
    for one in written.iter().filter(|one| one.path.contains("agents.x-k8s.io")) {
        let path = one.path.split('?').next().unwrap();
        if one.method == Method::PATCH && path.starts_with(SANDBOXES) {
            let name = path.rsplit('/').next().unwrap();
            let pod = pools::keeping_template("full", "tools:1")["spec"]["podTemplate"].clone();
            let object = json!({"apiVersion": "agents.x-k8s.io/v1beta1", "kind": "Sandbox", "metadata": {"name": name},
                "spec": {"podTemplate": pod}});
            let (status, told) = machinery.create(SANDBOXES, &object).await;
            assert!([201, 409].contains(&status), "{name}: {status} {told}");
        }
        // Versions and numbers are the server's own.
        let mut body: Json = serde_json::from_str(&one.body).unwrap_or_default();
        if let Some(object) = body.as_object_mut() {
            object.remove("preconditions");
            object.get_mut("metadata").and_then(Json::as_object_mut).map(|own| own.remove("resourceVersion"));
        }
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let (status, told) = machinery.send(one.method.clone(), path, &one.kind, &body).await;
        assert!((200..300).contains(&status), "{} {path}: {status} {told}\n{}", one.method, one.body);
        if one.method == Method::POST {
            let asked: Json = serde_json::from_str(&one.body).unwrap();
            assert_eq!(told["spec"], asked["spec"], "nothing of it is left out");
        }
        sent += 1;
    }
    assert!(sent >= 5, "it is claimed, suspended, resumed, noted and removed: {written:?}");
    bench.end().await;
}

/// That the machinery checks at all.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_resources_do_not_take_is_refused() {
    let Some(machinery) = Machinery::new("resources, refused").await else { return };
    let claim = |spec: Json| {
        json!({"apiVersion": "extensions.agents.x-k8s.io/v1beta1", "kind": "SandboxClaim",
            "metadata": {"name": "refused"}, "spec": spec})
    };
    let claims = format!("{EXTENSIONS}/sandboxclaims");
    for (spec, want) in [
        (json!({}), 422),
        (json!({"warmPoolRef": {"name": "full"}, "noSuchField": 1}), 400),
        (json!({"warmPoolRef": {"name": 5}}), 422),
    ] {
        let (status, told) = machinery.create(&claims, &claim(spec.clone())).await;
        assert_eq!(status, want, "{spec}: {told}");
    }
}
