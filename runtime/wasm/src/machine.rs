//! A sandbox that is awake: its file tree, and one interpreter a language, started when it is first used.
//!
//! An interpreter is in memory, or asleep as a saved state, or was never used. Before a run its state is taken, if it has
//! changed since the last time and has no open files (they would have to be closed); a run that is stopped loses the
//! instance, and the next run starts from that state.

mod commands;
mod files;
mod interpreter;
mod reach;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use dormouse_core::sandbox::{
    Executed, Files as FilesPort, Include, Job, Machine, SandboxSpec, Snapshot, Variable,
};
use dormouse_core::{
    Bounds, Error, ErrorCode, EvalRequest, Grants, GuestPath, Language, Limits, Outcome, Programs, Recovery,
    Result, Status,
};
use dormouse_files::{Files, Quota, Tree};

pub(crate) use self::files::TreeFiles;
use self::interpreter::Interpreter;
use self::reach::Reach;
use crate::disk::OwnFiles;
use crate::engine::Metering;
use crate::instance::Instance;
use crate::provider::WasmProvider;
use crate::ready::Ready;
use crate::session;
use crate::share::Share;
use crate::snapshot::{Kept, WasmSnapshot};
use crate::typescript::{Prepared, Spent};

/// Where a snippet of a sandbox starts.
const HOME: &str = "/workspace";
/// The folders that every sandbox has.
const FOLDERS: [&str; 2] = [HOME, "/tmp"];

/// A sandbox on this provider.
pub(crate) struct WasmMachine {
    provider: WasmProvider,
    spec: SandboxSpec,
    grants: Grants,
    /// What it may compute, and how much at one time.
    share: Share,
    files: TreeFiles,
    /// The same and the mounts, for tools.
    reach: Reach,
    interpreters: BTreeMap<Language, Interpreter>,
}

/// An interpreter during a run.
struct Run {
    ready: Arc<Ready>,
    instance: Instance,
    /// What the next run begins with if this one is cut off.
    recovery: Recovery,
    /// The last state that was taken.
    before: Option<Arc<Kept>>,
    /// What it began with, if what came later was lost and no answer has said so yet.
    lost: Option<Recovery>,
}

/// What a sandbox may hold in files.
pub(crate) fn quota(spec: &SandboxSpec) -> Quota {
    Quota { bytes: spec.disk, files: spec.files.into(), ..Quota::default() }
}

impl WasmMachine {
    /// A sandbox as new, or as a state says.
    ///
    /// # Errors
    /// `args_invalid` for grants that cannot be; `guest_mismatch` when the state belongs to other guests.
    pub(crate) async fn new(
        provider: WasmProvider,
        spec: &SandboxSpec,
        state: Option<&WasmSnapshot>,
    ) -> Result<Self> {
        let grants = Grants { directory: Some(GuestPath::parse(HOME)?), ..spec.grants()? };
        let files = TreeFiles(Files::new(Tree::new(quota(spec))));
        let reach = Reach::new(files.0.clone(), &spec.mounts);
        let (spec, share, interpreters) = (spec.clone(), Share::of(spec), BTreeMap::new());
        let mut machine = Self { provider, spec, grants, share, files, reach, interpreters };
        if let Some(state) = state {
            machine.enter(state).await?;
        }
        for folder in FOLDERS {
            machine.files.0.make_folder(&GuestPath::parse(folder)?)?;
        }
        for mount in &machine.spec.mounts {
            // So that listings show where it is. Where a file has the name, it is there all the same.
            let _ = machine.files.0.make_folder(&mount.target);
        }
        Ok(machine)
    }

    /// Becomes what a state says; what it does not include stays. Nothing is changed before all that can fail is done.
    async fn enter(&mut self, state: &WasmSnapshot) -> Result<()> {
        for (language, kept) in state.interpreters.iter().flatten() {
            let ready = self.provider.ready(language, Metering::Epoch).await?;
            session::check_guest(&ready, kept.guest())?;
        }
        if state.tree.is_some() && state.interpreters.is_none() {
            // Interpreters that stay begin anew from their state: an instance cannot let go of its folders.
            self.settle().await?;
            self.interpreters.values_mut().for_each(Interpreter::sleep);
        }
        if let Some(interpreters) = &state.interpreters {
            let asleep =
                interpreters.iter().map(|(language, kept)| (language.clone(), Interpreter::of(kept)));
            self.interpreters = asleep.collect();
        }
        if let Some(tree) = &state.tree {
            self.files.0.restore(tree.clone().with_quota(quota(&self.spec)));
        }
        Ok(())
    }

    /// Takes the state of all interpreters in memory that have changed. None of them has open files then.
    ///
    /// # Errors
    /// The first failure; the others' states are taken all the same.
    async fn settle(&mut self) -> Result<()> {
        let mut done = Ok(());
        for interpreter in self.interpreters.values_mut() {
            done = done.and(interpreter.settle().await);
        }
        done
    }

    /// The interpreter of a language, out of its place, awake, and what it goes back to if the run is stopped or given up:
    /// its state before, where that is wanted and possible. Whoever took it gives it to [`WasmMachine::end`].
    async fn begin(&mut self, language: &Language) -> Result<Run> {
        let interpreter = self.interpreters.entry(language.clone()).or_default();
        interpreter.wake(&self.provider, language).await?;
        let recovery = match interpreter.open_files() {
            _ if !self.spec.rolls_back => Recovery::Fresh,
            _ if !interpreter.is_changed() => Recovery::BeforeRun,
            0 => {
                interpreter.settle().await?;
                Recovery::BeforeRun
            }
            _ => Recovery::Earlier,
        };
        let before = interpreter.kept().cloned();
        if recovery == Recovery::Fresh {
            interpreter.forget();
        }
        let lost = interpreter.take_lost();
        let (ready, instance) = interpreter.take()?;
        Ok(Run { ready, instance, recovery, before, lost })
    }

    /// Ends a run: an interpreter that can go on stays in memory. The answer for one that cannot: what the next run begins
    /// with; for one that began with less than the caller can know, what it began with.
    fn end(&mut self, language: &Language, run: Run) -> Option<Recovery> {
        let interpreter = self.interpreters.entry(language.clone()).or_default();
        if run.instance.is_whole() {
            interpreter.put_back(run.ready, run.instance, run.before);
            return run.lost;
        }
        let fresh = interpreter.kept().is_none() && run.recovery != Recovery::BeforeRun;
        Some(if fresh { Recovery::Fresh } else { run.recovery })
    }

    /// Ends a call that has no outcome: the next one that has tells what was lost in this.
    fn end_quietly(&mut self, language: &Language, run: Run) {
        if let Some(lost) = self.end(language, run) {
            self.interpreters.entry(language.clone()).or_default().note_lost(lost);
        }
    }

    /// What its interpreters see as their own files.
    fn own(&self) -> OwnFiles {
        OwnFiles::Kept(self.files.0.clone())
    }

    /// A request with the sandbox's own grants and memory.
    fn adopt(&self, request: EvalRequest) -> EvalRequest {
        let grants = Grants {
            stdin: request.grants.stdin,
            arguments: request.grants.arguments,
            seed: request.grants.seed,
            ..self.grants.clone()
        };
        let limits = Limits { memory: self.spec.memory, fuel: None, ..request.limits };
        EvalRequest { grants, limits, ..request }
    }

    /// The request of a call that is no snippet.
    fn request(&self, language: &Language, limits: &Limits) -> EvalRequest {
        let request = EvalRequest::new(language.clone(), "");
        self.adopt(EvalRequest { limits: limits.clone(), ..request })
    }
}

#[async_trait]
impl Machine for WasmMachine {
    async fn eval(&mut self, request: EvalRequest) -> Result<Outcome> {
        let mut request = self.adopt(request);
        let mut spent = Spent::default();
        if request.language == Language::typescript() {
            (request, spent) = match self.provider.prepare(request, Metering::Epoch).await? {
                Prepared::Request(request, spent) => (*request, spent),
                Prepared::Ended(outcome) => return Ok(*outcome),
            };
        }
        let begin = spent.begin();
        let language = request.language.clone();
        if !self.spec.keeps_memory {
            self.interpreters.remove(&language);
        }
        let mut run = self.begin(&language).await?;
        run.instance.charge(spent);
        let own = self.own();
        let running = run.instance.run(&request, begin, &own);
        let done = self.share.hold(begin + request.limits.wall, running).await;
        let recovery = self.end(&language, run);
        done.map(|outcome| Outcome { recovery, ..outcome })
    }

    async fn exec(&mut self, request: EvalRequest, programs: Arc<dyn Programs>) -> Result<Executed> {
        self.run_line(request, programs).await
    }

    async fn job(&mut self, request: EvalRequest, programs: Arc<dyn Programs>) -> Result<Job> {
        self.line_beside(request, programs).await
    }

    async fn get(
        &mut self,
        language: &Language,
        name: &str,
        query: Option<&str>,
        (limits, bounds): (&Limits, &Bounds),
    ) -> Result<Outcome> {
        let language = &language.runs_as();
        let request = EvalRequest { bounds: *bounds, ..self.request(language, limits) };
        let mut run = self.begin(language).await?;
        let own = self.own();
        let running = run.instance.get(&request, name, query, &own);
        let done = self.share.hold(Instant::now() + request.limits.wall, running).await;
        // A query can change what it looks at.
        let recovery = self.end(language, run);
        let outcome = Outcome { recovery, ..done? };
        let known = match &outcome.status {
            Status::Raised(_) if query.is_none() => {
                self.variables(language, limits).await?.iter().any(|variable| variable.name == name)
            }
            _ => true,
        };
        if known {
            return Ok(outcome);
        }
        let shown: String = name.escape_debug().take(64).collect();
        Err(Error::new(ErrorCode::NotFound, format!("there is no variable `{shown}`"))
            .with_hint("sandbox_vars names those that there are"))
    }

    async fn set(&mut self, language: &Language, name: &str, json: &str, limits: &Limits) -> Result<()> {
        let language = &language.runs_as();
        let request = self.request(language, limits);
        let mut run = self.begin(language).await?;
        let own = self.own();
        let running = run.instance.set(&request, name, json, &own);
        let done = self.share.hold(Instant::now() + request.limits.wall, running).await;
        self.end_quietly(language, run);
        done
    }

    async fn variables(&mut self, language: &Language, limits: &Limits) -> Result<Vec<Variable>> {
        let language = &language.runs_as();
        if !self.interpreters.contains_key(language) {
            return Ok(Vec::new());
        }
        let request = self.request(language, limits);
        let mut run = self.begin(language).await?;
        // Showing a value can run its code.
        let own = self.own();
        let running = run.instance.variables(&request, &own);
        let done = self.share.hold(Instant::now() + request.limits.wall, running).await;
        self.end_quietly(language, run);
        serde_json::from_str(&done?)
            .map_err(|error| Error::internal("the guest's list of variables has another form", error))
    }

    async fn reset(&mut self) -> Result<()> {
        self.interpreters.clear();
        Ok(())
    }

    fn files(&mut self) -> &mut dyn FilesPort {
        &mut self.reach
    }

    async fn snapshot(&mut self, include: Include) -> Result<Arc<dyn Snapshot>> {
        let interpreters = if include == Include::Files {
            None
        } else {
            self.settle().await?;
            let kept = self.interpreters.iter();
            Some(kept.filter_map(|(language, one)| Some((language.clone(), one.kept()?.clone()))).collect())
        };
        let tree = (include != Include::Memory).then(|| self.files.0.snapshot());
        Ok(Arc::new(WasmSnapshot { interpreters, tree }))
    }

    async fn restore(&mut self, snapshot: &dyn Snapshot) -> Result<()> {
        let state = &WasmSnapshot::of(snapshot)?;
        // Damage is found now, while there is something to stay with, and not when it is first used.
        for kept in state.interpreters.iter().flat_map(BTreeMap::values) {
            kept.interpreter()?;
        }
        self.enter(state).await
    }

    fn open_files(&self) -> usize {
        self.interpreters.values().map(Interpreter::open_files).sum()
    }

    fn awake(&self) -> Vec<Language> {
        let awake = self.interpreters.iter().filter(|(_, interpreter)| interpreter.is_awake());
        awake.map(|(language, _)| language.clone()).collect()
    }
}
