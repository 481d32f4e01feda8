//! A sandbox that is awake: its file tree, and one interpreter a language, started when it is first used.
//!
//! An interpreter is in memory, or asleep as a saved state, or was never used. Before a run its state is taken, if it has
//! changed since the last time; a run that is stopped loses the instance, and the next run starts from that state. Files that
//! were open are open again then.

mod beside;
mod carry;
mod commands;
mod interpreter;
mod program;
mod run;
mod waking;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use dormouse_core::connections::Taint;
use dormouse_core::grants::set_variable;
use dormouse_core::sandbox::{
    Beside, Excess, Executed, Files as FilesPort, Include, Job, Lost, Machine, Migrated, OWN_FOLDERS,
    OlderMemory, SandboxSpec, Snapshot, Variable,
};
use dormouse_core::{
    Bounds, CallAnswer, Error, ErrorCode, EvalRequest, Grants, GuestName, GuestPath, Language, Limits,
    LineRequest, Outcome, Programs, Progress, Recovery, Result, RunContext, Status,
};
use dormouse_files::{Files, Quota, Tree, Usage};

use self::interpreter::Interpreter;
use self::run::{STOPPED, told_of};
use crate::clock::Monotonic;
use crate::disk::OwnFiles;
use crate::engine::Metering;
use crate::loader::Loader;
use crate::reach::Reach;
use crate::share::Share;
use crate::snapshot::WasmSnapshot;
use crate::task::Task;
use crate::tree_files::TreeFiles;
use crate::typescript::{Compiler, Sources, Transpilers};

/// Where a snippet of a sandbox starts.
const HOME: &str = "/workspace";
/// Where a new sandbox's artifacts go (S2-27); its callers may remove it.
const OUTPUTS: &str = "/workspace/outputs";
/// Memory that an interpreter may have in a sandbox that may only shrink, in bytes, unless it has more: enough for each language to run.
const HELD_MEMORY: u64 = 96 << 20;
/// What its files may grow by then: who removes rows of a database writes a journal first.
const HELD_SLACK: Usage = Usage { bytes: 4 << 20, files: 8 };

/// Why variables were lost of a sandbox that was a container's.
const FORGOTTEN: &str = "a container keeps no variables";

/// A sandbox on this provider.
pub(crate) struct WasmMachine {
    loader: Loader,
    transpilers: Arc<Transpilers>,
    spec: SandboxSpec,
    grants: Grants,
    /// What it may compute, and how much at one time.
    share: Share,
    files: TreeFiles,
    /// The same and the mounts, for tools.
    reach: Reach,
    interpreters: BTreeMap<GuestName, Interpreter>,
    /// Its snippets of TypeScript, for the exceptions of their functions.
    sources: Sources,
    /// What its files held when they were last held to it, while they are.
    held: Option<Usage>,
    /// The monotonic clock of all its guests, and what it showed when the latest of their states was taken.
    clock: Monotonic,
    shown: u64,
    /// Whether what a server sent that the operator does not trust is in it.
    taint: Taint,
}

/// What a sandbox may hold in files.
pub(crate) fn quota(spec: &SandboxSpec) -> Quota {
    Quota { bytes: spec.disk, files: spec.files.into(), ..Quota::default() }
}

impl WasmMachine {
    /// A sandbox as new, or as a state says.
    ///
    /// # Errors
    /// `args_invalid` for grants that cannot be; what keeps the guests of the state from being found.
    pub(crate) async fn new(
        loader: &Loader,
        transpilers: &Arc<Transpilers>,
        spec: &SandboxSpec,
        state: Option<&WasmSnapshot>,
    ) -> Result<Self> {
        let grants = Grants { directory: Some(GuestPath::parse(HOME)?), ..spec.grants()? };
        let files = TreeFiles(Files::new(Tree::new(quota(spec))));
        let reach = Reach::new(files.0.clone(), &spec.mounts);
        let (spec, share, interpreters) = (spec.clone(), Share::of(spec), BTreeMap::new());
        let (clock, shown, held) = (Monotonic::default(), 0, None);
        let (loader, transpilers, sources) = (loader.clone(), transpilers.clone(), Sources::default());
        let mut machine = Self {
            loader,
            transpilers,
            spec,
            grants,
            share,
            files,
            reach,
            interpreters,
            sources,
            held,
            clock,
            shown,
            taint: Taint::default(),
        };
        if let Some(state) = state {
            let interpreters = Self::woken(&machine.loader, state)?;
            machine.enter(state, interpreters).await?;
        }
        for folder in OWN_FOLDERS.into_iter().chain(state.is_none().then_some(OUTPUTS)) {
            machine.files.0.make_folder(&GuestPath::parse(folder)?)?;
        }
        for mount in &machine.spec.mounts {
            // So that listings show where it is. Where a file has the name, it is there all the same.
            let _ = machine.files.0.make_folder(&mount.target);
        }
        Ok(machine)
    }

    /// Takes the state of all interpreters in memory that have changed.
    ///
    /// # Errors
    /// The first failure; the others' states are taken all the same.
    async fn settle(&mut self) -> Result<()> {
        let mut done = Ok(());
        for (language, interpreter) in &mut self.interpreters {
            done = done.and(interpreter.settle(language).await);
        }
        done
    }

    /// What makes JavaScript of the files that a run imports.
    fn compiler(&self, limits: &Limits) -> Arc<Compiler> {
        let (tree, mounts) = (self.files.0.clone(), self.spec.mounts.clone());
        Compiler::new(&self.transpilers, Metering::Epoch, limits, Some(tree), mounts)
    }

    /// What its interpreters see as their own files.
    fn own(&self) -> OwnFiles {
        OwnFiles::Kept(self.files.0.clone())
    }

    /// The sandbox's variables, and those that come with a run where it has none of their names.
    fn environment(&self, of_run: Vec<(String, String)>) -> Vec<(String, String)> {
        let mut all = of_run;
        for variable in &self.grants.environment {
            set_variable(&mut all, variable.clone());
        }
        all
    }

    /// A request with the sandbox's own grants and memory.
    fn adopt(&self, request: Task) -> Task {
        let own = request.context.grants;
        let grants = Grants {
            environment: self.environment(own.environment),
            stdin: own.stdin,
            arguments: own.arguments,
            seed: own.seed,
            ..self.grants.clone()
        };
        let memory = match self.interpreters.get(&request.guest.runs_as()) {
            // What it grows by is saved as well.
            Some(interpreter) if self.held.is_some() => {
                self.spec.memory.min(interpreter.size().max(HELD_MEMORY))
            }
            None if self.held.is_some() => self.spec.memory.min(HELD_MEMORY),
            _ => self.spec.memory,
        };
        let limits = Limits { memory, fuel: None, ..request.context.limits };
        let context = RunContext { grants, limits, ..request.context };
        Task { context, ..request }
    }

    /// The request of a call that is no snippet.
    fn request(&self, language: &GuestName, limits: &Limits) -> Task {
        let mut task = Task::new(language.clone(), "");
        task.context.limits = limits.clone();
        self.adopt(task)
    }
}

#[async_trait]
impl Machine for WasmMachine {
    async fn eval(&mut self, request: EvalRequest) -> Result<Outcome> {
        let (begun, mut run) = match self.prepared(request).await? {
            Ok(prepared) => prepared,
            Err(ended) => return Ok(*ended),
        };
        let own = self.own();
        let running = run.instance.run(&begun.task, begun.at, &own);
        let done = self.share.hold(begun.at + begun.task.context.limits.wall, running).await;
        self.ended(&begun, run, done)
    }

    async fn advance(&mut self, request: EvalRequest, answers: Option<Vec<CallAnswer>>) -> Result<Progress> {
        let Some(answers) = answers else { return self.begin_program(request).await };
        self.resume_program(request, answers).await
    }

    async fn exec(&mut self, request: LineRequest, programs: Arc<dyn Programs>) -> Result<Executed> {
        self.run_line(request, programs).await
    }

    async fn job(&mut self, request: LineRequest, programs: Arc<dyn Programs>) -> Result<Job> {
        self.line_beside(request, programs).await
    }

    async fn get(
        &mut self,
        language: &Language,
        name: &str,
        query: Option<&str>,
        (limits, bounds): (&Limits, &Bounds),
    ) -> Result<Outcome> {
        let guest = &GuestName::from(language.runs_as());
        let mut request = self.request(guest, limits);
        request.context.bounds = *bounds;
        let mut run = self.begin(guest).await?;
        let own = self.own();
        let running = run.instance.get(&request, name, query, &own);
        let done = self.share.hold(Instant::now() + request.context.limits.wall, running).await;
        // A query can change what it looks at.
        let told = self.end(guest, run);
        let outcome = self.answer(guest, done, told)?;
        if let Status::Stopped(_) = outcome.status {
            // Whoever asked gets the error; what it has cost is told by the next run.
            let reason = outcome.recovery_reason.clone().or_else(|| Some(STOPPED.into()));
            self.keep(guest, (outcome.recovery, reason));
        }
        if query.is_some() || !matches!(outcome.status, Status::Raised(_)) {
            return Ok(outcome);
        }
        self.keep(guest, (outcome.recovery, outcome.recovery_reason.clone()));
        if self.variables(language, limits).await?.iter().any(|variable| variable.name == name) {
            let (recovery, recovery_reason) = told_of(self.tell(language));
            return Ok(Outcome { recovery, recovery_reason, ..outcome });
        }
        let shown: String = name.escape_debug().take(64).collect();
        Err(Error::new(ErrorCode::NotFound, format!("there is no variable `{shown}`"))
            .with_hint("sandbox_vars names those that there are"))
    }

    async fn set(&mut self, language: &Language, name: &str, json: &str, limits: &Limits) -> Result<()> {
        let guest = &GuestName::from(language.runs_as());
        let request = self.request(guest, limits);
        let mut run = self.begin(guest).await?;
        let own = self.own();
        let running = run.instance.set(&request, name, json, &own);
        let done = self.share.hold(Instant::now() + request.context.limits.wall, running).await;
        self.end_quietly(guest, run);
        done
    }

    async fn variables(&mut self, language: &Language, limits: &Limits) -> Result<Vec<Variable>> {
        let guest = &GuestName::from(language.runs_as());
        if !self.interpreters.contains_key(guest) {
            self.loader.speaks(guest)?;
            return Ok(Vec::new());
        }
        let request = self.request(guest, limits);
        let mut run = self.begin(guest).await?;
        // Showing a value can run its code.
        let own = self.own();
        let running = run.instance.variables(&request, &own);
        let done = self.share.hold(Instant::now() + request.context.limits.wall, running).await;
        self.end_quietly(guest, run);
        serde_json::from_str(&done?)
            .map_err(|error| Error::internal("the guest's list of variables has another form", error))
    }

    async fn reset(&mut self) -> Result<()> {
        self.interpreters.clear();
        self.sources.clear();
        Ok(())
    }

    fn files(&mut self) -> &mut dyn FilesPort {
        &mut self.reach
    }

    fn hold(&mut self, hold: bool) -> bool {
        let own = quota(&self.spec);
        let (used, before) = (self.files.0.usage(), self.held.take());
        self.held = hold.then(|| match before {
            // Calls that follow one another do not grow by the slack of each.
            Some(held) => Usage { bytes: held.bytes.min(used.bytes), files: held.files.min(used.files) },
            None => used,
        });
        match self.held {
            Some(held) => {
                let bytes = own.bytes.min(held.bytes + HELD_SLACK.bytes);
                let files = own.files.min(held.files + HELD_SLACK.files);
                self.files.0.set_quota(Quota { bytes, files, ..own });
            }
            None if before.is_some() => self.files.0.set_quota(own),
            None => {}
        }
        true
    }

    fn excess(&self) -> Excess {
        let (used, own) = (self.files.0.usage(), quota(&self.spec));
        Excess { bytes: used.bytes.saturating_sub(own.bytes), names: used.files.saturating_sub(own.files) }
    }

    async fn snapshot(&mut self, include: Include) -> Result<Arc<dyn Snapshot>> {
        if include != Include::Files {
            self.settle().await?;
            for interpreter in self.interpreters.values_mut() {
                if interpreter.is_anew() {
                    self.shown = self.clock.now();
                }
            }
        }
        Ok(Arc::new(self.as_before().state(include)))
    }

    async fn restore(&mut self, snapshot: &dyn Snapshot) -> Result<()> {
        let state = &WasmSnapshot::of(snapshot)?;
        let interpreters = Self::woken(&self.loader, state)?;
        for kept in waking::check(state, &interpreters)? {
            kept.brought().await?;
        }
        self.enter(state, interpreters).await
    }

    fn lost(&self) -> Vec<Lost> {
        self.interpreters.iter().filter_map(|(language, one)| one.all_lost(language)).collect()
    }

    fn tell(&mut self, language: &Language) -> Option<Lost> {
        let guest = GuestName::from(language.runs_as());
        self.interpreters.get_mut(&guest)?.tell(&guest)
    }

    fn older_memory(&self) -> Vec<OlderMemory> {
        let older = self.interpreters.values().flat_map(Interpreter::older);
        let shown = older.map(|kept| OlderMemory {
            guest: kept.language().clone(),
            build: kept.guest().to_owned(),
            bytes: kept.bytes(),
        });
        shown.collect()
    }

    fn time(&self) -> u64 {
        self.clock.now()
    }

    fn reach_time(&mut self, shown: u64) {
        self.clock.reach(shown);
        self.shown = self.shown.max(shown);
    }

    fn taint(&self) -> Option<&Taint> {
        Some(&self.taint)
    }

    async fn migrate(&mut self, limits: &Limits, memory: Option<&str>) -> Result<Vec<Migrated>> {
        self.carry(limits, memory).await
    }

    fn beside(&self) -> Option<Arc<dyn Beside>> {
        Some(Arc::new(self.as_before()))
    }

    fn instances(&self, with: Option<&GuestName>) -> usize {
        let (typescript, javascript) = (GuestName::typescript(), GuestName::javascript());
        let with = with.map(|language| if *language == typescript { &javascript } else { language });
        let is_awake = |language| self.interpreters.get(language).is_some_and(Interpreter::is_awake);
        let more = with.is_some_and(|language| !is_awake(language));
        self.interpreters.values().filter(|one| one.is_awake()).count() + usize::from(more)
    }

    fn memory(&self) -> u64 {
        self.interpreters.values().map(Interpreter::memory).sum::<u64>() + self.files.0.in_memory()
    }

    fn lose(&mut self, languages: &[GuestName]) {
        for language in languages {
            self.interpreters.entry(language.clone()).or_default().note_lost(
                language,
                Recovery::Fresh,
                FORGOTTEN,
            );
        }
    }

    fn awake(&self) -> Vec<GuestName> {
        let awake = self.interpreters.iter().filter(|(_, interpreter)| interpreter.is_awake());
        awake.map(|(language, _)| language.clone()).collect()
    }
}
