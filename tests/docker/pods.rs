//! The same answers from pods: a cluster of the tests' own, whose pods are containers of the same engine.

use std::path::Path;
use std::sync::Arc;

use dormouse::Dormouse;
use dormouse::wasm::Allocation;
use dormouse_core::Language;
use dormouse_kubernetes::{KubernetesProvider, Settings};
use dormouse_tests::{lasting, sandbox};
use dormouse_tools::{CallContext, Profile, Surface, Toolset};
use serde_json::{Value as Json, json};

use super::node::Node;
use super::same::{JAVASCRIPT, PYTHON, marked};
use super::server::Server;
use super::{Desk, FULL, told};

/// A cluster, for as long as this is held.
struct Cluster {
    runtime: tokio::runtime::Runtime,
    server: Server,
}

impl Cluster {
    fn new() -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let server = runtime.block_on(async {
            let server = Server::start(Node::containers()).await;
            Node::run(&server);
            server
        });
        Self { runtime, server }
    }

    fn provider(&self, folder: &Path) -> KubernetesProvider {
        let kubeconfig = folder.join("kubeconfig");
        std::fs::write(&kubeconfig, self.server.kubeconfig()).unwrap();
        let settings =
            Settings { kubeconfig: Some(kubeconfig), images: vec![FULL.into()], ..Settings::default() };
        KubernetesProvider::new(Settings { state: Some(folder.to_owned()), ..settings }).unwrap()
    }
}

#[test]
fn s2_13_a_pod_gives_the_same_values() {
    // Whether the engine is there.
    let Some(desk) = Desk::new("the same values from pods") else { return };
    desk.close();
    let (cluster, folder) = (Cluster::new(), tempfile::tempdir().unwrap());
    let provider = cluster.provider(folder.path());
    let builder = Dormouse::builder().unwrap().allocation(Allocation::OnDemand);
    let dormouse = builder.state(folder.path().join("state")).build().unwrap();
    dormouse.sandboxes().unwrap().add_provider(Arc::new(provider.clone()));
    let surface = Surface::new(dormouse.runtime().clone())
        .with_profile(Profile::Sandbox)
        .with_tools(Toolset::All)
        .unwrap();
    let call = |tool: &str, arguments: Json| {
        let Json::Object(arguments) = arguments else { panic!("arguments are an object") };
        sandbox::wait(surface.call(tool, arguments, CallContext::default())).unwrap().structured
    };
    let made = call("sandbox_create", json!({"name": "pod", "provider": "kubernetes"}));
    assert_eq!(made["provider"], "kubernetes", "{made}");
    call("sandbox_create", json!({"name": "cell"}));
    let mut differ = Vec::new();
    for (language, snippets) in [(Language::python(), &PYTHON[..]), (Language::javascript(), &JAVASCRIPT[..])]
    {
        for code in snippets {
            let ask = |sandbox: &str| {
                call("sandbox_eval", json!({"sandbox": sandbox, "language": language.as_str(), "code": code}))
            };
            let (pod, cell) = (ask("pod"), ask("cell"));
            assert_eq!(pod["provider"], "kubernetes", "{pod}");
            let (pod, cell) = (marked(told(pod)), marked(told(cell)));
            if pod != cell {
                differ.push(format!("{code}\n  pod  {pod}\n  wasm {cell}"));
            }
        }
    }
    sandbox::wait(lasting::sandboxes(&dormouse).close()).unwrap();
    assert!(sandbox::wait(provider.left()).unwrap().is_empty());
    cluster.runtime.block_on(cluster.server.node.close());
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}
