//! Sandboxes on a cluster beside the same calls of its API without us. The API server is that of the tests, whose pods are processes
//! of this machine: what a cluster and its network add is the same on both sides, and not measured.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use dormouse::sandbox::{Handle, Machine, Owner, ProviderName, SandboxSpec};
use dormouse::sandboxes::{Asked, CommandLine, Rules};
use dormouse::wasm::Allocation;
use dormouse::{Dormouse, Provider as _, Sandboxes};
use dormouse_kubernetes::{KubernetesProvider, Mode, Settings};
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{
    Api, ApiResource, AttachParams, DeleteParams, DynamicObject, GroupVersionKind, PostParams, WatchEvent,
    WatchParams,
};
use serde_json::json;

use crate::bench::{Bench, milliseconds};
use crate::node::Node;
use crate::pools;
use crate::server::Server;
use crate::table::{Goal, Row};
use crate::turns::{Turn, take_turns};

const POOL: &str = "full";
/// Claims at one time.
const AT_ONCE: usize = 100;
/// Sandboxes that wait: more than all rows take.
const WAITING: usize = 2_000;

struct Desk {
    server: Server,
    provider: KubernetesProvider,
    sandboxes: Sandboxes,
    client: kube::Client,
    _dormouse: Dormouse,
    _folder: tempfile::TempDir,
}

pub(crate) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let wanted = ["cluster-exec", "cluster-claim", "cluster-calls", "cluster-at-once"];
    let wanted: Vec<&str> = wanted.into_iter().filter(|id| bench.wants(id)).collect();
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let desk = bench.runtime.block_on(Desk::new())?;
    let mut rows = Vec::new();
    for id in wanted {
        bench.begins(id);
        rows.push(match id {
            "cluster-exec" => live(bench, &desk)?,
            "cluster-claim" => claimed(bench, &desk)?,
            "cluster-calls" => calls(bench, &desk)?,
            _ => at_once(bench, &desk)?,
        });
    }
    bench.runtime.block_on(desk.sandboxes.close())?;
    Ok(rows)
}

impl Desk {
    async fn new() -> Result<Self> {
        let server = Server::start(Node::processes()).await;
        Node::run(&server);
        if let Ok(mut store) = server.store.lock() {
            for group in ["agents.x-k8s.io", "extensions.agents.x-k8s.io"] {
                store.groups.insert(group.into(), "v1beta1".into());
            }
        }
        pools::run(&server, POOL, (POOL, pools::template(POOL, "tools:1")), WAITING);
        let folder = tempfile::tempdir()?;
        let (state, kubeconfig) = (folder.path().join("state"), folder.path().join("kubeconfig"));
        std::fs::write(&kubeconfig, server.kubeconfig())?;
        let settings = Settings {
            mode: Mode::AgentSandbox,
            kubeconfig: Some(kubeconfig),
            state: Some(state.clone()),
            pools: vec![POOL.into()],
            ..Settings::default()
        };
        let rules = Rules { fallback: false, ..Rules::default() };
        let dormouse =
            Dormouse::builder()?.allocation(Allocation::OnDemand).state(&state).rules(rules).build()?;
        let provider = KubernetesProvider::new(settings)?;
        let sandboxes = dormouse.sandboxes()?.clone();
        sandboxes.add_provider(Arc::new(provider.clone()));
        let mut config = kube::Config::new(format!("http://{}", server.address).parse()?);
        config.default_namespace = "boxes".into();
        let client = kube::Client::try_from(config)?;
        Ok(Self { server, provider, sandboxes, client, _dormouse: dormouse, _folder: folder })
    }

    /// A sandbox, and a first command in it: milliseconds, and its id.
    async fn first(&self) -> Result<(f64, String)> {
        let begin = Instant::now();
        let asked = Asked { spec: Some(spec()), ..Asked::default() };
        let (view, _) = self.sandboxes.create(&Owner::local(), asked).await?;
        let id = view.sandbox.id.as_str().to_owned();
        self.line(&id).await?;
        Ok((milliseconds(begin.elapsed()), id))
    }

    async fn line(&self, id: &str) -> Result<f64> {
        let begin = Instant::now();
        let run =
            self.sandboxes.exec(&Owner::local(), &Handle::IdOrName(id), CommandLine::new("true")).await?;
        let outcome = run.1.outcome;
        ensure!(outcome.is_ok() && outcome.provider == "kubernetes", "{outcome:?}");
        Ok(milliseconds(begin.elapsed()))
    }

    async fn end(&self, id: &str) -> Result<()> {
        self.sandboxes.destroy(&Owner::local(), &Handle::IdOrName(id)).await?;
        Ok(())
    }

    fn of(&self, group: &str, kind: &str, plural: &str) -> Api<DynamicObject> {
        let resource =
            ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, "v1beta1", kind), plural);
        Api::namespaced_with(self.client.clone(), "boxes", &resource)
    }

    /// The same claim by the API alone, and `true` in its pod: milliseconds, the claim's name and its pod's.
    async fn plain(&self) -> Result<(f64, String, String)> {
        let claims = self.of("extensions.agents.x-k8s.io", "SandboxClaim", "sandboxclaims");
        let begin = Instant::now();
        let name = format!("plain-{}", self.server.asked().len());
        let claim = json!({"apiVersion": "extensions.agents.x-k8s.io/v1beta1", "kind": "SandboxClaim",
            "metadata": {"name": name}, "spec": {"warmPoolRef": {"name": POOL}}});
        let made = claims.create(&PostParams::default(), &serde_json::from_value(claim)?).await?;
        let version = made.metadata.resource_version.context("an object without a version")?;
        let mut changes = claims.watch(&WatchParams::default(), &version).await?.boxed();
        let sandbox = loop {
            let change = changes.next().await.context("the watch ended")??;
            if let WatchEvent::Modified(object) = change
                && object.metadata.name.as_deref() == Some(&name)
                && let Some(sandbox) =
                    object.data.pointer("/status/sandbox/name").and_then(|name| name.as_str())
            {
                break sandbox.to_owned();
            }
        };
        let found = self.of("agents.x-k8s.io", "Sandbox", "sandboxes").get(&sandbox).await?;
        let pod = found.metadata.annotations.and_then(|mut all| all.remove("agents.x-k8s.io/pod-name"));
        let pod = pod.context("a sandbox without a pod")?;
        self.exec(&pod).await?;
        Ok((milliseconds(begin.elapsed()), name, pod))
    }

    /// `true` in a pod by the API alone: milliseconds.
    async fn exec(&self, pod: &str) -> Result<f64> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), "boxes");
        let begin = Instant::now();
        let mut process = pods.exec(pod, ["true"], &AttachParams::default().stderr(true)).await?;
        let status = process.take_status().context("no status")?.await.context("the stream broke off")?;
        ensure!(status.status.as_deref() == Some("Success"), "{status:?}");
        Ok(milliseconds(begin.elapsed()))
    }

    async fn release(&self, claim: &str) -> Result<()> {
        let claims = self.of("extensions.agents.x-k8s.io", "SandboxClaim", "sandboxclaims");
        claims.delete(claim, &DeleteParams::default()).await?;
        Ok(())
    }
}

fn spec() -> SandboxSpec {
    SandboxSpec { provider: ProviderName::Kubernetes, memory: 512 << 20, ..SandboxSpec::default() }
}

fn live(bench: &Bench, desk: &Desk) -> Result<Row> {
    let (_, id) = bench.runtime.block_on(desk.first())?;
    let (_, claim, pod) = bench.runtime.block_on(desk.plain())?;
    let ours: Turn<'_> = Box::new(|| Ok(vec![bench.runtime.block_on(desk.line(&id))?]));
    let theirs: Turn<'_> = Box::new(|| Ok(vec![bench.runtime.block_on(desk.exec(&pod))?]));
    let [ours, theirs] = take_turns(bench.rounds, [ours, theirs]);
    bench.runtime.block_on(async {
        desk.release(&claim).await?;
        desk.end(&id).await
    })?;
    Ok(Row::new("cluster-exec", "`true` in a pod that is awake", "ms", ours)
        .peer("pods/exec by a client that is kept", theirs)
        .goal(Goal::Share(1.2)))
}

/// What ours takes longer than the same calls alone, measured one after the other.
fn claimed(bench: &Bench, desk: &Desk) -> Result<Row> {
    let over: Turn<'_> = Box::new(|| {
        bench.runtime.block_on(async {
            let (theirs, claim, _) = desk.plain().await?;
            desk.release(&claim).await?;
            let (ours, id) = desk.first().await?;
            desk.end(&id).await?;
            Ok(vec![ours - theirs])
        })
    });
    let [over] = take_turns(bench.few(4), [over]);
    Ok(Row::new("cluster-claim", "a claim and its first command, over the same calls alone", "ms", over)
        .goal(Goal::AtMost(10.0)))
}

#[expect(clippy::cast_precision_loss, reason = "a few calls")]
fn calls(bench: &Bench, desk: &Desk) -> Result<Row> {
    let count: Turn<'_> = Box::new(|| {
        bench.runtime.block_on(async {
            let before = desk.server.asked().len();
            let (_, id) = desk.first().await?;
            let asked = desk.server.asked().split_off(before);
            desk.end(&id).await?;
            let first = asked.iter().position(|(_, _, resource)| resource == "pods/exec");
            Ok(vec![first.context("no command was started")? as f64])
        })
    });
    let [count] = take_turns(bench.few(8), [count]);
    Ok(Row::new("cluster-calls", "calls of the API before a claim's first command", "", count)
        .goal(Goal::AtMost(4.0)))
}

fn at_once(bench: &Bench, desk: &Desk) -> Result<Row> {
    let ours: Turn<'_> = Box::new(|| {
        bench.runtime.block_on(async {
            let begin = Instant::now();
            let making = (0..AT_ONCE).map(|_| {
                let provider = desk.provider.clone();
                tokio::spawn(async move { provider.machine(&spec(), None).await })
            });
            let mut machines: Vec<Box<dyn Machine>> = Vec::with_capacity(AT_ONCE);
            for made in futures::future::join_all(making).await {
                machines.push(made??);
            }
            let took = milliseconds(begin.elapsed());
            drop(machines);
            Ok(vec![took])
        })
    });
    let [ours] = take_turns(bench.few(8), [ours]);
    Ok(Row::new("cluster-at-once", format!("{AT_ONCE} claims at once"), "ms", ours))
}
