//! A cluster of the tests' own, whose pods are containers of the same engine.

use std::path::{Path, PathBuf};

use dormouse_core::testing::wait_until_async;
use dormouse_kubernetes::{KubernetesProvider, Mode, Settings};
use serde_json::json;

use super::node::Node;
use super::server::{PATIENCE, Server};
use super::{FULL, POOL, pools};

/// Bytes that a pod has, as the template of the pool says.
pub(super) const MEMORY: u64 = 512 << 20;
/// Sandboxes that wait in the pool.
const WAITING: usize = 2;

/// A cluster, for as long as this is held, and the provider that knows it.
pub(super) struct Cluster {
    runtime: tokio::runtime::Runtime,
    pub(super) server: Server,
    pub(super) mode: Mode,
    pub(super) provider: KubernetesProvider,
    configuration: PathBuf,
}

impl Cluster {
    pub(super) fn new(mode: Mode, folder: &Path) -> Self {
        Self::with(mode, folder, None)
    }

    /// One whose pods have volumes of a class.
    pub(super) fn keeping(folder: &Path) -> Self {
        Self::with(Mode::Pods, folder, Some("fast"))
    }

    fn with(mode: Mode, folder: &Path, class: Option<&str>) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let server = runtime.block_on(async {
            let server = Server::start(Node::containers()).await;
            Node::run(&server);
            if mode == Mode::AgentSandbox {
                let mut store = server.store.lock().unwrap();
                for group in ["agents.x-k8s.io", "extensions.agents.x-k8s.io"] {
                    store.groups.insert(group.into(), "v1beta1".into());
                }
                drop(store);
                pools::run(&server, POOL, (POOL, pools::gated_template(POOL, FULL)), WAITING);
            }
            server
        });
        let (kubeconfig, configuration) = (folder.join("kubeconfig"), folder.join("kubernetes.json"));
        std::fs::write(&kubeconfig, server.kubeconfig()).unwrap();
        let text =
            json!({"kubeconfig": kubeconfig, "images": [FULL], "pools": [POOL], "storage_class": class, "memory_bytes": MEMORY}).to_string();
        std::fs::write(&configuration, &text).unwrap();
        let settings = Settings { mode, state: Some(folder.join("state")), ..Settings::read(&text).unwrap() };
        let provider = KubernetesProvider::new(settings).unwrap();
        Self { runtime, server, mode, provider, configuration }
    }

    /// The arguments by which the program has this cluster.
    pub(super) fn arguments(&self) -> Vec<String> {
        let configuration = self.configuration.to_str().unwrap();
        ["--kubernetes", self.mode.as_str(), "--kubernetes-config", configuration].map(str::to_owned).into()
    }

    /// Waits until something is so.
    pub(super) fn wait_until(&self, what: &str, is_so: impl Fn() -> bool) {
        self.runtime.block_on(wait_until_async(what, PATIENCE, is_so));
    }

    /// Ends it, with all that it has made.
    pub(super) fn close(&self) {
        self.runtime.block_on(self.server.node.close());
    }
}
