//! All files of one run, read and checked against each other. Nothing is opened here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dormouse_core::{Error, ErrorCode, Result};
use dormouse_models::{Api, Endpoint};
use dormouse_sources::{Entry, Registry, Scope, Scopes, skills, template as source_template};
use serde_saphyr::{Location, Spanned};

use super::arena::{ArenaFile, ArenaSpec, ModelSpec, ScenarioItem, Server, Timeouts};
use super::scenario::{Gate, ScenarioFile, ScenarioSpec, ToolCall, Turn};
use super::yaml::Source;
use crate::template;

/// The versions of the form that are read.
const VERSIONS: [&str; 2] = ["dormouse/v1", "promptkit.altairalabs.ai/v1alpha1"];
/// Most scenarios of a run, repetitions of a scenario, turns, calls of a turn and gates.
const MAX_SCENARIOS: usize = 1_000;
const MAX_REPETITIONS: u32 = 1_000;
const MAX_STEPS: usize = 200;
/// Most servers and skills.
const MAX_SERVERS: usize = 64;
/// Longest name of a scenario, in characters.
const MAX_ID: usize = 128;
/// Longest time that can be set, in seconds (a day).
const MAX_SECONDS: u64 = 86_400;

/// What a run is to do: checked, immutable.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The arena's name.
    pub name: String,
    /// The files, as they were named.
    pub files: Vec<String>,
    /// The servers, in the order in which they are opened.
    pub entries: Vec<Entry>,
    /// The folders of skills: name and absolute path.
    pub skills: Vec<(String, PathBuf)>,
    /// The scenarios, in the order in which they are run.
    pub scenarios: Vec<Scenario>,
    /// The model that drives turns without a script.
    pub model: Option<ModelSpec>,
    /// How long things may take.
    pub timeouts: Timeouts,
}

/// One scenario of a plan.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its name, unique in the plan.
    pub id: String,
    /// The file that holds it.
    pub file: String,
    /// A word for what kind of task it is.
    pub task_type: Option<String>,
    /// What it is about.
    pub description: Option<String>,
    /// What `{{scenario.KEY}}` stands for.
    pub variables: BTreeMap<String, String>,
    /// The tools that turns may call; all without.
    pub allowed_tools: Option<Vec<String>>,
    /// How often it is run.
    pub repetitions: u32,
    /// What happens.
    pub turns: Vec<Spanned<Turn>>,
    /// What must hold at the end.
    pub gates: Vec<Spanned<Gate>>,
}

impl Scenario {
    /// A place in its file, as `FILE:LINE:COLUMN`.
    pub fn place(&self, at: Location) -> String {
        format!("{}:{}:{}", self.file, at.line(), at.column())
    }
}

/// What is read, before it is checked as a whole.
#[derive(Default)]
struct Reading {
    arena: Option<(PathBuf, Source, ArenaSpec)>,
    name: Option<String>,
    files: Vec<String>,
    scenarios: Vec<Read>,
}

/// One scenario as it was read.
struct Read {
    path: PathBuf,
    at: Location,
    name: Option<String>,
    spec: ScenarioSpec,
}

impl Plan {
    /// Reads an arena's file and scenarios' files, and checks all of it but what only sources know; that is
    /// [`Plan::check`].
    ///
    /// # Errors
    /// `args_invalid` and `too_large`, with file, line and column; `template_missing_key`.
    pub fn load(paths: &[PathBuf]) -> Result<Self> {
        let mut reading = Reading::default();
        for path in paths {
            reading.file(path)?;
        }
        reading.inner()?;
        reading.plan()
    }

    /// Checks the servers against the sources that there are, and every template against every scenario. Opens nothing.
    ///
    /// # Errors
    /// `unknown_source`, `args_invalid`, `template_missing_key`.
    pub fn check(&self, registry: &Registry) -> Result<()> {
        let entries = self.staged(registry)?;
        Scopes::new(registry.clone(), entries)?;
        for (entry, scenario) in
            self.entries.iter().flat_map(|entry| self.scenarios.iter().map(move |one| (entry, one)))
        {
            for (path, key) in source_template::keys(&entry.source_args)? {
                if !scenario.variables.contains_key(&key) {
                    let message = format!(
                        "source_args.{path} uses {{{{scenario.{key}}}}}, and the scenario `{}` has no variable `{key}`",
                        scenario.id
                    );
                    let error = Error::new(ErrorCode::TemplateMissingKey, message).with_hint(format!(
                        "add `{key}` to the variables of the scenario in {}",
                        scenario.file
                    ));
                    return Err(entry.named(error));
                }
            }
        }
        Ok(())
    }

    /// The servers, with a mount for each skill where the source takes mounts.
    pub(crate) fn staged(&self, registry: &Registry) -> Result<Vec<Entry>> {
        let mut entries = self.entries.clone();
        skills::stage_all(&self.skills, &mut entries, registry)?;
        Ok(entries)
    }
}

impl Reading {
    fn file(&mut self, path: &Path) -> Result<()> {
        let source = Source::read(path)?;
        self.files.push(source.name.clone());
        match source.kind()?.as_str() {
            "Arena" => {
                if let Some((_, first, _)) = &self.arena {
                    let message = format!("`{}` and `{}` are both arenas", first.name, source.name);
                    return Err(Error::args_invalid(message)
                        .with_hint("a run has one arena: run them one after the other"));
                }
                let file: ArenaFile = source.parse()?;
                version(&source, file.api_version.as_ref())?;
                self.name = file.metadata.map(|metadata| metadata.name);
                self.arena = Some((path.to_owned(), source, file.spec));
                Ok(())
            }
            "Scenario" => self.scenario(path, &source),
            other => {
                let shown: String = other.escape_debug().take(64).collect();
                Err(source.error(None, &format!("`{shown}` is no kind of file: it is `Arena` or `Scenario`")))
            }
        }
    }

    fn scenario(&mut self, path: &Path, source: &Source) -> Result<()> {
        let file: ScenarioFile = source.parse()?;
        version(source, file.api_version.as_ref())?;
        let name = file.metadata.map(|metadata| metadata.name);
        let Spanned { value: spec, referenced: at, .. } = file.spec;
        check_scenario(source, &spec)?;
        self.scenarios.push(Read { path: path.to_owned(), at, name, spec });
        Ok(())
    }

    /// The scenarios that the arena names, before those that were named apart.
    fn inner(&mut self) -> Result<()> {
        let Some((path, source, mut spec)) = self.arena.take() else { return Ok(()) };
        let apart = std::mem::take(&mut self.scenarios);
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        for Spanned { value: item, referenced: at, .. } in std::mem::take(&mut spec.scenarios) {
            if self.scenarios.len() >= MAX_SCENARIOS {
                return Err(
                    source.error(Some(at), &format!("an arena has at most {MAX_SCENARIOS} scenarios"))
                );
            }
            match item {
                ScenarioItem { file: Some(file), spec: None } => {
                    let path = folder.join(&file);
                    let inner = Source::read(&path).map_err(|error| source.placed(at, &error))?;
                    if inner.kind()? != "Scenario" {
                        return Err(inner.error(None, "this is no scenario: its `kind` must be `Scenario`"));
                    }
                    self.scenario(&path, &inner)?;
                }
                ScenarioItem { file: None, spec: Some(spec) } => {
                    check_scenario(&source, &spec)?;
                    self.scenarios.push(Read { path: path.clone(), at, name: None, spec });
                }
                _ => return Err(source.error(Some(at), "a scenario has either `file` or `spec`")),
            }
        }
        self.scenarios.extend(apart);
        self.arena = Some((path, source, spec));
        Ok(())
    }

    fn plan(self) -> Result<Plan> {
        let Some((path, source, spec)) = self.arena else {
            return Err(Error::args_invalid("none of the files is an arena").with_hint(
                "name a file of kind Arena, which lists the servers whose tools the scenarios use",
            ));
        };
        if self.scenarios.is_empty() {
            return Err(source
                .error(None, "there are no scenarios")
                .with_hint("list them under `spec.scenarios`"));
        }
        let stem = || path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        let name = self.name.unwrap_or_else(stem).chars().take(MAX_ID).collect();
        let defaults = &spec.defaults;
        let entries = entries(&source, &spec.mcp_servers)?;
        let skills = folders(&source, &path, &spec.skills)?;
        if let Some(timeouts) = &defaults.timeouts {
            check_timeouts(&source, timeouts)?;
        }
        if let Some(model) = &defaults.model {
            check_model(&source, model)?;
        }
        let repetitions = repetitions(&source, defaults.repetitions.as_ref())?.unwrap_or(1);
        let mut scenarios: Vec<Scenario> = Vec::with_capacity(self.scenarios.len());
        for read in self.scenarios {
            let at = read.at;
            let scenario = scenario(read, defaults.allowed_tools.as_ref(), repetitions)?;
            if scenarios.iter().any(|other| other.id == scenario.id) {
                let place = scenario.place(at);
                let message = format!("{place}: there are two scenarios of the name `{}`", scenario.id);
                return Err(Error::args_invalid(message).with_hint("give each an `id` of its own"));
            }
            let unanswered = scenario.turns.iter().find(|turn| turn.value.tool_calls.is_none());
            if let Some(turn) = unanswered.filter(|_| defaults.model.is_none()) {
                let place = scenario.place(turn.referenced);
                let message = format!("{place}: a turn has no `tool_calls`, and there is no model");
                return Err(Error::args_invalid(message)
                    .with_hint("script the turn, or set `spec.defaults.model` in the arena"));
            }
            scenarios.push(scenario);
        }
        let timeouts = defaults.timeouts.clone().map(|timeouts| timeouts.value).unwrap_or_default();
        let model = spec.defaults.model.map(|model| model.value);
        Ok(Plan { name, files: self.files, entries, skills, scenarios, model, timeouts })
    }
}

fn version(source: &Source, version: Option<&Spanned<String>>) -> Result<()> {
    match version {
        Some(version) if !VERSIONS.contains(&version.value.as_str()) => {
            let message = format!("this version is not known: `apiVersion` is `{}`", VERSIONS.join("` or `"));
            Err(source.error(Some(version.referenced), &message))
        }
        _ => Ok(()),
    }
}

fn entries(source: &Source, servers: &[Spanned<Server>]) -> Result<Vec<Entry>> {
    let mut entries: Vec<Entry> = Vec::with_capacity(servers.len());
    for Spanned { value: server, referenced: at, .. } in servers {
        if entries.len() >= MAX_SERVERS {
            return Err(source.error(Some(*at), &format!("an arena has at most {MAX_SERVERS} servers")));
        }
        let mut entry = entry(server).map_err(|error| source.placed(*at, &error))?;
        entry.place = Some(source.place(*at));
        if entries.iter().any(|other| other.name == entry.name) {
            return Err(
                source.error(Some(*at), &format!("there are two servers of the name `{}`", entry.name))
            );
        }
        entries.push(entry);
    }
    Ok(entries)
}

fn entry(server: &Server) -> Result<Entry> {
    let server = server.clone();
    let scope = match server.scope.as_deref() {
        None => None,
        Some("run") => Some(Scope::Run),
        Some("scenario") => Some(Scope::Scenario),
        Some("session") => Some(Scope::Session),
        Some(other) => {
            let shown: String = other.escape_debug().take(64).collect();
            return Err(Error::args_invalid(format!("`{shown}` is no scope"))
                .with_hint("the scopes are run, scenario and session"));
        }
    };
    let entry = Entry {
        name: server.name,
        source: server.source,
        scope,
        source_args: server.source_args,
        url: server.url,
        headers: server.headers,
        command: server.command,
        args: server.args,
        env: server.env,
        place: None,
    };
    entry.transport()?;
    Ok(entry)
}

/// The folders, absolute, named as their last part.
fn folders(source: &Source, file: &Path, folders: &[Spanned<String>]) -> Result<Vec<(String, PathBuf)>> {
    let mut skills: Vec<(String, PathBuf)> = Vec::with_capacity(folders.len());
    for Spanned { value: folder, referenced: at, .. } in folders {
        if skills.len() >= MAX_SERVERS {
            return Err(source.error(Some(*at), &format!("an arena has at most {MAX_SERVERS} skills")));
        }
        let path = file.parent().unwrap_or(Path::new("")).join(folder);
        let Some(path) = path.canonicalize().ok().filter(|path| path.join("SKILL.md").is_file()) else {
            return Err(source.error(Some(*at), "this is no folder of a skill: it must hold a `SKILL.md`"));
        };
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        if skills.iter().any(|(other, _)| *other == name) {
            return Err(source.error(Some(*at), &format!("there are two skills of the name `{name}`")));
        }
        skills.push((name, path));
    }
    Ok(skills)
}

fn check_timeouts(source: &Source, timeouts: &Spanned<Timeouts>) -> Result<()> {
    let Timeouts { open_seconds, call_seconds, repetition_seconds } = timeouts.value;
    for (name, seconds) in [
        ("open_seconds", open_seconds),
        ("call_seconds", call_seconds),
        ("repetition_seconds", repetition_seconds),
    ] {
        if !(1..=MAX_SECONDS).contains(&seconds) {
            let message = format!("`{name}` is {seconds}: it must be 1 to {MAX_SECONDS}");
            return Err(source.error(Some(timeouts.referenced), &message));
        }
    }
    Ok(())
}

fn check_model(source: &Source, model: &Spanned<ModelSpec>) -> Result<()> {
    let at = model.referenced;
    let ModelSpec { url, name, max_iterations, budget, .. } = &model.value;
    Endpoint::new(url, Api::OpenAi, name).map_err(|error| source.placed(at, &error))?;
    for (name, value, most) in [
        ("max_iterations", u64::from(*max_iterations), 200),
        ("budget.calls", u64::from(budget.calls), 10_000),
        ("budget.tokens", budget.tokens, u64::MAX),
        ("budget.answer_tokens", u64::from(budget.answer_tokens), 1_000_000),
        ("budget.call_seconds", budget.call_seconds, 3_600),
    ] {
        if !(1..=most).contains(&value) {
            return Err(source.error(Some(at), &format!("`{name}` is {value}: it must be 1 to {most}")));
        }
    }
    Ok(())
}

fn repetitions(source: &Source, given: Option<&Spanned<u32>>) -> Result<Option<u32>> {
    match given {
        None => Ok(None),
        Some(given) if (1..=MAX_REPETITIONS).contains(&given.value) => Ok(Some(given.value)),
        Some(given) => {
            let message = format!("`repetitions` is {}: it must be 1 to {MAX_REPETITIONS}", given.value);
            Err(source.error(Some(given.referenced), &message))
        }
    }
}

/// Checks what has a place inside a scenario.
fn check_scenario(source: &Source, spec: &ScenarioSpec) -> Result<()> {
    repetitions(source, spec.repetitions.as_ref())?;
    if spec.turns.is_empty() && spec.conversation_assertions.is_empty() {
        return Err(source.error(None, "a scenario has neither turns nor gates"));
    }
    for name in spec.variables.keys() {
        if !template::is_key(name) {
            let shown: String = name.escape_debug().take(64).collect();
            let message =
                format!("`{shown}` is no name of a variable: use letters, digits, `_`, `-` and `.`");
            return Err(source.error(None, &message));
        }
    }
    // What earlier calls keep can be named by later ones.
    let mut names: Vec<&str> = spec.variables.keys().map(String::as_str).collect();
    for (number, turn) in spec.turns.iter().enumerate() {
        let calls = turn.value.tool_calls.as_deref();
        if number >= MAX_STEPS || calls.is_some_and(|calls| calls.len() > MAX_STEPS) {
            let message = format!("there are at most {MAX_STEPS} turns, and {MAX_STEPS} calls in one");
            return Err(source.error(Some(turn.referenced), &message));
        }
        if turn.value.content.is_none() && calls.is_none_or(<[_]>::is_empty) {
            return Err(source.error(Some(turn.referenced), "a turn has neither `content` nor `tool_calls`"));
        }
        let content = turn.value.content.as_deref().unwrap_or_default();
        template::check_text(content, &names).map_err(|error| source.placed(turn.referenced, &error))?;
        for Spanned { value: call, referenced: at, .. } in calls.unwrap_or_default() {
            check_call(call, &mut names).map_err(|error| source.placed(*at, &error))?;
        }
    }
    if spec.conversation_assertions.len() > MAX_STEPS {
        return Err(source.error(None, &format!("a scenario has at most {MAX_STEPS} gates")));
    }
    for Spanned { value: gate, referenced: at, .. } in &spec.conversation_assertions {
        check_gate(gate, &names).map_err(|error| source.placed(*at, &error))?;
    }
    Ok(())
}

fn check_call<'a>(call: &'a ToolCall, names: &mut Vec<&'a str>) -> Result<()> {
    template::check(&call.arguments, names)?;
    let both = call.expect.error.is_some()
        && (call.expect.is_error || call.expect.text.is_some() || !call.expect.structured.is_empty());
    if both {
        return Err(Error::args_invalid(
            "a call that must fail with `error` has no answer to expect anything of",
        ));
    }
    match (&call.save_as, &call.save_from) {
        (Some(name), _) if !template::is_key(name) => Err(Error::args_invalid(
            "`save_as` is no name of a variable: use letters, digits, `_`, `-` and `.`",
        )),
        (Some(name), _) => {
            names.push(name);
            Ok(())
        }
        (None, Some(_)) => Err(Error::args_invalid("`save_from` goes with `save_as`")),
        (None, None) => Ok(()),
    }
}

fn check_gate(gate: &Gate, names: &[&str]) -> Result<()> {
    match gate {
        Gate::ToolExec(gate) => {
            template::check(&gate.args, names)?;
            if !(1..=MAX_SECONDS).contains(&gate.timeout_seconds) {
                let message =
                    format!("`timeout_seconds` is {}: it must be 1 to {MAX_SECONDS}", gate.timeout_seconds);
                return Err(Error::args_invalid(message));
            }
            Ok(())
        }
        Gate::ToolsCalled(gate) if gate.tools.is_empty() => {
            Err(Error::args_invalid("`tools` is empty: name the tools that must have been called"))
        }
        Gate::ToolsCalled(_) | Gate::OutputContains(_) => Ok(()),
    }
}

fn scenario(read: Read, allowed: Option<&Vec<String>>, repetitions: u32) -> Result<Scenario> {
    let Read { path, at, name, spec } = read;
    let file = path.display().to_string();
    let Some(id) = spec.id.or(name).filter(|id| is_id(id)) else {
        let message = format!(
            "{file}:{}:{}: a scenario needs an `id` of 1 to {MAX_ID} characters",
            at.line(),
            at.column()
        );
        return Err(Error::args_invalid(message).with_hint("set `spec.id` or `metadata.name`"));
    };
    Ok(Scenario {
        id,
        file,
        task_type: spec.task_type,
        description: spec.description,
        variables: spec.variables,
        allowed_tools: spec.allowed_tools.or_else(|| allowed.cloned()),
        repetitions: spec.repetitions.map_or(repetitions, |given| given.value),
        turns: spec.turns,
        gates: spec.conversation_assertions,
    })
}

fn is_id(id: &str) -> bool {
    let long = id.chars().count();
    (1..=MAX_ID).contains(&long) && !id.chars().any(char::is_control)
}
