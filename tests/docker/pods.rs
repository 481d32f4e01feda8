//! The same answers from pods: a cluster of the tests' own, whose pods are containers of the same engine.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use dormouse::Dormouse;
use dormouse::wasm::Allocation;
use dormouse_core::Language;
use dormouse_core::testing::wait_until_async;
use dormouse_kubernetes::{KubernetesProvider, Settings};
use dormouse_tests::{lasting, sandbox};
use dormouse_tools::{CallContext, Profile, Surface, Toolset};
use serde_json::{Value as Json, json};

use super::answers::VOLUMES;
use super::node::Node;
use super::same::{JAVASCRIPT, PYTHON, marked};
use super::server::Server;
use super::{Desk, FULL, told};

/// How long anything that is waited for may take.
const PATIENCE: Duration = Duration::from_secs(60);

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

    fn provider(&self, folder: &Path, storage: Option<&str>) -> KubernetesProvider {
        let kubeconfig = folder.join("kubeconfig");
        std::fs::write(&kubeconfig, self.server.kubeconfig()).unwrap();
        let settings = Settings {
            kubeconfig: Some(kubeconfig),
            images: vec![FULL.into()],
            storage_class: storage.map(str::to_owned),
            ..Settings::default()
        };
        KubernetesProvider::new(Settings { state: Some(folder.to_owned()), ..settings }).unwrap()
    }
}

/// A surface whose sandboxes can be pods.
fn surface(folder: &Path, provider: &KubernetesProvider) -> (Dormouse, Surface) {
    let builder = Dormouse::builder().unwrap().allocation(Allocation::OnDemand);
    let dormouse = builder.state(folder.join("state")).build().unwrap();
    dormouse.sandboxes().unwrap().add_provider(Arc::new(provider.clone()));
    let surface = Surface::new(dormouse.runtime().clone())
        .with_profile(Profile::Sandbox)
        .with_tools(Toolset::All)
        .unwrap();
    (dormouse, surface)
}

fn call(surface: &Surface, tool: &str, arguments: Json) -> Json {
    let Json::Object(arguments) = arguments else { panic!("arguments are an object") };
    sandbox::wait(surface.call(tool, arguments, CallContext::default())).unwrap().structured
}

/// S2-11: what is kept of a sandbox, through the whole of the runtime.
#[test]
fn a_stopped_sandbox_keeps_its_volume_and_a_destroyed_one_does_not() {
    let Some(desk) = Desk::new("a volume that is kept") else { return };
    desk.close();
    let (cluster, folder) = (Cluster::new(), tempfile::tempdir().unwrap());
    let provider = cluster.provider(folder.path(), Some("fast"));
    let (dormouse, surface) = surface(folder.path(), &provider);
    let on = |tool: &str, more: Json| {
        let mut arguments = json!({"sandbox": "pod"});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        call(&surface, tool, arguments)
    };
    let exec = |line: &str| on("sandbox_exec", json!({"command": line}))["stdout"].clone();
    let volume = || {
        let names = cluster.server.names(VOLUMES);
        names.first().and_then(|name| cluster.server.get(VOLUMES, name))
    };
    // What tells a file from one that was made anew.
    let stamp = || {
        let folder = cluster.server.node.folder(&volume().unwrap());
        let found = std::fs::metadata(folder.join("d/f")).unwrap();
        (found.ino(), found.ctime(), found.ctime_nsec())
    };
    let stop = || {
        on("sandbox_stop", json!({}));
        let noted =
            || volume().is_some_and(|one| one["metadata"]["annotations"]["dormouse.save"].is_string());
        cluster.runtime.block_on(wait_until_async("it is known what it holds", PATIENCE, noted));
    };
    let made = call(&surface, "sandbox_create", json!({"name": "pod", "provider": "kubernetes"}));
    assert_eq!(made["provider"], "kubernetes", "{made}");
    exec("mkdir d; head -c 1000000 /dev/urandom > d/f; echo one > a; sleep 0.2");
    on("sandbox_checkpoint", json!({"name": "first"}));
    exec("echo two > a; sleep 0.2");
    let begun = stamp();
    stop();
    assert_eq!(exec("cat a"), "two\n");
    assert_eq!(stamp(), begun, "nothing was unpacked");
    stop();
    // An older state goes on in a pod of its own, beside the one that had the volume, and is what the volume gets with the next wake.
    on("sandbox_restore", json!({"checkpoint_id": "first"}));
    assert_eq!(exec("cat a; cksum < d/f | wc -l"), "one\n1\n");
    assert_eq!(stamp(), begun, "the volume is as it was");
    on("sandbox_stop", json!({}));
    assert_eq!(exec("cat a; sleep 0.2"), "one\n");
    let again = stamp();
    assert_ne!(again, begun, "it was emptied, and unpacked into");
    stop();
    assert_eq!(exec("cat a"), "one\n");
    assert_eq!(stamp(), again);
    let forked = on("sandbox_fork", json!({}));
    assert!(forked.is_object(), "{forked}");
    on("sandbox_destroy", json!({}));
    let gone = || cluster.server.names(VOLUMES).is_empty();
    cluster.runtime.block_on(wait_until_async("the volume is removed", PATIENCE, gone));
    sandbox::wait(lasting::sandboxes(&dormouse).close()).unwrap();
    assert!(sandbox::wait(provider.left()).unwrap().is_empty());
    cluster.runtime.block_on(cluster.server.node.close());
}

#[test]
fn s2_13_a_pod_gives_the_same_values() {
    // Whether the engine is there.
    let Some(desk) = Desk::new("the same values from pods") else { return };
    desk.close();
    let (cluster, folder) = (Cluster::new(), tempfile::tempdir().unwrap());
    let provider = cluster.provider(folder.path(), None);
    let (dormouse, surface) = surface(folder.path(), &provider);
    let call = |tool: &str, arguments: Json| call(&surface, tool, arguments);
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
