//! A cluster and a provider of a test's own.

use std::sync::Arc;
use std::time::Duration;

use dormouse_core::program::NoPrograms;
use dormouse_core::sandbox::{Executed, Include, Machine, SandboxId, SandboxSpec, SavedState, Snapshot};
use dormouse_core::testing::wait_for_async;
use dormouse_core::{Limits, LineRequest, Provider, Status};
use dormouse_files::MemoryChunks;
use dormouse_kubernetes::{KubernetesProvider, Mode, Settings};

use crate::list::{BUSYBOX, FULL, Ground};
use crate::node::Node;
use crate::pools;
pub(crate) use crate::server::PATIENCE;
use crate::server::Server;

/// A cluster, and a provider.
pub(crate) struct Bench {
    pub(crate) server: Server,
    pub(crate) provider: KubernetesProvider,
    pub(crate) _state: tempfile::TempDir,
    pub(crate) settings: Settings,
}

/// Whether the engine of the tests is there; if not, says so.
pub(crate) async fn has_engine(test: &str) -> bool {
    let asked = tokio::process::Command::new("docker").args(["image", "inspect", FULL]).output().await;
    let there = asked.is_ok_and(|ran| ran.status.success());
    if !there {
        assert!(
            std::env::var("DORMOUSE_REQUIRE_DOCKER").as_deref() != Ok("1"),
            "{test}: no engine with {FULL}"
        );
        println!("skipped: {test}: no engine with {FULL}");
    }
    there
}

impl Bench {
    /// One in which pods are containers.
    pub(crate) async fn containers(test: &str, mode: Mode) -> Option<Self> {
        Self::containers_with(test, mode, |_| {}).await
    }

    /// The same with other settings.
    pub(crate) async fn containers_with(
        test: &str,
        mode: Mode,
        change: impl FnOnce(&mut Settings),
    ) -> Option<Self> {
        if !has_engine(test).await {
            return None;
        }
        Some(Self::with(Node::containers(), mode, change).await)
    }

    /// One in which pods are nothing but names, and programs in them processes of this machine.
    pub(crate) async fn processes(mode: Mode, change: impl FnOnce(&mut Settings)) -> Self {
        Self::with(Node::processes(), mode, change).await
    }

    async fn with(node: Node, mode: Mode, change: impl FnOnce(&mut Settings)) -> Self {
        let server = Server::start(node).await;
        Node::run(&server);
        if mode == Mode::AgentSandbox {
            let mut store = server.store.lock().unwrap();
            for group in ["agents.x-k8s.io", "extensions.agents.x-k8s.io"] {
                store.groups.insert(group.into(), "v1beta1".into());
            }
        }
        let state = tempfile::tempdir().unwrap();
        let kubeconfig = state.path().join("kubeconfig");
        std::fs::write(&kubeconfig, server.kubeconfig()).unwrap();
        let mut settings = Settings {
            mode,
            kubeconfig: Some(kubeconfig),
            state: Some(state.path().to_owned()),
            images: vec![FULL.into()],
            pools: vec!["full".into()],
            ready_within_ms: 30_000,
            ..Settings::default()
        };
        change(&mut settings);
        let provider = KubernetesProvider::new(settings.clone()).unwrap();
        Self { server, provider, _state: state, settings }
    }

    /// For a test of the list: pods, with both images.
    pub(crate) async fn of_list(test: &str) -> Option<Self> {
        if !has_engine(test).await {
            return None;
        }
        let images = [BUSYBOX, FULL].map(str::to_owned);
        Some(Self::with(Node::containers(), Mode::Pods, |settings| settings.images = images.into()).await)
    }

    /// A pool that the stand-in fills.
    pub(crate) fn fill(&self, replicas: usize) {
        pools::run(&self.server, "full", ("full", pools::template("full", FULL)), replicas);
    }

    /// The same, whose pods have a container that leads to the gate.
    pub(crate) fn fill_gated(&self, replicas: usize) {
        pools::run(&self.server, "full", ("full", pools::gated_template("full", FULL)), replicas);
    }

    /// The same, whose sandboxes have a volume of their own.
    pub(crate) fn fill_keeping(&self, replicas: usize) {
        pools::run(&self.server, "full", ("full", pools::keeping_template("full", FULL)), replicas);
    }

    pub(crate) async fn machine(&self) -> Box<dyn Machine> {
        self.provider.machine(&spec(), None).await.unwrap()
    }

    /// The sandbox of this id, awake.
    pub(crate) async fn machine_of(
        &self,
        id: &SandboxId,
        state: Option<Arc<dyn Snapshot>>,
    ) -> Box<dyn Machine> {
        self.provider.machine_of(id, &spec(), state).await.unwrap()
    }

    /// Another process on the same state folder.
    pub(crate) fn neighbour(&self) -> KubernetesProvider {
        KubernetesProvider::new(self.settings.clone()).unwrap()
    }

    /// Closes the provider, and checks that nothing of it is left.
    pub(crate) async fn end(self) {
        self.provider.close().await;
        let left = async || match self.provider.left().await {
            Ok(left) if left.is_empty() => Ok(()),
            left => Err(left),
        };
        wait_for_async("nothing is left in the cluster", PATIENCE, left).await;
        self.server.node.close().await;
    }
}

impl Ground for Bench {
    fn provider(&self) -> &dyn Provider {
        &self.provider
    }

    async fn running(&self) -> Vec<String> {
        self.server.names("pods")
    }

    async fn processes(&self, pod: &str) -> String {
        let container = self.server.node.container(pod);
        let asked = ["top", &container, "-eo", "pid,args"];
        let asked = tokio::process::Command::new("docker").args(asked).output().await;
        String::from_utf8(asked.unwrap().stdout).unwrap()
    }

    async fn kill(&self, pod: &str) {
        let container = self.server.node.container(pod);
        let killed =
            tokio::process::Command::new("docker").args(["kill", &container]).output().await.unwrap();
        assert!(killed.status.success(), "{killed:?}");
        // As a kubelet tells it.
        self.server.status("pods", pod, serde_json::json!({"phase": "Failed", "reason": "Killed"}));
    }
}

/// Lets a disk take its time: it is the machine's, which does other work as well.
pub(crate) fn patient(settings: &mut Settings) {
    (settings.stall_within_ms, settings.answer_within_ms) = (60_000, 60_000);
}

/// A sandbox that any template of these tests can have.
pub(crate) fn spec() -> SandboxSpec {
    SandboxSpec { memory: 512 << 20, disk: 64 << 20, ..SandboxSpec::default() }
}

/// Runs a line.
pub(crate) async fn line(machine: &mut dyn Machine, text: &str) -> Executed {
    within(machine, text, Duration::from_secs(30)).await
}

/// The same with a time limit.
pub(crate) async fn within(machine: &mut dyn Machine, text: &str, wall: Duration) -> Executed {
    let mut request = LineRequest::new(text);
    request.context.limits = Limits { wall, output: 1 << 20, ..Limits::default() };
    machine.exec(request, Arc::new(NoPrograms)).await.unwrap()
}

/// What a line that succeeds prints.
pub(crate) async fn said(machine: &mut dyn Machine, text: &str) -> String {
    let executed = line(machine, text).await;
    assert!(matches!(executed.outcome.status, Status::Exited(0)), "{text}: {:?}", executed.outcome);
    executed.outcome.stdout.text
}

/// Takes the state of a machine and saves it, as the runtime does before it puts a sandbox away.
pub(crate) async fn save(machine: &mut dyn Machine) -> (Arc<dyn Snapshot>, SavedState, MemoryChunks) {
    // What was written this moment could be written once more without a trace of it.
    tokio::time::sleep(Duration::from_millis(100)).await;
    let mut chunks = MemoryChunks::default();
    let state = machine.snapshot(Include::Both).await.unwrap();
    let saved = state.save(&mut chunks).unwrap();
    (state, saved, chunks)
}
