//! The port to the runtime.

use std::sync::Arc;

use async_trait::async_trait;
use dormouse_containers::{ContainerMachine, Engine, MARK, load, pulse, reach, upkeep};
use dormouse_core::sandbox::{ChunkSource, Machine, Reached, SandboxSpec, SavedState, Snapshot};
use dormouse_core::{Abilities, Error, ErrorCode, EvalRequest, GuestInfo, Outcome, Provider, Result};

use crate::config::Size;
use crate::image::{allowed, look};
use crate::pool::Pool;
use crate::port::Docker;
use crate::programs::DockerPrograms;
use crate::settings::Settings;
use crate::shared::Shared;
use crate::{gate, mount, published, reap};

/// What this provider can do.
pub const ABILITIES: Abilities = Abilities {
    wall: "container",
    languages: &["javascript", "php", "python"],
    interpreters: "image",
    variables: "awake",
    include: &["both", "files"],
    images: "container",
    network: "rules",
    memory: "sandbox",
    limits: &["timeout_ms", "memory_bytes", "output_bytes", "disk_bytes", "files", "cpu_millis", "processes"],
    snippets: false,
    wasi_programs: false,
    system_programs: true,
    fixed: false,
    warm_pool: true,
};

/// Runs sandboxes as containers of a Docker engine. Clones are the same provider.
#[derive(Clone)]
pub struct DockerProvider {
    shared: Arc<Shared>,
    pool: Arc<Pool>,
}

impl DockerProvider {
    /// A provider that reaches for its engine when it is first needed.
    ///
    /// # Errors
    /// `state_unavailable` when the state folder cannot be used; `args_invalid` for an image that is no reference.
    pub fn new(settings: Settings) -> Result<Self> {
        for image in &settings.images {
            allowed(&settings, Some(image))?;
        }
        let shared = Shared::new(settings)?;
        let pool = Pool::new(&shared);
        Ok(Self { shared, pool })
    }

    /// Starts the containers that wait for sandboxes like `spec`, in the background, and removes what earlier processes of
    /// this installation left behind.
    ///
    /// # Errors
    /// As [`Provider::ready`] and [`Provider::check`]; `capability_unavailable` when the image is missing.
    pub async fn warm(&self, spec: &SandboxSpec) -> Result<()> {
        self.check(spec)?;
        self.shared.prepare().await?;
        let Shared { images, engine, settings, .. } = &*self.shared;
        let image = images.find(engine, settings, spec.image.as_deref()).await?;
        self.pool.expect(&image, Size::of(spec));
        self.pool.refill();
        Ok(())
    }

    /// Whether the engine has an image. Fetches nothing.
    ///
    /// # Errors
    /// `provider_unavailable`; `capability_unavailable` for one that is there and cannot be used.
    pub async fn has_image(&self, image: &str) -> Result<bool> {
        Ok(look(&self.shared.engine, image).await?.is_some())
    }

    /// What the engine has of this installation: the names of containers and volumes. After [`Provider::close`] there is
    /// nothing of this process.
    ///
    /// # Errors
    /// `provider_unavailable`.
    pub async fn left(&self) -> Result<Vec<String>> {
        reap::left(&self.shared.identity, &self.shared.engine).await
    }

    /// How many containers wait.
    pub fn waiting(&self) -> usize {
        self.pool.waiting()
    }

    /// Single commands of other providers' sandboxes, each in a container of its own that is like `spec`.
    pub fn programs(&self, spec: SandboxSpec) -> DockerPrograms {
        DockerPrograms::new(self.shared.clone(), self.pool.clone(), spec)
    }

    /// Starts a container that serves on a port of this host.
    ///
    /// # Errors
    /// See [`published::Published`].
    pub async fn publish(&self, spec: published::PublishedSpec) -> Result<published::Published> {
        self.shared.prepare().await?;
        published::start(&self.shared, spec).await
    }
}

#[async_trait]
impl Provider for DockerProvider {
    fn name(&self) -> &'static str {
        "docker"
    }

    fn guests(&self) -> Vec<GuestInfo> {
        Vec::new()
    }

    fn abilities(&self) -> Abilities {
        ABILITIES
    }

    async fn ready(&self) -> Result<()> {
        self.shared.engine.ready().await
    }

    async fn can_make(&self, spec: &SandboxSpec) -> Result<()> {
        let Shared { engine, settings, images, .. } = &*self.shared;
        engine.ready().await?;
        match settings.pull {
            // The first call fetches it, which can take minutes.
            true => Ok(()),
            false => images.find(engine, settings, spec.image.as_deref()).await.map(drop),
        }
    }

    fn check(&self, spec: &SandboxSpec) -> Result<()> {
        let settings = &self.shared.settings;
        allowed(settings, spec.image.as_deref())?;
        let most = |name: &str, asked: u64, least: u64, most: u64| {
            if (least..=most).contains(&asked) {
                return Ok(());
            }
            Err(Error::args_invalid(format!("`{name}` of {asked} is outside {least} to {most}"))
                .with_hint("the ceiling is the operator's"))
        };
        most("cpu_millis", spec.cpu_millis.into(), 10, settings.cpu_millis.into())?;
        most("processes", spec.processes.into(), 8, settings.processes.into())?;
        if spec.network.is_some() {
            gate::can_be(&self.shared)?;
        }
        spec.mounts.iter().try_for_each(|asked| mount::source(asked, &settings.roots).map(|_| ()))
    }

    fn disk(&self, spec: &SandboxSpec) -> u64 {
        Size::of(spec).volumes(&self.shared.settings).workspace
    }

    fn images(&self) -> Vec<String> {
        self.shared.settings.images.clone()
    }

    fn mark(&self) -> &'static [u8] {
        MARK
    }

    async fn tidy(&self) -> Result<()> {
        self.shared.tidy().await
    }

    /// Removes what waits, and awaits the removal of what was dropped, at most 30 s.
    async fn close(&self) {
        let shared = &self.shared;
        shared.background.close();
        self.pool.drain();
        if !upkeep::end(shared.as_ref()).await {
            tracing::warn!("containers may be left that the next start will remove");
        }
    }

    async fn eval(&self, _: EvalRequest) -> Result<Outcome> {
        Err(Error::new(
            ErrorCode::CapabilityUnavailable,
            "the docker provider runs no snippets without a sandbox",
        )
        .with_hint("make a sandbox with provider docker, or run the snippet without one, on wasm"))
    }

    async fn machine(
        &self,
        spec: &SandboxSpec,
        state: Option<Arc<dyn Snapshot>>,
    ) -> Result<Box<dyn Machine>> {
        self.check(spec)?;
        self.shared.prepare().await?;
        let waking = async {
            let engine: Arc<dyn Engine> =
                Arc::new(Docker { shared: self.shared.clone(), pool: self.pool.clone() });
            let mut machine = ContainerMachine::start(&engine, spec).await?;
            if let Some(state) = state {
                machine.restore(state.as_ref()).await?;
            }
            Ok(Box::new(machine) as Box<dyn Machine>)
        };
        pulse::watched(&self.shared.patience, "start a sandbox's container", waking).await
    }

    fn load(&self, state: &SavedState, chunks: Arc<dyn ChunkSource>) -> Result<Arc<dyn Snapshot>> {
        Ok(Arc::new(load(state, chunks)?))
    }

    fn reach(&self, state: &SavedState, chunks: &dyn ChunkSource, reached: &mut Reached) -> Result<()> {
        reach(state, chunks, reached)
    }
}
