//! `sandbox_create`: a sandbox that lasts.

mod ignored;

use std::time::Duration;

use dormouse_core::grants::set_variable;
use dormouse_core::sandbox::{Durability, Name, ProviderName, SandboxSpec, SessionKey, WarmPool};
use dormouse_core::sandboxes::{Asked, Rules};
use dormouse_core::{Error, ErrorCode, Grants, Limits, Result, Sandboxes};

use super::Verb;
use super::clone::{self, Repository};
use super::shown::SandboxShown;
use crate::call::{Answer, Caller};
use crate::network;
use crate::services::Services;
use crate::skills::{self, SkillShown};
use crate::spec::{
    CHANGES, Flat, Given, Inline, Order, Role, Row, Scalar, answer, arguments, choice, flag, integer, limit,
    text, texts, words,
};

/// Bytes of a name or key that are read before it is judged.
const MAX_WORD: usize = 4 << 10;
/// Thousandths of the one core that a sandbox without a container computes on at most.
const ONE_CORE: u32 = 1_000;

words! {
    /// What of a sandbox lasts.
    pub(crate) enum Persistence {
        /// Variables and files.
        Session = "session",
        /// Only files.
        Files = "files",
    }
}

words! {
    /// Who is to run it.
    pub(crate) enum ProviderWord {
        /// Whoever the image asks for.
        Auto = "auto",
        /// WebAssembly.
        Wasm = "wasm",
        /// A container.
        Docker = "docker",
        /// A pod.
        Kubernetes = "kubernetes",
    }
}

words! {
    /// Whether a container that runs already is taken.
    pub(crate) enum Pool {
        /// If there is one.
        Prefer = "prefer",
        /// Only such a one.
        Require = "require",
        /// Never.
        None = "none",
    }
}

impl From<Pool> for WarmPool {
    fn from(word: Pool) -> Self {
        match word {
            Pool::Prefer => Self::Prefer,
            Pool::Require => Self::Require,
            Pool::None => Self::None,
        }
    }
}

words! {
    /// When a call is saved.
    pub(crate) enum DurabilityWord {
        /// A moment after its answer.
        Delayed = "delayed",
        /// Before its answer.
        Call = "call",
    }
}

impl From<DurabilityWord> for Durability {
    fn from(word: DurabilityWord) -> Self {
        match word {
            DurabilityWord::Delayed => Self::Delayed,
            DurabilityWord::Call => Self::Call,
        }
    }
}

arguments! {
    /// What `sandbox_create` is asked, within the operator's rules.
    pub(crate) struct Create (rules: &Rules, containers: bool) {
        name: Given<Option<Name>> = text::<Name>(
            MAX_WORD,
            "Its name, at most 64 characters of any script without slashes; unique among yours. Default: a generated \
                name.",
        ).role(Role::Sandbox).optional().given(),
        session_key: Option<SessionKey> = text::<SessionKey>(
            MAX_WORD,
            "A key of your own, at most 128 characters: the same key gives the same sandbox.",
        ).role(Role::SessionKey).optional(),
        persistence: Option<Persistence> = choice::<Persistence>(
            "`session` (default; not for containers): variables and files are kept; in a container only Python's \
                variables, as far as they can be pickled. `files`: only files are kept; variables are lost when the \
                sandbox is suspended.",
        ).optional(),
        provider: Given<ProviderWord> = choice::<ProviderWord>(
            "`wasm`: starts in milliseconds, keeps variables. `docker`, `kubernetes`: a container with a full operating system, \
             where the operator allows it. `auto` (default): a container when an image of one is given.",
        ).given(),
        image: Option<String> = text::<String>(
            MAX_WORD,
            "The image to start from; sandbox_capabilities lists the allowed ones. A container image makes the \
                sandbox a container (default: the first one); any other image provides files and variables.",
        ).optional(),
        fallback: bool = flag(
            "If a container was requested and none is available, create the sandbox on wasm; its answers then say so \
                in `fallback_from`. Default false: the call is an error.",
        ),
        memory_bytes: Option<u64> = memory_row(rules, containers),
        cpu_millis: Given<u32> = number(
            (10, rules.ceiling.cpu_millis.into()),
            rules.defaults.cpu_millis.into(),
            "Processor time in thousandths of a core; without a container at most 1000",
        ),
        processes: Given<u32> = number(
            (8, rules.ceiling.processes.into()),
            rules.defaults.processes.into(),
            "Processes and threads in a container; without one, concurrent command lines and programs",
        ),
        warm_pool: Given<Pool> = choice::<Pool>(
            "Whether to take a warm container, which is already running: `prefer` (default), `require` (`busy` when there is \
             none; only for containers) or `none`.",
        ).given(),
        disk_bytes: Given<u64> =
            number((1 << 20, rules.ceiling.disk), rules.defaults.disk, "Bytes of all its files"),
        files: Given<u32> = number(
            (100, rules.ceiling.files.into()),
            rules.defaults.files.into(),
            "Files, folders and links that it may have",
        ),
        idle_timeout_ms: Given<u64> = number(
            (1_000, milliseconds(rules.ceiling.idle)),
            milliseconds(rules.defaults.idle),
            "Milliseconds without calls after which it is stopped; a call wakes it",
        ),
        retention_ms: Given<u64> = number(
            (60_000, milliseconds(rules.ceiling.retention)),
            milliseconds(rules.defaults.retention),
            "Milliseconds after its stop when it is destroyed",
        ),
        durability: Given<DurabilityWord> = choice::<DurabilityWord>(
            "`delayed` (default): what a call did is saved about a second after its answer. `call`: before it, which takes a few ms.",
        ).given(),
        env: Given<Vec<String>> = texts(
            256,
            64 << 10,
            "Environment variables as `NAME=value`; of one name the last counts. Default none.",
        ).given(),
        network: Given<Option<String>> = text::<String>(
            MAX_WORD,
            "The network that its programs may reach: `none` (default), or a name that sandbox_capabilities lists.",
        ).optional().given(),
        network_allow: Given<Vec<String>> = texts(
            256,
            64 << 10,
            "What of that network is wanted, as `GET,POST https://api.example.com/v1/**`; methods and path can be left out. Default: \
             all of it.",
        ).given(),
        repo: Option<String> = text::<String>(
            clone::MAX,
            "A git repository to clone into `/workspace`: an https address that the operator allows, or a folder of the \
             sandbox. When that fails there is no sandbox.",
        ).optional(),
        branch: Option<String> =
            text::<String>(clone::MAX, "The branch to clone. Default: the repository's own.").optional(),
        allow_writes: Given<bool> = flag(
            "Requests write access to folders of the host that are mounted for writing. Default false.",
        ).given(),
    }
}

/// A limit within the operator's rules, and whether the caller gave it.
fn number<N: Scalar<Default = u64>>(bounds: (u64, u64), default: u64, what: &str) -> Row<Given<N>> {
    limit::<N>(bounds, default, what).given()
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The row of memory: without a value it is what the provider usually has.
fn memory_row(rules: &Rules, containers: bool) -> Row<Option<u64>> {
    let ceiling = &rules.ceiling;
    let text = format!(
        "Memory of each interpreter in bytes. Default {}, at most {}",
        rules.usual_memory(ProviderName::Wasm),
        ceiling.memory
    );
    let (most, text) = match containers {
        true => (
            ceiling.memory.max(rules.container_memory),
            format!("{text}; of a container {} in all.", rules.container_memory),
        ),
        false => (ceiling.memory, format!("{text}.")),
    };
    integer::<u64>((Limits::MIN_MEMORY.min(ceiling.memory), most), text).optional()
}

answer! {
    /// The sandbox that was made, or that the session key had.
    pub(crate) struct Created {
        sandbox: Flat<SandboxShown> = Inline,
        created: bool =
            "False when the session key had a sandbox already, which is the one that is shown.",
        ignored: Option<Vec<&'static str>> = ignored::schema(),
        skills: Vec<SkillShown> = skills::EVERY,
    }
}

pub(crate) fn create(sandboxes: &Sandboxes) -> Verb<Create, Created> {
    Verb {
        name: "sandbox_create",
        title: "Create a sandbox",
        description: "Creates a persistent sandbox: it keeps variables, imported modules and files from call to call, \
            until it is destroyed or expires. Use it when work takes several steps; sandbox_eval without a \
            sandbox is enough for one. Its files begin in `/workspace`. It uses no memory while nobody calls it: it \
            is suspended and woken automatically. The same `session_key` always gives the same sandbox.",
        arguments: Create::table(sandboxes.rules(), container(sandboxes).is_some()),
        annotations: CHANGES,
        order: Order::Makes,
        run: |services, caller, asked| Box::pin(run(services, caller, asked)),
    }
}

async fn run(services: &Services, caller: &Caller, asked: Create) -> Result<Answer<Created>> {
    let sandboxes = &services.sandboxes;
    let repository = repository(&asked)?;
    if asked.allow_writes.value && !sandboxes.policy().allow_writes {
        let error = Error::new(ErrorCode::WriteDenied, "writes are not allowed here");
        return Err(error.with_hint("leave `allow_writes` out; the sandbox's own files are always writable"));
    }
    let mut spec = services.spec(asked.allow_writes.value);
    let usual = container(sandboxes).unwrap_or(ProviderName::Docker);
    let wants_provider = place(&mut spec, &asked, (sandboxes.rules(), usual));
    if spec.provider == ProviderName::Wasm && asked.cpu_millis.given && spec.cpu_millis > ONE_CORE {
        return Err(more_than_a_core(spec.cpu_millis, container(sandboxes)));
    }
    spec.disk = asked.disk_bytes.value;
    spec.idle = Duration::from_millis(asked.idle_timeout_ms.value);
    spec.retention = Duration::from_millis(asked.retention_ms.value);
    spec.keeps_memory = asked.persistence != Some(Persistence::Files);
    spec.pickles = asked.persistence == Some(Persistence::Session);
    spec.durability = asked.durability.value.into();
    for pair in &asked.env.value {
        set_variable(&mut spec.environment, variable(pair)?);
    }
    spec.network = network::asked(asked.network.value.as_deref(), &asked.network_allow)?;
    Grants { environment: spec.environment.clone(), ..Grants::default() }.check()?;
    let begins = repository.map(|repository| repository.beginning(services, caller)).transpose()?;
    let wanted = Asked {
        name: asked.name.value.clone(),
        session_key: asked.session_key.clone(),
        spec: Some(spec.clone()),
        wants_provider,
    };
    let (view, created) = sandboxes.create_with(&caller.owner, wanted, begins).await?;
    let ignored = if created { Vec::new() } else { ignored::options(&asked, &spec, &view.sandbox) };
    let answer = Created {
        sandbox: Flat(SandboxShown::from(&view)),
        created,
        ignored: Some(ignored).filter(|ignored| !ignored.is_empty()),
        skills: services.skills.shown_of(&view.effective.spec.mounts),
    };
    Ok(answer.into())
}

/// Who is to run it, and what only that provider has. True: a container is what the caller wants, and nothing in its place.
fn place(spec: &mut SandboxSpec, asked: &Create, (rules, usual): (&Rules, ProviderName)) -> bool {
    let (image, provider) = (&asked.image, asked.provider.value);
    let named = matches!(provider, ProviderWord::Docker | ProviderWord::Kubernetes);
    let wants = named || (image.is_some() && provider != ProviderWord::Wasm);
    spec.image = image.clone().or(spec.image.take());
    spec.provider = match provider {
        ProviderWord::Wasm => ProviderName::Wasm,
        ProviderWord::Docker => ProviderName::Docker,
        ProviderWord::Kubernetes => ProviderName::Kubernetes,
        ProviderWord::Auto => match &spec.image {
            Some(image) if rules.images.contains_key(image) => ProviderName::Wasm,
            Some(_) if spec.provider.is_container() => spec.provider,
            Some(_) => usual,
            None => spec.provider,
        },
    };
    spec.memory = asked.memory_bytes.unwrap_or_else(|| rules.usual_memory(spec.provider));
    spec.cpu_millis = asked.cpu_millis.value;
    spec.processes = asked.processes.value;
    spec.files = asked.files.value;
    spec.warm_pool = asked.warm_pool.value.into();
    wants && !asked.fallback
}

fn repository(asked: &Create) -> Result<Option<Repository>> {
    match (&asked.repo, &asked.branch) {
        (Some(address), branch) => Ok(Some(Repository { address: address.clone(), branch: branch.clone() })),
        (None, Some(_)) => Err(Error::args_invalid("the field `branch` needs `repo`")
            .with_hint("give the address of the repository, or leave `branch` out")),
        (None, None) => Ok(None),
    }
}

/// The provider that gives containers here.
fn container(sandboxes: &Sandboxes) -> Option<ProviderName> {
    [ProviderName::Docker, ProviderName::Kubernetes].into_iter().find(|name| sandboxes.has_provider(*name))
}

fn more_than_a_core(asked: u32, container: Option<ProviderName>) -> Error {
    let container = container
        .map(|name| format!(", or ask for a container: `provider`: `{}`", name.as_str()))
        .unwrap_or_default();
    Error::args_invalid(format!(
        "the field `cpu_millis` is {asked}, outside 10 to {ONE_CORE}: without a container a sandbox computes on one core"
    ))
    .with_hint(format!("give `cpu_millis` a whole number from 10 to {ONE_CORE}{container}"))
}

fn variable(pair: &str) -> Result<(String, String)> {
    match pair.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.into(), value.into())),
        _ => {
            let shown: String = pair.escape_debug().take(48).collect();
            Err(Error::args_invalid(format!("the field `env` holds `{shown}`"))
                .with_hint("write each variable as `NAME=value`"))
        }
    }
}
