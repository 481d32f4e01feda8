//! All files of one run, read and checked against each other. Nothing is opened here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dormouse_core::{Error, ErrorCode, Result};
use dormouse_sources::{Entry, Registry, Scope, Scopes, skills, template as source_template};
use serde_json::{Map, Value as Json};
use serde_saphyr::{Location, Spanned};

use super::arena::{ArenaFile, ArenaSpec, ModelSpec, ScenarioItem, Server, Timeouts};
use super::checks::{check_model, check_scenario, check_timeouts, repetitions};
use super::scenario::{Gate, ScenarioFile, ScenarioSpec, Turn};
use super::yaml::Source;

/// The versions of the form that are read.
const VERSIONS: [&str; 2] = ["dormouse/v1", "promptkit.altairalabs.ai/v1alpha1"];
/// Most scenarios of a run.
const MAX_SCENARIOS: usize = 1_000;
/// Most servers and skills.
const MAX_SERVERS: usize = 64;
/// Longest name of a scenario, in characters.
const MAX_ID: usize = 128;

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
    /// Its variables, as the templates of `source_args` are filled in from them.
    pub fn template_variables(&self) -> Map<String, Json> {
        self.variables.iter().map(|(key, value)| (key.clone(), value.as_str().into())).collect()
    }

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
            reading.file(path, Source::read(path)?)?;
        }
        reading.inner()?;
        reading.plan()
    }

    /// The same for texts, without the files that they name.
    ///
    /// # Errors
    /// As [`Plan::load`].
    pub(crate) fn of_texts(texts: &[&str]) -> Result<Self> {
        let mut reading = Reading::default();
        for (number, text) in texts.iter().enumerate() {
            let name = format!("{number}.yaml");
            reading.file(Path::new(&name), Source::new(name.clone(), (*text).to_owned())?)?;
        }
        if let Some((_, _, arena)) = &mut reading.arena {
            arena.skills.clear();
            arena.scenarios.retain(|item| item.value.file.is_none());
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
        Scopes::new(registry.clone(), entries.clone())?;
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
        // What the templates come to is known by now, so nothing of it has to wait until it is opened.
        for entry in &entries {
            for scenario in &self.scenarios {
                entry.check_filled(registry, &scenario.template_variables())?;
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
    fn file(&mut self, path: &Path, source: Source) -> Result<()> {
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
                Err(source
                    .error(None, &format!("`{shown}` is not a kind of file: write `Arena` or `Scenario`")))
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
                        return Err(
                            inner.error(None, "this is not a scenario: its `kind` must be `Scenario`")
                        );
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
                let message = format!("{place}: there are two scenarios with the name `{}`", scenario.id);
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
                source.error(Some(*at), &format!("there are two servers with the name `{}`", entry.name))
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
            return Err(Error::args_invalid(format!("`{shown}` is not a scope"))
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
            let shown: String = folder.escape_debug().take(200).collect();
            let message = format!("`{shown}` is not the folder of a skill: it must contain a `SKILL.md`");
            return Err(source.error(Some(*at), &message));
        };
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        if skills.iter().any(|(other, _)| *other == name) {
            return Err(source.error(Some(*at), &format!("there are two skills with the name `{name}`")));
        }
        skills.push((name, path));
    }
    Ok(skills)
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
