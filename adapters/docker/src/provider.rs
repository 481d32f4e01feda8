//! The port to the manager.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use dormouse_core::sandbox::{ChunkSource, Include, Machine, Reached, SandboxSpec, SavedState, Snapshot};
use dormouse_core::{Abilities, Error, ErrorCode, EvalRequest, GuestInfo, Outcome, Provider, Result};
use tokio_util::task::TaskTracker;

use crate::container::Size;
use crate::engine::Engine;
use crate::image::{Images, allowed, look};
use crate::leftovers::{self, Leftovers, Thing};
use crate::machine::DockerMachine;
use crate::pool::Pool;
use crate::programs::DockerPrograms;
use crate::reap::Identity;
use crate::room::Tools;
use crate::settings::Settings;
use crate::snapshot::{self, MARK};
use crate::watch::Watch;
use crate::{mount, published, pulse};

/// How long the end may take.
const CLOSE_WITHIN: Duration = Duration::from_secs(30);

/// How often what is left is tried to be removed at the end, and how long it is waited between.
const LAST_TRIES: u32 = 3;
const LAST_TRY: Duration = Duration::from_millis(200);

/// What this provider can do.
pub const ABILITIES: Abilities = Abilities {
    wall: "container",
    languages: &["javascript", "php", "python"],
    interpreters: "image",
    variables: "awake",
    include: &["both", "files"],
    images: "container",
    network: "none",
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
    inner: Arc<Inner>,
}

/// What all rooms of this crate share.
pub(crate) struct Inner {
    pub(crate) settings: Settings,
    pub(crate) engine: Engine,
    pub(crate) identity: Identity,
    pub(crate) images: Images,
    pub(crate) pool: Pool,
    pub(crate) watch: Watch,
    pub(crate) leftovers: Arc<Leftovers>,
    /// What goes on in the background and has to come to its end.
    pub(crate) tasks: TaskTracker,
    /// What has no end of its own.
    watching: Mutex<Vec<tokio::task::JoinHandle<()>>>,
    runtime: std::sync::OnceLock<tokio::runtime::Handle>,
    /// By image, what it has.
    tools: Mutex<HashMap<String, Arc<Tools>>>,
    /// Whether what earlier processes left behind was removed.
    reaped: tokio::sync::OnceCell<()>,
    closed: AtomicBool,
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
        let engine = Engine::new(settings.address.clone(), settings.dial.clone(), settings.answer_within);
        let identity = Identity::claim(settings.state.as_deref())?;
        let inner = Inner {
            settings,
            engine,
            identity,
            images: Images::default(),
            pool: Pool::default(),
            watch: Watch::default(),
            leftovers: Arc::default(),
            tasks: TaskTracker::new(),
            watching: Mutex::default(),
            runtime: std::sync::OnceLock::new(),
            tools: Mutex::default(),
            reaped: tokio::sync::OnceCell::new(),
            closed: AtomicBool::new(false),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Starts the containers that wait for sandboxes like `spec`, in the background, and removes what earlier processes of
    /// this installation left behind.
    ///
    /// # Errors
    /// As [`Provider::ready`] and [`Provider::check`]; `capability_unavailable` when the image is missing.
    pub async fn warm(&self, spec: &SandboxSpec) -> Result<()> {
        self.check(spec)?;
        self.inner.prepare().await?;
        let Inner { images, engine, settings, .. } = &*self.inner;
        let image = images.find(engine, settings, spec.image.as_deref()).await?;
        self.inner.pool.expect(&self.inner, &image, Size::of(spec));
        Pool::refill(&self.inner);
        Ok(())
    }

    /// Whether the engine has an image. Fetches nothing.
    ///
    /// # Errors
    /// `provider_unavailable`; `capability_unavailable` for one that is there and cannot be used.
    pub async fn has_image(&self, image: &str) -> Result<bool> {
        Ok(look(&self.inner.engine, image).await?.is_some())
    }

    /// What the engine has of this installation: the names of containers and volumes. After [`Provider::close`] there is
    /// nothing of this process.
    ///
    /// # Errors
    /// `provider_unavailable`.
    pub async fn left(&self) -> Result<Vec<String>> {
        self.inner.identity.left(&self.inner.engine).await
    }

    /// How many containers wait.
    pub fn waiting(&self) -> usize {
        self.inner.pool.waiting()
    }

    /// Single commands of other providers' sandboxes, each in a container of its own that is like `spec`.
    pub fn programs(&self, spec: SandboxSpec) -> DockerPrograms {
        DockerPrograms::new(self.inner.clone(), spec)
    }

    /// Starts a container that serves on a port of this host.
    ///
    /// # Errors
    /// See [`published::Published`].
    pub async fn publish(&self, spec: published::PublishedSpec) -> Result<published::Published> {
        self.inner.prepare().await?;
        published::start(&self.inner, spec).await
    }
}

impl Inner {
    /// Whether it answers, with what earlier processes left behind removed once.
    ///
    /// # Errors
    /// `provider_unavailable`.
    pub(crate) async fn prepare(self: &Arc<Self>) -> Result<()> {
        if self.is_closed() {
            return Err(Error::new(ErrorCode::ProviderUnavailable, "the docker provider is closed"));
        }
        let _first = self.runtime.set(tokio::runtime::Handle::current());
        self.engine.ready().await?;
        let reaped = self.reaped.get_or_try_init(|| async {
            self.reap().await?;
            self.watching().push(tokio::spawn(leftovers::keep(Arc::downgrade(self))));
            Ok(())
        });
        reaped.await.map(|_| ())
    }

    /// Removes what processes of this installation left behind that are no more; what cannot be removed now is later.
    ///
    /// # Errors
    /// `provider_unavailable`.
    pub(crate) async fn reap(&self) -> Result<()> {
        for thing in self.identity.reap(&self.engine).await? {
            self.leftovers.add(thing, false);
        }
        self.leftovers.work(&self.engine, false).await;
        Ok(())
    }

    fn watching(&self) -> std::sync::MutexGuard<'_, Vec<tokio::task::JoinHandle<()>>> {
        self.watching.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Does something in the background, also where no runtime is at hand, as in a drop.
    pub(crate) fn spawn<T: Send + 'static>(
        self: Arc<Self>,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<tokio::task::JoinHandle<T>> {
        self.runtime.get().map(|runtime| self.tasks.spawn_on(work, runtime))
    }

    /// Does something to its end also when the caller gives up; what comes of it is then dropped before the end, so that
    /// whoever waits for the end waits for the removal as well.
    ///
    /// # Errors
    /// Those of `work`.
    pub(crate) async fn finish<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        self.tasks.spawn(async move {
            let _unheard = sender.send(work.await);
        });
        let done = receiver.await;
        pulse::beat();
        done.map_err(|error| Error::internal("a container was not started to the end", error))?
    }

    /// Removes a container in the background, as often as it takes.
    pub(crate) fn remove(self: &Arc<Self>, id: String) {
        self.remove_soon(Thing::Container(id), false);
    }

    /// The same for one that may not be there yet: its creation was not waited for.
    pub(crate) fn remove_late(self: &Arc<Self>, name: String) {
        self.remove_soon(Thing::Container(name), true);
    }

    fn remove_soon(self: &Arc<Self>, thing: Thing, late: bool) {
        let inner = self.clone();
        let _removing = self.clone().spawn(async move {
            if late {
                return inner.leftovers.add(thing, true);
            }
            if let Err(error) = leftovers::remove(&inner.engine, &thing).await {
                tracing::debug!(?thing, %error, "it was not removed");
                inner.leftovers.add(thing, false);
            }
        });
    }

    /// Begins to watch the engine's events, once.
    pub(crate) fn start_watch(self: &Arc<Self>) {
        if !self.watch.must_start() {
            return;
        }
        let inner = Arc::downgrade(self);
        let watching = tokio::spawn(async move {
            // Ends with the provider: `close` aborts it, and so does the end of the runtime.
            if let Some(inner) = inner.upgrade() {
                inner.watch.run(&inner.engine, &inner.identity).await;
            }
        });
        self.watching().push(watching);
    }

    pub(crate) fn tools(&self, image: &str) -> Option<Arc<Tools>> {
        self.tools.lock().unwrap_or_else(PoisonError::into_inner).get(image).cloned()
    }

    pub(crate) fn note_tools(&self, image: &str, tools: &Arc<Tools>) {
        self.tools.lock().unwrap_or_else(PoisonError::into_inner).insert(image.to_owned(), tools.clone());
    }

    /// Refuses what is outside the operator's settings.
    pub(crate) fn check(&self, spec: &SandboxSpec) -> Result<()> {
        allowed(&self.settings, spec.image.as_deref())?;
        let most = |name: &str, asked: u64, least: u64, most: u64| {
            if (least..=most).contains(&asked) {
                return Ok(());
            }
            Err(Error::args_invalid(format!("`{name}` of {asked} is outside {least} to {most}"))
                .with_hint("the ceiling is the operator's"))
        };
        most("cpu_millis", spec.cpu_millis.into(), 10, self.settings.cpu_millis.into())?;
        most("processes", spec.processes.into(), 8, self.settings.processes.into())?;
        spec.mounts.iter().try_for_each(|asked| mount::source(asked, &self.settings.roots).map(|_| ()))
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
        self.inner.engine.ready().await
    }

    async fn can_make(&self, spec: &SandboxSpec) -> Result<()> {
        let Inner { engine, settings, images, .. } = &*self.inner;
        engine.ready().await?;
        match settings.pull {
            // The first call fetches it, which can take minutes.
            true => Ok(()),
            false => images.find(engine, settings, spec.image.as_deref()).await.map(drop),
        }
    }

    fn check(&self, spec: &SandboxSpec) -> Result<()> {
        self.inner.check(spec)
    }

    fn disk(&self, spec: &SandboxSpec) -> u64 {
        Size::of(spec).volumes(&self.inner.settings).workspace
    }

    fn images(&self) -> Vec<String> {
        self.inner.settings.images.clone()
    }

    fn mark(&self) -> &'static [u8] {
        MARK
    }

    /// Removes what waits, and awaits the removal of what was dropped, at most 30 s.
    async fn close(&self) {
        let inner = &self.inner;
        inner.closed.store(true, Ordering::Release);
        inner.pool.drain();
        inner.tasks.close();
        let ended = tokio::time::timeout(CLOSE_WITHIN, async {
            inner.tasks.wait().await;
            for _ in 1..LAST_TRIES {
                if inner.leftovers.work(&inner.engine, true).await == 0 {
                    return 0;
                }
                tokio::time::sleep(LAST_TRY).await;
            }
            inner.leftovers.work(&inner.engine, true).await
        });
        if ended.await != Ok(0) {
            tracing::warn!("containers may be left that the next start will remove");
        }
        for watching in inner.watching().drain(..) {
            watching.abort();
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
        self.inner.check(spec)?;
        self.inner.prepare().await?;
        let waking = async {
            let mut machine = DockerMachine::start(&self.inner, spec).await?;
            if let Some(state) = state {
                machine.restore(state.as_ref()).await?;
            }
            Ok(Box::new(machine) as Box<dyn Machine>)
        };
        pulse::watched(&self.inner.settings, "start a sandbox's container", waking).await
    }

    fn load(&self, state: &SavedState, chunks: Arc<dyn ChunkSource>) -> Result<Arc<dyn Snapshot>> {
        Ok(Arc::new(snapshot::load(state, chunks)?))
    }

    fn reach(&self, state: &SavedState, chunks: &dyn ChunkSource, reached: &mut Reached) -> Result<()> {
        snapshot::reach(state, chunks, reached)
    }
}

/// What a state of this provider can hold.
pub(crate) fn check_include(include: Include) -> Result<()> {
    if include == Include::Memory {
        return Err(Error::new(
            ErrorCode::CapabilityUnavailable,
            "the docker provider cannot save interpreters, only files",
        )
        .with_hint("save `files` or `both`; variables last as long as the container"));
    }
    Ok(())
}
