//! A cluster of the tests' own, whose pods are containers of the same engine.

use std::path::{Path, PathBuf};

use dormouse_kubernetes::{KubernetesProvider, Mode, Settings};

use super::node::Node;
use super::server::Server;
use super::{FULL, POOL, pools};

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
                pools::run(&server, POOL, (POOL, pools::template(POOL, FULL)), WAITING);
            }
            server
        });
        let (kubeconfig, configuration) = (folder.join("kubeconfig"), folder.join("kubernetes.json"));
        std::fs::write(&kubeconfig, server.kubeconfig()).unwrap();
        let text =
            serde_json::json!({"kubeconfig": kubeconfig, "images": [FULL], "pools": [POOL]}).to_string();
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

    /// Ends it, with all that it has made.
    pub(super) fn close(self) {
        self.runtime.block_on(self.server.node.close());
    }
}
