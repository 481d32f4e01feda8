//! A sandbox that is awake: its file tree, and one interpreter a language, started when it is first used.
//!
//! An interpreter is in memory, or asleep as a saved state, or was never used. Before a run its state is taken, if it has
//! changed since the last time and has no open files (they would have to be closed); a run that is stopped loses the
//! instance, and the next run starts from that state.

mod files;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use dormouse_core::sandbox::{Files as FilesPort, Include, Machine, SandboxSpec, Snapshot, Variable};
use dormouse_core::{
    Bounds, Error, ErrorCode, EvalRequest, Grants, GuestPath, Language, Limits, Outcome, Recovery, Result,
    Status,
};
use dormouse_files::{Files, Quota, Tree};

use self::files::TreeFiles;
use crate::disk::OwnFiles;
use crate::engine::Metering;
use crate::instance::Instance;
use crate::provider::WasmProvider;
use crate::ready::Ready;
use crate::session;
use crate::snapshot::{Kept, WasmSnapshot};
use crate::typescript::{self, Stripped};

/// Where a snippet of a sandbox starts.
const HOME: &str = "/workspace";
/// The folders that every sandbox has.
const FOLDERS: [&str; 2] = [HOME, "/tmp"];

/// A sandbox on this provider.
pub(crate) struct WasmMachine {
    provider: WasmProvider,
    spec: SandboxSpec,
    grants: Grants,
    files: TreeFiles,
    interpreters: BTreeMap<Language, Interpreter>,
}

/// One language's interpreter.
#[derive(Default)]
struct Interpreter {
    /// In memory. Taken out for the time of a run, so that one that does not end well is lost.
    live: Option<(Arc<Ready>, Instance)>,
    /// Its last state that was taken; none: a fresh one.
    kept: Option<Arc<Kept>>,
    /// Whether `live` may differ from `kept`.
    changed: bool,
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
        let mut machine = Self { provider, spec: spec.clone(), grants, files, interpreters: BTreeMap::new() };
        if let Some(state) = state {
            machine.enter(state).await?;
        }
        for folder in FOLDERS {
            machine.files.0.make_folder(&GuestPath::parse(folder)?)?;
        }
        Ok(machine)
    }

    /// Becomes what a state says; what it does not include stays.
    async fn enter(&mut self, state: &WasmSnapshot) -> Result<()> {
        for (language, kept) in state.interpreters.iter().flatten() {
            let ready = self.provider.ready(language, Metering::Epoch).await?;
            session::check_guest(&ready, kept.guest())?;
        }
        if let Some(interpreters) = &state.interpreters {
            let asleep =
                |kept: &Arc<Kept>| Interpreter { kept: Some(kept.clone()), ..Interpreter::default() };
            self.interpreters =
                interpreters.iter().map(|(language, kept)| (language.clone(), asleep(kept))).collect();
        }
        if let Some(tree) = &state.tree {
            // Interpreters that stay begin anew from their state: an instance cannot let go of its folders.
            self.settle().await?;
            self.interpreters.values_mut().for_each(|interpreter| interpreter.live = None);
            self.files.0.restore(tree.clone().with_quota(quota(&self.spec)));
        }
        Ok(())
    }

    /// Takes the state of all interpreters in memory that have changed. None of them has open files then.
    async fn settle(&mut self) -> Result<()> {
        for interpreter in self.interpreters.values_mut() {
            if let Some((ready, mut instance)) = interpreter.live.take() {
                if interpreter.changed {
                    interpreter.save(&ready, &mut instance).await?;
                }
                interpreter.live = Some((ready, instance));
            }
        }
        Ok(())
    }

    /// The interpreter of a language, out of its place, awake. Whoever took it puts it back if it is whole.
    async fn take(&mut self, language: &Language) -> Result<(Arc<Ready>, Instance)> {
        let interpreter = self.interpreters.entry(language.clone()).or_default();
        if let Some(live) = interpreter.live.take() {
            return Ok(live);
        }
        let ready = self.provider.ready(language, Metering::Epoch).await?;
        let mut instance = ready.take().await?;
        if let Some(kept) = &interpreter.kept {
            session::restore(&ready, &mut instance, kept.interpreter()?.as_ref()).await?;
        }
        interpreter.changed = false;
        Ok((ready, instance))
    }

    /// Takes the state before a run, where that is wanted and possible. The answer: what a stopped run leads back to.
    async fn keep(
        &mut self,
        language: &Language,
        ready: &Ready,
        instance: &mut Instance,
    ) -> Result<Recovery> {
        if !self.spec.rolls_back {
            return Ok(Recovery::Fresh);
        }
        let interpreter = self.interpreters.entry(language.clone()).or_default();
        if !interpreter.changed {
            return Ok(Recovery::BeforeRun);
        }
        if instance.open_files() > 0 {
            return Ok(Recovery::Earlier);
        }
        interpreter.save(ready, instance).await?;
        Ok(Recovery::BeforeRun)
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
}

impl Interpreter {
    /// Takes the state of what is in memory.
    async fn save(&mut self, ready: &Ready, instance: &mut Instance) -> Result<()> {
        let before = match &self.kept {
            Some(kept) => Some(kept.interpreter()?),
            None => None,
        };
        let saved = session::save(ready, instance, before.as_deref()).await?;
        self.kept = Some(Arc::new(Kept::new(saved)));
        self.changed = false;
        Ok(())
    }
}

#[async_trait]
impl Machine for WasmMachine {
    async fn eval(&mut self, request: EvalRequest) -> Result<Outcome> {
        let mut request = self.adopt(request);
        let begin = Instant::now();
        if request.language == Language::typescript() {
            request.code = match typescript::strip(&request).await? {
                Stripped::Code(code) => code,
                Stripped::Invalid(exception) => {
                    return Ok(typescript::refused(Status::Raised(*exception), begin));
                }
                Stripped::Late(error) => return Ok(typescript::refused(Status::Stopped(error), begin)),
            };
            request.language = Language::javascript();
        }
        let language = request.language.clone();
        if !self.spec.keeps_memory {
            self.interpreters.remove(&language);
        }
        let (ready, mut instance) = self.take(&language).await?;
        let _running = ready.loaded().slot.ticker.running();
        let recovery = self.keep(&language, &ready, &mut instance).await?;
        let mut outcome = instance.run(&request, begin, &self.own()).await?;
        let interpreter = self.interpreters.entry(language).or_default();
        if matches!(outcome.status, Status::Stopped(_)) {
            if recovery == Recovery::Fresh {
                interpreter.kept = None;
            }
            outcome.recovery = Some(if interpreter.kept.is_none() && recovery != Recovery::BeforeRun {
                Recovery::Fresh
            } else {
                recovery
            });
        } else {
            interpreter.live = Some((ready, instance));
            interpreter.changed = true;
        }
        Ok(outcome)
    }

    async fn get(
        &mut self,
        language: &Language,
        name: &str,
        query: Option<&str>,
        (limits, bounds): (&Limits, &Bounds),
    ) -> Result<Outcome> {
        let mut request = self.adopt(EvalRequest::new(language.clone(), ""));
        (request.limits, request.bounds) =
            (Limits { memory: self.spec.memory, ..limits.clone() }, bounds.clone());
        let (ready, mut instance) = self.take(language).await?;
        let _running = ready.loaded().slot.ticker.running();
        let outcome = instance.get(&request, name, query, &self.own()).await?;
        if !matches!(outcome.status, Status::Stopped(_)) {
            let interpreter = self.interpreters.entry(language.clone()).or_default();
            interpreter.live = Some((ready, instance));
            // A query can change what it looks at.
            interpreter.changed = true;
        }
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
        let request = self.adopt(EvalRequest::new(language.clone(), ""));
        let (ready, mut instance) = self.take(language).await?;
        let _running = ready.loaded().slot.ticker.running();
        instance.grant(&request, &self.own())?;
        instance.set(name, json, &Limits { memory: self.spec.memory, ..limits.clone() }).await?;
        let interpreter = self.interpreters.entry(language.clone()).or_default();
        interpreter.live = Some((ready, instance));
        interpreter.changed = true;
        Ok(())
    }

    async fn variables(&mut self, language: &Language, limits: &Limits) -> Result<Vec<Variable>> {
        if !self.interpreters.contains_key(language) {
            return Ok(Vec::new());
        }
        let request = self.adopt(EvalRequest::new(language.clone(), ""));
        let (ready, mut instance) = self.take(language).await?;
        let _running = ready.loaded().slot.ticker.running();
        instance.grant(&request, &self.own())?;
        let listed = instance.variables(&request.bounds, limits).await?;
        let interpreter = self.interpreters.entry(language.clone()).or_default();
        interpreter.live = Some((ready, instance));
        // Showing a value can run its code.
        interpreter.changed = true;
        serde_json::from_str(&listed)
            .map_err(|error| Error::internal("the guest's list of variables has another form", error))
    }

    async fn reset(&mut self) -> Result<()> {
        self.interpreters.clear();
        Ok(())
    }

    fn files(&mut self) -> &mut dyn FilesPort {
        &mut self.files
    }

    async fn snapshot(&mut self, include: Include) -> Result<Arc<dyn Snapshot>> {
        let interpreters = if include == Include::Files {
            None
        } else {
            self.settle().await?;
            let kept = self.interpreters.iter();
            Some(kept.filter_map(|(language, one)| Some((language.clone(), one.kept.clone()?))).collect())
        };
        let tree = (include != Include::Memory).then(|| self.files.0.snapshot());
        Ok(Arc::new(WasmSnapshot { interpreters, tree }))
    }

    async fn restore(&mut self, snapshot: &dyn Snapshot) -> Result<()> {
        self.enter(downcast(snapshot)?).await
    }

    fn open_files(&self) -> usize {
        self.interpreters
            .values()
            .filter_map(|one| one.live.as_ref())
            .map(|(_, live)| live.open_files())
            .sum()
    }

    fn awake(&self) -> Vec<Language> {
        let awake = self.interpreters.iter().filter(|(_, interpreter)| interpreter.live.is_some());
        awake.map(|(language, _)| language.clone()).collect()
    }
}

/// A state of this provider's.
///
/// # Errors
/// `invalid_state` for another provider's.
pub(crate) fn downcast(snapshot: &dyn Snapshot) -> Result<&WasmSnapshot> {
    snapshot
        .as_any()
        .downcast_ref()
        .ok_or_else(|| Error::new(ErrorCode::InvalidState, "the state belongs to another provider"))
}
