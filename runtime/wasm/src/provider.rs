//! The [`Provider`] on Wasmtime: finds the guest of a request, gets an instance, lets it run.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use dormouse_core::sandbox::{ChunkSource, Machine, Notes, Reached, SandboxSpec, SavedState, Snapshot};
use dormouse_core::{
    Abilities, CommandRequest, Error, EvalRequest, GuestInfo, Language, Outcome, Provider, Result,
};
use dormouse_files::Quota;
use wasmtime::component::Component;

use crate::artifact::Artifacts;
use crate::disk::OwnFiles;
use crate::engine::{EngineSlot, Metering};
use crate::guest::{Guest, Guests};
use crate::instance::Instance;
use crate::loaded::{self, Loaded};
use crate::machine::WasmMachine;
use crate::once::Once;
use crate::project::Projects;
use crate::ready::Ready;
use crate::snapshot::WasmSnapshot;
use crate::trim;
use crate::typescript::{Prepared, Spent, Transpiler};
use crate::{Settings, command, written};

/// What this provider can do. Its languages are those of the guests that come with it; manifests can bring others.
pub const ABILITIES: Abilities = Abilities {
    wall: "webassembly",
    languages: &["javascript", "php", "python", "typescript"],
    interpreters: "installation",
    variables: "saved",
    include: &["both", "files", "memory"],
    images: "checkpoint",
    network: "none",
    memory: "interpreter",
    limits: &[
        "timeout_ms",
        "memory_bytes",
        "output_bytes",
        "fuel",
        "disk_bytes",
        "files",
        "cpu_millis",
        "processes",
    ],
    snippets: true,
    wasi_programs: true,
    system_programs: false,
    fixed: true,
    warm_pool: false,
};

/// Runs snippets on WebAssembly guests. Engines are set up and guests loaded on first use, once. Cheap to clone.
#[derive(Clone)]
pub struct WasmProvider {
    parts: Arc<Parts>,
}

/// What clones share.
struct Parts {
    settings: Settings,
    guests: Guests,
    artifacts: Arc<Artifacts>,
    programs: Arc<Artifacts>,
    projects: Projects,
    engines: Mutex<HashMap<Metering, Arc<EngineSlot>>>,
    loaded: Once<(Language, Metering), Ready>,
    transpilers: Once<Metering, Transpiler>,
}

impl WasmProvider {
    /// A provider. Starts nothing and compiles nothing.
    ///
    /// # Errors
    /// None yet: what it needs is looked for on first use.
    pub fn new(settings: Settings) -> Result<Self> {
        written::prepare();
        let parts = Parts {
            guests: Guests::new(&settings.cache, settings.manifests.clone()),
            artifacts: Arc::new(Artifacts::guests(&settings.cache)),
            programs: Arc::new(Artifacts::programs(&settings.cache)),
            projects: Projects::new(&settings.cache),
            engines: Mutex::default(),
            loaded: Once::default(),
            transpilers: Once::default(),
            settings,
        };
        Ok(Self { parts: Arc::new(parts) })
    }

    /// Loads what runs a language, so that its first run does not pay for it. Compiles it if need be.
    ///
    /// # Errors
    /// As [`Provider::eval`].
    pub async fn load(&self, language: &Language) -> Result<()> {
        if *language == Language::typescript() {
            self.transpiler(Metering::Epoch).await?;
        }
        self.ready(&language.runs_as(), Metering::Epoch).await.map(drop)
    }

    /// Compiles the guest of a language into the cache, with and without fuel, unless that is done already.
    /// Returns the artifacts. Takes seconds.
    ///
    /// # Errors
    /// As [`Provider::eval`]; `internal` when the cache cannot be written.
    pub fn precompile(&self, language: &Language) -> Result<Vec<PathBuf>> {
        let guest = self.parts.guests.find(language)?;
        let (wasm, hash) = guest.read()?;
        let mut made = Vec::new();
        for metering in [Metering::Epoch, Metering::Fuel] {
            let slot = self.engine(metering)?;
            let path = self.parts.artifacts.path(&slot.engine, &hash);
            if self.parts.artifacts.load(&slot.engine, &hash)?.is_none() {
                self.parts.artifacts.store(&slot.engine, &hash, &wasm)?;
            }
            made.push(path);
        }
        Ok(made)
    }

    /// The component of a language's guest.
    ///
    /// # Errors
    /// `unknown_language`, `guest_missing` or `guest_mismatch`, each with what to do.
    pub fn component(&self, language: &Language) -> Result<PathBuf> {
        Ok(self.parts.guests.find(language)?.wasm)
    }

    /// Whether the guest of a language has been compiled for this machine and this engine. Reads no machine code.
    ///
    /// # Errors
    /// As [`WasmProvider::component`], and as [`WasmProvider::check_engine`]; `internal` when others can write the artifact.
    pub fn is_compiled(&self, language: &Language) -> Result<bool> {
        let guest = self.parts.guests.find(language)?;
        let hash = match guest.sha256.clone() {
            Some(hash) => hash,
            None => guest.read()?.1,
        };
        let slot = self.engine(Metering::Epoch)?;
        self.parts.artifacts.has(&slot.engine, &hash)
    }

    /// Sets the engine up, unless it is already.
    ///
    /// # Errors
    /// `internal` when this machine refuses, for example its address space.
    pub fn check_engine(&self) -> Result<()> {
        self.engine(Metering::Epoch).map(drop)
    }

    fn engine(&self, metering: Metering) -> Result<Arc<EngineSlot>> {
        let mut engines = self.parts.engines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = engines.get(&metering) {
            return Ok(slot.clone());
        }
        let slot = Arc::new(EngineSlot::new(metering, self.parts.settings.allocation)?);
        engines.insert(metering, slot.clone());
        Ok(slot)
    }

    /// Whether there is a guest for a language, without loading it.
    ///
    /// # Errors
    /// `unknown_language`, `guest_missing`, `guest_mismatch`.
    pub(crate) fn speaks(&self, language: &Language) -> Result<()> {
        self.parts.guests.find(language).map(drop)
    }

    /// The loaded guest of a language; the first caller loads it, the others wait.
    pub(crate) async fn ready(&self, language: &Language, metering: Metering) -> Result<Arc<Ready>> {
        let key = (language.clone(), metering);
        // Looking for a guest reads two files, which takes as long as a fresh instance.
        if let Some(ready) = self.parts.loaded.made(&key) {
            return Ok(ready);
        }
        // What nobody speaks leaves no trace: callers can make up any number of names.
        self.speaks(language)?;
        let load = async {
            let loaded = self.loaded(language, metering, Loaded::link).await?;
            Ok(Ready::new(loaded, self.parts.settings.ready))
        };
        self.parts.loaded.get(key, load).await
    }

    /// The loaded guest that makes JavaScript of TypeScript.
    pub(crate) async fn transpiler(&self, metering: Metering) -> Result<Arc<Transpiler>> {
        let link = |_: &Guest, _: String, slot, component: &Component| Transpiler::link(slot, component);
        self.parts.transpilers.get(metering, self.loaded(&Language::typescript(), metering, link)).await
    }

    /// Maps the machine code of a language's guest, or makes it first, and links it.
    async fn loaded<T: Send + 'static>(
        &self,
        language: &Language,
        metering: Metering,
        link: impl FnOnce(&Guest, String, Arc<EngineSlot>, &Component) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let guest = self.parts.guests.find(language)?;
        let slot = self.engine(metering)?;
        let artifacts = self.parts.artifacts.clone();
        let ready = guest.sha256.as_ref().is_some_and(|hash| artifacts.is_ready(&slot.engine, hash));
        let load = move || {
            let (component, hash) = loaded::component(&guest, &slot, &artifacts)?;
            link(&guest, hash, slot, &component)
        };
        // Mapping an artifact takes 2 ms, less than it costs to move it to another thread; hashing it takes tens, compiling
        // seconds.
        if ready {
            return load();
        }
        tokio::task::spawn_blocking(load)
            .await
            .map_err(|error| Error::internal("the compilation did not end", error))?
    }

    /// An instance for one run: a waiting one, or a new one.
    async fn instance(&self, language: &Language, metering: Metering) -> Result<(Arc<Ready>, Instance)> {
        let ready = self.ready(language, metering).await?;
        let instance = ready.take().await?;
        Ok((ready, instance))
    }
}

#[async_trait]
impl Provider for WasmProvider {
    fn name(&self) -> &'static str {
        crate::PROVIDER
    }

    fn guests(&self) -> Vec<GuestInfo> {
        self.parts.guests.info()
    }

    fn give_memory_back(&self) {
        trim::trim();
    }

    fn abilities(&self) -> Abilities {
        ABILITIES
    }

    async fn eval(&self, mut request: EvalRequest) -> Result<Outcome> {
        let metering = if request.limits.fuel.is_some() { Metering::Fuel } else { Metering::Epoch };
        let mut spent = Spent::default();
        if request.language == Language::typescript() {
            (request, spent) = match self.prepare(request, metering).await? {
                Prepared::Request(request, spent) => (*request, spent),
                Prepared::Ended(outcome) => return Ok(*outcome),
            };
        }
        let mut begin = spent.begin();
        let first = self.parts.loaded.made(&(request.language.clone(), metering)).is_none();
        let (ready, mut instance) = self.instance(&request.language, metering).await?;
        instance.check_room(&request)?;
        if let Some(project) = &request.grants.project
            && let Some(failed) =
                self.parts.projects.enter(project, &request, &ready, &mut instance, &OwnFiles::Fresh).await?
        {
            return Ok(failed);
        }
        if first || request.grants.project.is_some() {
            // Compiling a guest and opening a project are not the run's own work.
            begin = spent.begin();
        }
        instance.charge(spent);
        instance.run(&request, begin, &OwnFiles::Fresh).await
    }

    async fn machine(
        &self,
        spec: &SandboxSpec,
        state: Option<Arc<dyn Snapshot>>,
    ) -> Result<Box<dyn Machine>> {
        let own = state.as_deref().map(WasmSnapshot::of).transpose()?;
        let mut machine = WasmMachine::new(self.clone(), spec, own.as_ref()).await?;
        if own.is_some_and(|own| own.interpreters.is_none()) {
            machine.lose(&state.map(|state| state.languages()).unwrap_or_default());
        }
        Ok(Box::new(machine))
    }

    fn load(&self, state: &SavedState, chunks: Arc<dyn ChunkSource>) -> Result<Arc<dyn Snapshot>> {
        // What it holds was within a quota when it was saved; the sandbox's own is set when it wakes.
        let quota = Quota { bytes: u64::MAX, files: u64::MAX, ..Quota::default() };
        Ok(Arc::new(WasmSnapshot::load(state, &chunks, quota)?))
    }

    fn notes(&self, state: &SavedState, chunks: &dyn ChunkSource) -> Result<Notes> {
        WasmSnapshot::notes(state, chunks, &|language| {
            let guest = self.parts.guests.find(language).ok()?;
            guest.sha256.clone().or_else(|| guest.read().ok().map(|(_, hash)| hash))
        })
    }

    fn reach(&self, state: &SavedState, chunks: &dyn ChunkSource, reached: &mut Reached) -> Result<()> {
        WasmSnapshot::reach(state, chunks, reached)
    }

    async fn command(&self, request: CommandRequest) -> Result<Outcome> {
        let metering = if request.limits.fuel.is_some() { Metering::Fuel } else { Metering::Epoch };
        let slot = self.engine(metering)?;
        command::run(request, slot, self.parts.programs.clone()).await
    }
}
