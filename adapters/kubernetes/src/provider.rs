//! The port to the runtime.

use std::sync::Arc;

use async_trait::async_trait;
use dormouse_containers::{ContainerMachine, Engine, MARK, load, pulse, reach, saved_under, upkeep};
use dormouse_core::sandbox::{
    ChunkSource, Machine, Reached, SandboxId, SandboxSpec, SavedState, Snapshot, WarmPool,
};
use dormouse_core::{Abilities, Error, ErrorCode, EvalRequest, GuestInfo, Outcome, Provider, Result};

use crate::doctor::{self, Step};
use crate::gate;
use crate::keep;
use crate::left;
use crate::port::Kubernetes;
use crate::settings::{Mode, Settings};
use crate::shared::Shared;
use crate::size::Size;

/// What this provider can do in a mode, where the operator gives no image or pool a network of the cluster. Names and processes are bounded by the cluster's own settings, not by a sandbox's.
pub const fn abilities(mode: Mode) -> Abilities {
    Abilities {
        wall: "container",
        languages: &["javascript", "php", "python"],
        interpreters: "image",
        variables: "awake",
        include: &["both", "files"],
        images: "container",
        network: "rules",
        memory: "sandbox",
        limits: &["timeout_ms", "memory_bytes", "output_bytes", "disk_bytes", "cpu_millis"],
        snippets: false,
        wasi_programs: false,
        system_programs: true,
        fixed: false,
        warm_pool: matches!(mode, Mode::AgentSandbox),
    }
}

/// Runs sandboxes as pods of a cluster. Clones are the same provider.
#[derive(Clone)]
pub struct KubernetesProvider {
    shared: Arc<Shared>,
}

impl KubernetesProvider {
    /// A provider that reaches for its cluster when it is first needed.
    ///
    /// # Errors
    /// `state_unavailable` when the state folder cannot be used; `args_invalid` for settings that cannot be.
    pub fn new(settings: Settings) -> Result<Self> {
        Shared::new(settings).map(|shared| Self { shared })
    }

    /// What the cluster has of this installation that is in use: the names of pods, or of claims. After [`Provider::close`] there is
    /// nothing of this process.
    ///
    /// # Errors
    /// `provider_unavailable`.
    pub async fn left(&self) -> Result<Vec<String>> {
        let objects = left::all(&self.shared.cluster, self.shared.kind(), &self.shared.identity).await?;
        let objects = objects.into_iter().filter(|object| !keep::rests(object));
        Ok(objects.filter_map(|object| object.metadata.name).collect())
    }

    async fn wake(
        &self,
        id: Option<&SandboxId>,
        spec: &SandboxSpec,
        state: Option<Arc<dyn Snapshot>>,
    ) -> Result<Box<dyn Machine>> {
        self.check(spec)?;
        self.shared.prepare().await?;
        let waking = async {
            let sandbox = id.map(|id| (id.clone(), state.as_deref().and_then(saved_under)));
            let engine: Arc<dyn Engine> = Arc::new(Kubernetes { shared: self.shared.clone(), sandbox });
            let mut machine = ContainerMachine::start(&engine, spec).await?;
            match state {
                Some(state) => machine.restore(state.as_ref()).await?,
                None => machine.begin_empty().await?,
            }
            Ok(Box::new(machine) as Box<dyn Machine>)
        };
        pulse::watched(&self.shared.patience, "start a sandbox's pod", waking).await
    }

    /// Looks step by step at all that is needed. Makes nothing.
    pub async fn look(&self) -> Vec<Step> {
        doctor::steps(&self.shared).await
    }
}

#[async_trait]
impl Provider for KubernetesProvider {
    fn name(&self) -> &'static str {
        "kubernetes"
    }

    fn guests(&self) -> Vec<GuestInfo> {
        Vec::new()
    }

    fn abilities(&self) -> Abilities {
        let settings = &self.shared.settings;
        let usual = abilities(settings.mode);
        let network = if settings.network.is_some() { "outbound" } else { usual.network };
        Abilities { network, ..usual }
    }

    async fn ready(&self) -> Result<()> {
        self.shared.cluster.ready().await
    }

    fn check(&self, spec: &SandboxSpec) -> Result<()> {
        let settings = &self.shared.settings;
        let meant = settings.meant(spec.image.as_deref())?;
        if spec.network.is_some() {
            gate::can_be(settings, meant)?;
        }
        let (asked, most) = (spec.cpu_millis, settings.cpu_millis);
        if !(10..=most).contains(&asked) {
            return Err(Error::args_invalid(format!("`cpu_millis` of {asked} is outside 10 to {most}"))
                .with_hint("the ceiling is the operator's"));
        }
        if settings.mode == Mode::Pods && spec.warm_pool == WarmPool::Require {
            return Err(Error::args_invalid("`warm_pool: require` cannot be had: each pod is made anew")
                .with_hint("leave it out, or have the operator use a pool of agent-sandbox"));
        }
        if !spec.mounts.is_empty() {
            return Err(Error::new(ErrorCode::PathDenied, "a pod cannot have folders of this host")
                .with_hint("upload the files, or make a sandbox of another provider"));
        }
        Ok(())
    }

    fn disk(&self, spec: &SandboxSpec) -> u64 {
        match self.shared.settings.mode {
            Mode::Pods => Size::of(spec, &self.shared.settings).workspace,
            Mode::AgentSandbox => spec.disk,
        }
    }

    fn images(&self) -> Vec<String> {
        self.shared.settings.offered().to_vec()
    }

    fn mark(&self) -> &'static [u8] {
        MARK
    }

    /// Awaits the removal of what was dropped, at most 30 s.
    async fn close(&self) {
        let shared = &self.shared;
        shared.background.close();
        if !upkeep::end(shared.as_ref()).await {
            tracing::warn!("sandboxes may be left in the cluster that the next start will remove");
        }
    }

    async fn eval(&self, _: EvalRequest) -> Result<Outcome> {
        Err(Error::new(
            ErrorCode::CapabilityUnavailable,
            "the kubernetes provider runs no snippets without a sandbox",
        )
        .with_hint("make a sandbox with provider kubernetes, or run the snippet without one, on wasm"))
    }

    async fn machine(
        &self,
        spec: &SandboxSpec,
        state: Option<Arc<dyn Snapshot>>,
    ) -> Result<Box<dyn Machine>> {
        self.wake(None, spec, state).await
    }

    async fn machine_of(
        &self,
        id: &SandboxId,
        spec: &SandboxSpec,
        state: Option<Arc<dyn Snapshot>>,
    ) -> Result<Box<dyn Machine>> {
        self.wake(Some(id), spec, state).await
    }

    async fn kept(&self) -> Result<Vec<SandboxId>> {
        let shared = &self.shared;
        if !shared.identity.lasts() {
            return Ok(Vec::new());
        }
        shared.cluster.ready().await?;
        left::kept(&shared.cluster, shared.keeps(), &shared.identity).await
    }

    async fn tidy(&self) -> Result<()> {
        self.shared.tidy().await
    }

    fn forget(&self, id: &SandboxId) {
        if self.shared.identity.lasts() {
            self.shared.forget(id);
        }
    }

    fn load(&self, state: &SavedState, chunks: Arc<dyn ChunkSource>) -> Result<Arc<dyn Snapshot>> {
        Ok(Arc::new(load(state, chunks)?))
    }

    fn reach(&self, state: &SavedState, chunks: &dyn ChunkSource, reached: &mut Reached) -> Result<()> {
        reach(state, chunks, reached)
    }
}
