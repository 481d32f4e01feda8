//! The [`Provider`] on Wasmtime: gets an instance of a request's guest ([`crate::loader`]), lets it run.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use dormouse_core::sandbox::{ChunkSource, Machine, Notes, Reached, SandboxSpec, SavedState, Snapshot};
use dormouse_core::{
    Abilities, CommandRequest, Error, ErrorCode, EvalRequest, GuestInfo, GuestName, Outcome, Provider, Result,
};
use dormouse_files::Quota;

use crate::artifact::Artifacts;
use crate::disk::OwnFiles;
use crate::engine::Metering;
use crate::guest::Guest;
use crate::instance::Spent;
use crate::kept::Memory;
use crate::loader::Loader;
use crate::machine::WasmMachine;
use crate::plain;
use crate::processor::Architecture;
use crate::project::Projects;
use crate::reach::Reach;
use crate::snapshot::WasmSnapshot;
use crate::task::Task;
use crate::trim;
use crate::typescript::{Compiler, Prepared, Sources, Transpilers};
use crate::{Settings, command, written};

/// What this provider can do. Its languages are those of the guests that come with it; manifests can bring others.
pub const ABILITIES: Abilities = Abilities {
    wall: "webassembly",
    languages: &["javascript", "php", "python", "typescript"],
    interpreters: "installation",
    variables: "saved",
    include: &["both", "files", "memory"],
    images: "checkpoint",
    network: "rules",
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

/// A guest that new interpreters or programs get.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Build {
    /// The guest.
    pub guest: GuestName,
    /// Its interpreter with the version, such as `CPython 3.14.6`.
    pub interpreter: String,
    /// SHA-256 of its component, in hexadecimal. None: its manifest does not say.
    pub sha256: Option<String>,
    /// The folder of its record.
    pub folder: PathBuf,
    /// Whether it came with the program.
    pub is_installed: bool,
}

/// Runs snippets on WebAssembly guests. Engines are set up and guests loaded on first use, once. Cheap to clone.
#[derive(Clone)]
pub struct WasmProvider {
    loader: Loader,
    transpilers: Arc<Transpilers>,
    projects: Arc<Projects>,
    programs: Arc<Artifacts>,
}

impl WasmProvider {
    /// A provider. Starts nothing and compiles nothing.
    ///
    /// # Errors
    /// None yet: what it needs is looked for on first use.
    pub fn new(settings: Settings) -> Result<Self> {
        written::prepare();
        let projects = Arc::new(Projects::new(&settings.cache));
        let programs = Arc::new(Artifacts::programs(&settings.cache));
        let loader = Loader::new(settings);
        let transpilers = Transpilers::new(&loader);
        Ok(Self { loader, transpilers, projects, programs })
    }

    /// Loads what runs a language, so that its first run does not pay for it. Compiles it if need be.
    ///
    /// # Errors
    /// As [`Provider::eval`].
    pub async fn load(&self, language: &GuestName) -> Result<()> {
        if *language == GuestName::typescript() {
            self.transpilers.get(Metering::Epoch).await?;
        }
        self.loader.ready(&language.runs_as(), Metering::Epoch).await.map(drop)
    }

    /// Compiles the guest of a language into the cache unless that is done already: the machine code that counts fuel, or that
    /// which most runs use. Returns the artifact. Takes seconds.
    ///
    /// # Errors
    /// As [`Provider::eval`]; `internal` when the cache cannot be written.
    pub fn precompile(&self, language: &GuestName, counts_fuel: bool) -> Result<PathBuf> {
        self.loader.precompile(language, if counts_fuel { Metering::Fuel } else { Metering::Epoch })
    }

    /// Compiles the guest of this SHA-256, which is another release's, into the cache, without fuel, unless that is done already.
    /// Returns the artifact; none where it is the current guest. Takes seconds.
    ///
    /// # Errors
    /// `guest_missing`, `guest_mismatch`, `bad_component`; `internal` when the cache cannot be written.
    pub fn precompile_kept(&self, language: &GuestName, sha256: &str) -> Result<Option<PathBuf>> {
        self.loader.precompile_kept(language, sha256)
    }

    /// The guests that new interpreters and programs get, sorted. What cannot be had is left out. Reads records only.
    pub fn builds(&self) -> Vec<Build> {
        let build = |guest: Guest| Build {
            guest: guest.language,
            interpreter: guest.interpreter,
            sha256: guest.sha256,
            folder: guest.wasm.parent().map(PathBuf::from).unwrap_or_default(),
            is_installed: guest.is_installed,
        };
        self.loader.builds().into_iter().map(build).collect()
    }

    /// The component of a language's guest.
    ///
    /// # Errors
    /// `unknown_language`, `guest_missing` or `guest_mismatch`, each with what to do.
    pub fn component(&self, language: &GuestName) -> Result<PathBuf> {
        let guest = self.loader.find(language)?;
        if guest.is_installed && !guest.wasm.exists() && self.is_compiled(language).unwrap_or(false) {
            let message =
                format!("the {language} guest was installed as machine code, and its component was not");
            let hint =
                format!("the components are in the archive {}-guests.tar.xz", Architecture::archives());
            return Err(Error::new(ErrorCode::GuestMissing, message).with_hint(hint));
        }
        guest.check_component()?;
        Ok(guest.wasm)
    }

    /// Whether the guest of a language has been compiled for this machine and this engine. Reads no machine code.
    ///
    /// # Errors
    /// As [`WasmProvider::component`], and as [`WasmProvider::check_engine`]; `internal` when others can write the artifact.
    pub fn is_compiled(&self, language: &GuestName) -> Result<bool> {
        self.loader.is_compiled(language)
    }

    /// Sets the engine up, unless it is already.
    ///
    /// # Errors
    /// `internal` when this machine refuses, for example its address space; `capability_unavailable` when its processor is older
    /// than the machine code.
    pub fn check_engine(&self) -> Result<()> {
        self.loader.engine(Metering::Epoch).map(drop)
    }

    /// The memory of interpreters in a saved state of this provider, by language, of each the latest used first, with how it can be
    /// woken. Reads one chunk and loads nothing.
    ///
    /// # Errors
    /// `state_damaged`; `state_unavailable` when it is of a later version.
    pub fn memories(&self, state: &SavedState, chunks: &dyn ChunkSource) -> Result<Vec<Memory>> {
        WasmSnapshot::memories(state, chunks, &|language, hash| self.loader.wake(language, hash))
    }

    /// What makes JavaScript of TypeScript.
    pub(crate) fn transpilers(&self) -> &Transpilers {
        &self.transpilers
    }

    /// Where its guests come from.
    pub(crate) fn loader(&self) -> &Loader {
        &self.loader
    }
}

#[async_trait]
impl Provider for WasmProvider {
    fn name(&self) -> &'static str {
        crate::PROVIDER
    }

    fn guests(&self) -> Vec<GuestInfo> {
        self.loader.info()
    }

    fn give_memory_back(&self) {
        trim::trim();
    }

    fn abilities(&self) -> Abilities {
        ABILITIES
    }

    async fn eval(&self, request: EvalRequest) -> Result<Outcome> {
        let mut request = Task::from(request);
        let metering = if request.context.limits.fuel.is_some() { Metering::Fuel } else { Metering::Epoch };
        let (mut spent, mut sources, mut written) = (Spent::default(), Sources::default(), None);
        if request.guest == GuestName::typescript() {
            let reach = |request: &Task| Reach::granted(&request.context.grants);
            match self.transpilers.prepare(request, metering, reach).await? {
                Prepared::Request { task, spent: used, source } => {
                    (request, spent) = (*task, used);
                    written = request.context.callbacks.looks_ahead().then(|| source.clone());
                    sources.add(source, &request.code);
                }
                Prepared::Ended(outcome) => return Ok(*outcome),
            }
        }
        let mut begin = spent.begin();
        let first = !self.loader.is_loaded(&request.guest, metering);
        let ready = self.loader.ready(&request.guest, metering).await?;
        // A waiting one, or a new one.
        let mut instance = ready.take().await?;
        instance.check_room(&request)?;
        if let Some(project) = &request.context.grants.project
            && let Some(failed) =
                self.projects.enter(project, &request, &ready, &mut instance, &OwnFiles::Fresh).await?
        {
            return Ok(failed);
        }
        let looking = (&*self.transpilers, metering);
        let looked = (&request, written.as_deref());
        if let Some(refused) = plain::refused(looking, looked, &mut instance, &OwnFiles::Fresh).await? {
            return Ok(refused);
        }
        let looks_ahead = request.context.callbacks.looks_ahead();
        if first || looks_ahead || request.context.grants.project.is_some() {
            // Compiling a guest, opening a project and reaching servers are not the run's own work.
            begin = spent.begin();
        }
        instance.charge(spent);
        if request.guest == GuestName::javascript() {
            let mounts = Reach::mounts(&request.context.grants);
            instance.compile_with(Compiler::new(
                &self.transpilers,
                metering,
                &request.context.limits,
                None,
                mounts,
            ));
        }
        let mut outcome = instance.run(&request, begin, &OwnFiles::Fresh).await?;
        sources.show(None, &mut outcome);
        Ok(outcome)
    }

    async fn machine(
        &self,
        spec: &SandboxSpec,
        state: Option<Arc<dyn Snapshot>>,
    ) -> Result<Box<dyn Machine>> {
        let own = state.as_deref().map(WasmSnapshot::of).transpose()?;
        let mut machine = WasmMachine::new(&self.loader, &self.transpilers, spec, own.as_ref()).await?;
        if own.is_some_and(|own| own.interpreters.is_none()) {
            machine.lose(&state.map(|state| state.guests()).unwrap_or_default());
        }
        Ok(Box::new(machine))
    }

    fn load(&self, state: &SavedState, chunks: Arc<dyn ChunkSource>) -> Result<Arc<dyn Snapshot>> {
        // What it holds was within a quota when it was saved; the sandbox's own is set when it wakes.
        let quota = Quota { bytes: u64::MAX, files: u64::MAX, ..Quota::default() };
        Ok(Arc::new(WasmSnapshot::load(state, &chunks, quota)?))
    }

    fn notes(&self, state: &SavedState, chunks: &dyn ChunkSource) -> Result<Notes> {
        WasmSnapshot::notes(state, chunks, &|language, hash| self.loader.wake(language, hash).is_ok())
    }

    fn reach(&self, state: &SavedState, chunks: &dyn ChunkSource, reached: &mut Reached) -> Result<()> {
        WasmSnapshot::reach(state, chunks, reached)
    }

    async fn command(&self, request: CommandRequest) -> Result<Outcome> {
        let metering = if request.limits.fuel.is_some() { Metering::Fuel } else { Metering::Epoch };
        let slot = self.loader.engine(metering)?;
        command::run(request, slot, self.programs.clone()).await
    }
}
