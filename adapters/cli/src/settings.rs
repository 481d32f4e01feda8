//! The checked meaning of the command line: every option is read, every default decided, in this one place.

pub(crate) mod connect;
pub(crate) mod docker;
pub(crate) mod exceptions;
pub(crate) mod git;
pub(crate) mod given;
mod grants;
mod image;
mod keep;
pub(crate) mod kubernetes;
mod model;
pub(crate) mod network;
pub(crate) mod packages;
pub(crate) mod quota;
mod serve;
pub(crate) mod source;
pub(crate) mod units;
pub(crate) mod wall;
mod working;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dormouse::wasm::Allocation;
use dormouse::{
    Bounds, Builder, CommandRequest, Dormouse, Error, EvalRequest, Grants, GuestPath, Language, Limits,
    Model, ModelBudget, Mount, Policy, Result, RunContext,
};

use dormouse::sandbox::SessionKey;
use dormouse::sandboxes::{MountRule, Rules};
use dormouse_git::Remotes;
use dormouse_tools::{HostFolders, Profile, Skills, Toolset};

pub(crate) use exceptions::Exceptions;
pub(crate) use given::{Checked, Given, checked, given};
pub(crate) use serve::{Serve, serve};

use self::connect::Connected;
use self::wall::{Confined, Further};
use crate::args::{
    BoundArgs, ConnectArgs, DockerArgs, EvalArgs, LimitArgs, McpArgs, PackageArgs, PlaceArgs, RunArgs,
    SkillArgs, StateArgs,
};
use crate::wall::Confine;

/// What `eval` shall do.
pub(crate) struct Eval {
    /// The snippet with its limits, grants and bounds.
    pub(crate) request: EvalRequest,
    /// What this user allows this run.
    pub(crate) policy: Policy,
    /// Whether every guard is lifted, and whether that has been confirmed by an option.
    pub(crate) unguarded: Option<Confirmed>,
    /// What is recorded of it.
    pub(crate) exceptions: Exceptions,
    /// Whether a null value is shown even where nobody looks.
    pub(crate) show_null: bool,
    /// The servers whose tools it can call.
    pub(crate) connect: ConnectArgs,
    /// What it may reach.
    pub(crate) network: Option<network::Meant>,
}

/// Whether lifting the guards has been confirmed already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Confirmed(pub(crate) bool);

/// What `run` shall do.
pub(crate) struct Run {
    /// The program with its limits and grants.
    pub(crate) request: CommandRequest,
    /// What is recorded of it.
    pub(crate) exceptions: Exceptions,
    /// What this user allows this run.
    pub(crate) policy: Policy,
    /// What it may reach.
    pub(crate) network: Option<network::Meant>,
}

/// What `mcp` shall do.
pub(crate) struct Mcp {
    /// What every run is granted.
    pub(crate) grants: Grants,
    /// Which folders of the host sandboxes see: those of the grants, unless somebody else looks at each.
    pub(crate) mounts: MountRule,
    /// What new sandboxes see of instructions and scripts; their mounts are among the grants.
    pub(crate) skills: Skills,
    /// The key of the one sandbox of some profiles, if it is not the usual one.
    pub(crate) session: Option<SessionKey>,
    /// The folder that the server was started in, where that says whose sandbox the one of those profiles is.
    pub(crate) started_in: Option<PathBuf>,
    /// Whose tools are offered.
    pub(crate) profiles: Vec<Profile>,
    /// What calls can ask for.
    pub(crate) policy: Policy,
    /// Unused instances kept ready for each language.
    pub(crate) ready: usize,
    /// Where sandboxes are kept, if they are.
    pub(crate) state: Option<PathBuf>,
    /// Where this installation's containers are told from others', if not where sandboxes are kept.
    pub(crate) installation: Option<PathBuf>,
    /// Which of the profiles' tools are offered.
    pub(crate) toolset: Toolset,
    /// What tools may read and write on the host.
    pub(crate) host: HostFolders,
    /// The language model that calls may use, if there is one, and what each may spend.
    pub(crate) model: (Option<Arc<dyn Model>>, ModelBudget),
    /// The servers whose tools programs can call.
    pub(crate) connected: Option<Connected>,
    /// What sandboxes may reach.
    pub(crate) network: Option<network::Meant>,
    /// Where packages come from.
    pub(crate) packages: PackageArgs,
    /// What reaches remote git repositories, if any is allowed.
    pub(crate) remotes: Option<Arc<Remotes>>,
    /// How many sandboxes there may be, how much of them is kept, and how long.
    pub(crate) rules: Rules,
    /// Containers.
    pub(crate) docker: DockerArgs,
    /// Folders of the host below which containers may be given folders.
    pub(crate) docker_roots: Vec<PathBuf>,
    /// What is recorded of it.
    pub(crate) exceptions: Exceptions,
    /// Whether and how the process confines itself, and who helps it then.
    pub(crate) confined: Confined,
}

/// A runtime builder for this cache folder and these languages.
pub(crate) fn builder(place: &PlaceArgs) -> Result<Builder> {
    let mut builder = Dormouse::builder()?;
    if let Some(folder) = cache(place)? {
        builder = builder.cache(folder);
    }
    Ok(place.manifests.iter().fold(builder, |builder, file| builder.manifest(file)))
}

/// A runtime that keeps sandboxes, for one command.
pub(crate) fn kept(place: &PlaceArgs, state: &StateArgs) -> Result<Dormouse> {
    let Given { grants, policy, .. } = given(&state.given)?;
    let folder = state_folder(state.state_dir.as_deref())?;
    // Whoever gives a command is the operator: all of its sandboxes have the network that the command names.
    let cluster = kubernetes::settings(&state.docker)?
        .map(|cluster| dormouse_kubernetes::Settings { gate: state.network.is_named(), ..cluster });
    let rules = quota::rules(docker::rules(&state.docker, cluster.as_ref()), &state.quota)?;
    let rules = image::rules(rules, &state.image)?;
    let rules = given::rules(rules, &policy, given::offered(&grants));
    let dormouse = builder(place)?
        .policy(policy)
        .allocation(Allocation::OnDemand)
        .state(&folder)
        .rules(rules)
        .build()?;
    if let Some(remotes) = git::remotes(&state.git, None)? {
        dormouse.sandboxes()?.offer(remotes);
    }
    let roots: Vec<PathBuf> = grants.mounts.iter().map(|mount| mount.source.clone()).collect();
    docker::offer(&dormouse, &state.docker, &folder, &roots, None)?;
    kubernetes::offer(&dormouse, &folder, cluster)?;
    Ok(dormouse)
}

/// Where sandboxes are kept: as told, else the user's folder for data.
pub(crate) fn state_folder(told: Option<&Path>) -> Result<PathBuf> {
    if let Some(told) = told {
        return folder("--state-dir", told);
    }
    let folders = directories::BaseDirs::new().ok_or_else(|| {
        Error::args_invalid("there is no home folder").with_hint("name a folder with --state-dir")
    })?;
    Ok(folders.data_local_dir().join("dormouse"))
}

/// A duration as options are written.
pub(crate) fn duration(option: &str, text: &str) -> Result<std::time::Duration> {
    units::duration(option, text)
}

/// Settings of the WebAssembly provider alone, for commands that look after it.
pub(crate) fn provider(place: &PlaceArgs) -> Result<dormouse::wasm::Settings> {
    let mut settings = dormouse::wasm::Settings::new()?;
    if let Some(folder) = cache(place)? {
        settings.cache = folder;
    }
    settings.manifests.clone_from(&place.manifests);
    Ok(settings)
}

fn cache(place: &PlaceArgs) -> Result<Option<PathBuf>> {
    place.cache_dir.as_deref().map(|told| folder("--cache-dir", told)).transpose()
}

/// The folder that an option names, which need not be there yet.
fn folder(option: &str, told: &Path) -> Result<PathBuf> {
    let refuse = || {
        Error::args_invalid(format!("`{option}`: `{}` is not a folder", told.display()))
            .with_hint("name a folder; it is created if it does not exist")
    };
    let folder = std::path::absolute(told).map_err(|_| refuse())?;
    if folder.exists() && !folder.is_dir() { Err(refuse()) } else { Ok(folder) }
}

/// What the arguments of `eval` mean. Reads the source.
pub(crate) fn eval(mut arguments: EvalArgs) -> Result<Eval> {
    let words = arguments.code.take().into_iter().chain(std::mem::take(&mut arguments.arguments));
    let mut words: Vec<String> = words.collect();
    let asked = words.first().is_some_and(|word| word == "-");
    let from_input = arguments.file.is_none() && (asked || words.is_empty());
    if from_input && arguments.grants.stdin.as_deref() == Some(Path::new("-")) {
        return Err(Error::args_invalid("`--stdin -`: standard input holds the code already")
            .with_hint("name the code's file with --file"));
    }
    let language = language(&arguments)?;
    let unguarded = arguments.lift_guards.then_some(Confirmed(arguments.yes));
    let exceptions = exceptions::of_eval(&arguments);
    arguments.grants.writes |= unguarded.is_some();
    let usual = match unguarded {
        Some(_) => Limits { fuel: None, ..Limits::ceiling() },
        None => Limits::default(),
    };
    let limits = limits(&arguments.limits, &usual)?;
    let (grants, policy) = grants::grants(&arguments.grants)?;
    let exceptions = exceptions.in_folders(&grants);
    let code = match &arguments.file {
        Some(path) => source::file(path)?,
        None if from_input => source::standard_input(asked)?,
        None => words.remove(0),
    };
    if asked && arguments.file.is_none() {
        words.remove(0);
    }
    let name = name(arguments.name.as_deref(), arguments.file.as_deref());
    let bounds = bounds(&arguments.bounds);
    let allow_eval = !arguments.no_eval;
    let context = RunContext { limits, grants, bounds, ..RunContext::default() };
    let mut request = EvalRequest { name, allow_eval, context, ..EvalRequest::new(language, code) };
    request.context.grants.arguments = words;
    let network = network::read(&arguments.network, None)?;
    let (show_null, connect) = (arguments.show_null, arguments.connect);
    Ok(Eval { request, policy, unguarded, exceptions, show_null, connect, network })
}

/// What the arguments of `run` mean. Reads the program.
pub(crate) fn run(arguments: RunArgs) -> Result<Run> {
    let limits = limits(&arguments.limits, &Limits::default())?;
    let (mut grants, policy) = grants::grants(&arguments.grants)?;
    let exceptions = exceptions::of_run(&arguments).in_folders(&grants);
    let network = network::read(&arguments.network, None)?;
    grants.arguments = arguments.arguments;
    let name = arguments.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    // A program has its name, with and without arguments.
    grants.program = Some(name.clone());
    let wasm: Arc<[u8]> = source::bytes(&arguments.file, CommandRequest::MAX_WASM)?.into();
    let request = CommandRequest { limits, grants, ..CommandRequest::new(name, wasm) };
    Ok(Run { request, exceptions, policy, network })
}

/// What the arguments of `mcp` mean. A helper is started where names will have to be looked up.
pub(crate) fn mcp(arguments: &McpArgs) -> Result<Mcp> {
    Ok(working::in_folder(tools(arguments, Further::server())?))
}

/// The same for another command, with what it needs besides.
pub(crate) fn tools(arguments: &McpArgs, mut further: Further) -> Result<Mcp> {
    let connected = connect::read(&arguments.connect)?;
    if let Some(connected) = &connected {
        further.programs.extend(connected.programs());
        further.connects |= connected.is_remote();
    }
    let policy = given::policy(arguments)?;
    let capacity = &arguments.capacity;
    let writes = arguments.allow_writes;
    let grants = Grants {
        mounts: mounts(&arguments.mounts, writes)?,
        project: grants::project(arguments.project.as_deref(), arguments.bootstrap.as_deref(), writes)?,
        directory: arguments.cwd.as_deref().map(GuestPath::parse).transpose()?,
        ..Grants::default()
    };
    grants.check()?;
    let skills = skills(&arguments.skills)?;
    let grants = skills.granted(&grants)?;
    let session = arguments.session_key.as_deref().map(SessionKey::parse).transpose()?;
    let profiles = profiles(&arguments.profile)?;
    let state = match &arguments.state_dir {
        None if !profiles.iter().any(|profile| profile.needs_sandboxes()) => None,
        folder => Some(state_folder(folder.as_deref())?),
    };
    let network = network::read(&arguments.network, state.as_deref())?;
    if let Some(network) = &network {
        further.connects = true;
        further.files.extend(network.files());
        further.programs.extend(network.commands());
    }
    let mut host = HostFolders::default();
    for root in &arguments.roots {
        host = host.readable(root)?;
    }
    if let Some(folder) = &arguments.downloads {
        host = host.downloads(folder, quota::downloads(&arguments.quota)?)?;
    }
    let (toolset, ready) = (Toolset::parse(&arguments.tools)?, usize::from(arguments.ready));
    let cluster = kubernetes::settings(&arguments.docker)?;
    let numbers = docker::rules(&arguments.docker, cluster.as_ref());
    let confined = wall::confined(arguments, &grants, further, cluster)?;
    if let Some((secret, why)) = network.as_ref().and_then(network::Meant::beyond_the_wall)
        && confined.confine != Confine::Off
    {
        let told = format!("the secret `{secret}` {why} a confined server cannot do");
        return Err(Error::args_invalid(told)
            .with_hint("give it as a file, a variable or a key that is read once, or add --no-confine"));
    }
    let names = confined.resolver();
    let model = model::model(&arguments.model, names.as_ref())?;
    let packages = arguments.packages.clone();
    let remotes = git::remotes(&arguments.git, names.as_ref())?;
    let docker = arguments.docker.clone();
    let rules = quota::rules(numbers, &arguments.quota)?;
    let mut rules = image::rules(rules, &arguments.image)?;
    if let Some(most) = capacity.awake_max {
        rules.awake = usize::from(most);
    }
    if let Some(seconds) = capacity.closing {
        rules.closing = std::time::Duration::from_secs(seconds.into());
    }
    let docker_roots = grants.mounts.iter().map(|mount| mount.source.clone()).collect();
    Ok(Mcp {
        exceptions: exceptions::of_tools(arguments).in_folders(&grants),
        mounts: given::offered(&grants),
        grants,
        skills,
        session,
        started_in: None,
        profiles,
        policy,
        ready,
        state,
        installation: None,
        toolset,
        host,
        model,
        connected,
        network,
        packages,
        remotes,
        rules,
        docker,
        docker_roots,
        confined,
    })
}

/// The folders of `--mount`, each existing and with its real path, for what has `--allow-writes`.
pub(crate) fn mounts(texts: &[String], writes: bool) -> Result<Vec<Mount>> {
    grants::mounts(texts, writes, "--allow-writes")
}

/// The skills of `--skill` and `--skills`. Reads the beginning of each.
pub(crate) fn skills(arguments: &SkillArgs) -> Result<Skills> {
    let mut skills = Skills::default();
    arguments.skill.iter().try_for_each(|folder| skills.add(folder))?;
    arguments.skills.iter().try_for_each(|folder| skills.add_all(folder))?;
    Ok(skills)
}

/// The profiles that are named, with commas between them, each once.
fn profiles(names: &str) -> Result<Vec<Profile>> {
    let mut profiles = Vec::new();
    for name in names.split(',') {
        let profile = profile(name.trim())?;
        if !profiles.contains(&profile) {
            profiles.push(profile);
        }
    }
    Ok(profiles)
}

fn profile(name: &str) -> Result<Profile> {
    Profile::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, profile)| profile).ok_or_else(|| {
        let known = Profile::ALL.map(|(known, _)| known).join(", ");
        Error::args_invalid(format!("there is no profile `{}`", name.escape_debug()))
            .with_hint(format!("the profiles are {known}; several can be named with commas between them"))
    })
}

/// The language: as told, else that of the file, of the bootstrap file, of the project, in this order; else Python.
fn language(arguments: &EvalArgs) -> Result<Language> {
    if let Some(name) = &arguments.language {
        return Language::parse(name);
    }
    let grants = &arguments.grants;
    let file = arguments.file.as_deref().and_then(Language::of_file);
    let bootstrap = || grants.bootstrap.as_deref().and_then(|file| Language::of_file(Path::new(file)));
    let project = || grants.project.as_deref().and_then(Language::of_project);
    Ok(file.or_else(bootstrap).or_else(project).unwrap_or_else(Language::python))
}

/// The name that traces show: as told, else the file as written, else its last part when that is too long.
fn name(told: Option<&str>, file: Option<&Path>) -> String {
    if let Some(told) = told {
        return told.into();
    }
    let Some(file) = file else { return "<snippet>".into() };
    let whole = file.to_string_lossy();
    if whole.len() <= EvalRequest::MAX_NAME {
        return whole.into_owned();
    }
    file.file_name().unwrap_or_default().to_string_lossy().chars().take(60).collect()
}

/// The limits that were given, and those of `usual` for the others.
fn limits(arguments: &LimitArgs, usual: &Limits) -> Result<Limits> {
    let mut limits = Limits { fuel: arguments.fuel.or(usual.fuel), ..usual.clone() };
    if let Some(text) = &arguments.timeout {
        limits.wall = units::duration("--timeout", text)?;
    }
    if let Some(text) = &arguments.memory {
        limits.memory = units::size("--memory", text)?;
    }
    if let Some(text) = &arguments.output {
        limits.output = units::size("--output", text)?;
    }
    if let Some(text) = &arguments.disk {
        limits.disk = units::size("--disk", text)?;
    }
    limits.within(&Limits::ceiling())
}

fn bounds(arguments: &BoundArgs) -> Bounds {
    let usual = Bounds::default();
    Bounds {
        depth: arguments.depth.unwrap_or(usual.depth),
        items: arguments.items.unwrap_or(usual.items),
        offset: arguments.offset.unwrap_or(usual.offset),
        ..usual
    }
}

#[cfg(test)]
#[path = "settings/tests.rs"]
mod tests;
