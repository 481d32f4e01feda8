//! The same answers from pods: a cluster of the tests' own, whose pods are containers of the same engine.

use std::path::Path;
use std::sync::Arc;

use dormouse::Dormouse;
use dormouse::wasm::Allocation;
use dormouse_core::Language;
use dormouse_kubernetes::{KubernetesProvider, Settings};
use dormouse_tests::wire::{PATIENCE, Wire};
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

/// By a name, which the server cannot look up itself, and with a token that is replaced while it runs, as that of a pod's account is.
#[test]
fn osw_04_a_confined_server_has_pods_through_a_helper_and_reads_new_tokens() {
    let Some(desk) = Desk::new("osw_04 pods") else { return };
    desk.close();
    let (cluster, folder) = (Cluster::new(), tempfile::tempdir().unwrap());
    let account = folder.path().join("account");
    std::fs::create_dir(&account).unwrap();
    let renew = |token: &str| {
        let new = account.join("new");
        std::fs::write(&new, format!("{token}\n")).unwrap();
        std::fs::rename(&new, account.join("token")).unwrap();
        cluster.server.store.lock().unwrap().token = Some(token.into());
    };
    renew("first");
    let kubeconfig = json!({"apiVersion": "v1", "kind": "Config", "current-context": "t",
        "clusters": [{"name": "t", "cluster": {"server": format!("http://localhost:{}", cluster.server.address.port())}}],
        "users": [{"name": "t", "user": {"tokenFile": account.join("token")}}],
        "contexts": [{"name": "t", "context": {"cluster": "t", "user": "t", "namespace": "boxes"}}]});
    std::fs::write(folder.path().join("kubeconfig"), kubeconfig.to_string()).unwrap();
    let config = json!({"kubeconfig": folder.path().join("kubeconfig"), "images": [FULL]});
    let file = folder.path().join("kubernetes.json");
    std::fs::write(&file, config.to_string()).unwrap();
    let state = folder.path().join("state");
    let mut wire = Wire::start(&[
        "--tools",
        "all",
        "--no-fallback",
        "--state-dir",
        state.to_str().unwrap(),
        "--kubernetes",
        "pods",
        "--kubernetes-config",
        file.to_str().unwrap(),
    ]);
    wire.greet();
    let word = wire.call(1, "sandbox_capabilities", json!({}))["structuredContent"]["confinement"].clone();
    if word == "off" {
        eprintln!("skipped a part of osw_04: the kernel has nothing of the second wall");
    }
    let made = wire.call(2, "sandbox_create", json!({"name": "box", "provider": "kubernetes"}));
    assert_eq!(made["structuredContent"]["provider"], "kubernetes", "{made}");
    let line = "head -c 3000000 /dev/zero | tee big | wc -c && read line; echo \"[$line]\"";
    let ran = wire.call(3, "sandbox_exec", json!({"sandbox": "box", "command": line, "stdin": "typed\n"}));
    assert_eq!(ran["structuredContent"]["stdout"], "3000000\n[typed]\n", "{ran}");
    renew("second");
    let ran = wire.call(4, "sandbox_eval", json!({"sandbox": "box", "code": "6 * 7"}));
    assert_eq!(ran["structuredContent"]["result"]["value"], 42, "{ran}");
    wire.call(5, "sandbox_stop", json!({"sandbox": "box"}));
    let ran = wire.call(6, "sandbox_exec", json!({"sandbox": "box", "command": "wc -c < big"}));
    assert_eq!(ran["structuredContent"]["stdout"], "3000000\n", "{ran}");
    let gone = wire.call(7, "sandbox_destroy", json!({"sandbox": "box"}));
    assert_ne!(gone["isError"], true, "{gone}");
    assert_eq!(wire.end(PATIENCE).status, Some(0));
    assert!(cluster.server.names("pods").is_empty());
    cluster.runtime.block_on(cluster.server.node.close());
}
