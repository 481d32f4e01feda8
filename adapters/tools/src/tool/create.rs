//! `sandbox_create`: a sandbox that lasts.

mod ignored;

use std::time::Duration;

use dormouse_core::grants::set_variable;
use dormouse_core::sandbox::{Durability, Name, ProviderName, SandboxSpec, SessionKey, SpecMount, WarmPool};
use dormouse_core::sandboxes::{Asked, Rules};
use dormouse_core::{Access, Error, ErrorCode, Grants, Limits, Result, Sandboxes};

use super::clone::{self, Repository};
use super::shown;
use super::verb::{Answer, CHANGES, Caller, Kept, Verb};
use crate::decode::Arguments;
use crate::field::{Absent, Field, Kind};
use crate::schema;
use crate::skills;

/// Bytes of a name or key that are read before it is judged.
const MAX_WORD: usize = 4 << 10;
/// Thousandths of the one core that a sandbox without a container computes on at most.
const ONE_CORE: u32 = 1_000;

pub(crate) fn create(sandboxes: &Sandboxes) -> Verb {
    Verb {
        name: "sandbox_create",
        title: "Create a sandbox",
        description: "Makes a sandbox that lasts: its variables, imported modules and files are there at the next call, \
            until it is destroyed or its time is over. Use it when work takes several steps; sandbox_eval without a \
            sandbox is enough for one. Its files begin in `/workspace`. It costs nothing while nobody calls it: it sleeps \
            and wakes by itself. With a `session_key` the same key always gives the same sandbox.",
        fields: fields(sandboxes.rules(), sandboxes.has_provider(ProviderName::Docker)),
        output: shown::sandbox_fields()
            .optional(
                "created",
                schema::flag(
                    "False when the session key had a sandbox already, which is the one that is shown.",
                ),
            )
            .optional("ignored", ignored::schema())
            .optional("skills", skills::schema()),
        annotations: CHANGES,
        run: |kept, arguments, caller| Box::pin(run(kept, arguments, caller)),
    }
}

fn fields(rules: &Rules, containers: bool) -> Vec<Field> {
    let (defaults, ceiling) = (&rules.defaults, &rules.ceiling);
    let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let number = |name, min: u64, default: u64, max: u64, what: &str| {
        let text = format!("{what}. Default {default}, from {min} to {max}.");
        Field::integer(name, (min.min(max), max), Absent::Default(default.clamp(min.min(max), max)), text)
    };
    let memory_text = format!(
        "Memory of each interpreter in bytes. Default {}, at most {}",
        rules.usual_memory(ProviderName::Wasm),
        ceiling.memory
    );
    let (most_memory, memory_text) = match containers {
        true => (
            ceiling.memory.max(rules.container_memory),
            format!("{memory_text}; of a container {} in all.", rules.container_memory),
        ),
        false => (ceiling.memory, format!("{memory_text}.")),
    };
    vec![
        Field::text(
            "name",
            MAX_WORD,
            Absent::None,
            "Its name, at most 64 characters of any script without slashes; unique among yours. Default: one is made up.",
        ),
        Field::text(
            "session_key",
            MAX_WORD,
            Absent::None,
            "A key of your own, at most 128 characters: the same key gives the same sandbox.",
        ),
        Field::new(
            "persistence",
            Kind::Choice { of: &["session", "files"], absent: Absent::None },
            "`session` (default): variables and files last; of a container it must be asked for, and is Python's, as far as they can be \
             pickled. `files`: only files, each call has a fresh interpreter.",
        ),
        Field::choice(
            "provider",
            &["auto", "wasm", "docker"],
            "`wasm`: starts in milliseconds, keeps variables. `docker`: a container with a full operating system, where the \
             operator allows it. `auto` (default): docker when an image of a container is given.",
        ),
        Field::text(
            "image",
            MAX_WORD,
            Absent::None,
            "What it begins with; sandbox_capabilities names the images that are allowed. One of a container makes it a container, whose \
             default is the first of them; any other brings files and variables.",
        ),
        Field::flag(
            "fallback",
            "Whether a sandbox for which a container was asked is made on wasm when none can be had, which its answers tell by \
             `fallback_from`. Default false: that is an error.",
        ),
        Field::integer(
            "memory_bytes",
            (Limits::MIN_MEMORY.min(ceiling.memory), most_memory),
            Absent::None,
            memory_text,
        ),
        number(
            "cpu_millis",
            10,
            defaults.cpu_millis.into(),
            ceiling.cpu_millis.into(),
            "Thousandths of a core that it computes on; without a container one core is the most that there is",
        ),
        number(
            "processes",
            8,
            defaults.processes.into(),
            ceiling.processes.into(),
            "Processes and threads of a container; without one, command lines and programs at one time",
        ),
        Field::choice(
            "warm_pool",
            &["prefer", "require", "none"],
            "Whether a container that is running already is taken: `prefer` (default), `require` (`busy` when there is \
             none; only with docker) or `none`.",
        ),
        number("disk_bytes", 1 << 20, defaults.disk, ceiling.disk, "Bytes of all its files"),
        number(
            "files",
            100,
            defaults.files.into(),
            ceiling.files.into(),
            "Files, folders and links that it may have",
        ),
        number(
            "idle_timeout_ms",
            1_000,
            ms(defaults.idle),
            ms(ceiling.idle),
            "Without calls for this many milliseconds it is stopped; a call wakes it",
        ),
        number(
            "retention_ms",
            60_000,
            ms(defaults.retention),
            ms(ceiling.retention),
            "Stopped for this many milliseconds it is destroyed",
        ),
        Field::choice(
            "durability",
            &["delayed", "call"],
            "`delayed` (default): what a call did is saved about a second after its answer. `call`: before it, which takes a few ms.",
        ),
        Field::new(
            "env",
            Kind::Texts { most: 256, bytes: 64 << 10 },
            "Environment variables as `NAME=value`; of one name the last counts. Default none.",
        ),
        Field::text(
            "repo",
            clone::MAX,
            Absent::None,
            "A git repository to clone into `/workspace`: an https address that the operator allows, or a folder of the \
             sandbox. When that fails there is no sandbox.",
        ),
        Field::text(
            "branch",
            clone::MAX,
            Absent::None,
            "The branch to clone. Default: the repository's own.",
        ),
        Field::flag(
            "allow_writes",
            "Asks for writes to folders of the host that are mounted for writing. Default false.",
        ),
    ]
}

/// What a sandbox is that nothing is asked of: the operator's numbers and folders.
pub(crate) fn spec(kept: &Kept, writes: bool) -> SandboxSpec {
    let access = |asked: Access| if writes { asked } else { Access::ReadOnly };
    let mounts = kept.granted.mounts.iter().map(|mount| SpecMount {
        source: mount.source.clone(),
        target: mount.target.clone(),
        access: access(mount.access),
    });
    let defaults = &kept.sandboxes.rules().defaults;
    SandboxSpec {
        mounts: defaults.mounts.iter().cloned().chain(mounts).collect(),
        environment: kept.granted.environment.clone(),
        ..defaults.clone()
    }
}

async fn run(kept: &Kept, mut arguments: Arguments, caller: &Caller) -> Result<Answer> {
    let name = arguments.take_text("name").map(|name| Name::parse(&name)).transpose()?;
    let session_key = arguments.take_text("session_key").map(|key| SessionKey::parse(&key)).transpose()?;
    let repository = repository(&mut arguments)?;
    let writes = arguments.flag("allow_writes");
    if writes && !kept.sandboxes.manager().policy().allow_writes {
        let error = Error::new(ErrorCode::WriteDenied, "writes are not allowed here");
        return Err(error.with_hint("leave `allow_writes` out; the sandbox's own files are always writable"));
    }
    let mut spec = spec(kept, writes);
    let wants_provider = place(&mut spec, &mut arguments, kept.sandboxes.rules());
    if spec.provider == ProviderName::Wasm && arguments.is_given("cpu_millis") && spec.cpu_millis > ONE_CORE {
        return Err(more_than_a_core(spec.cpu_millis, kept.sandboxes.has_provider(ProviderName::Docker)));
    }
    let time = |name: &str, default| arguments.integer(name).map_or(default, Duration::from_millis);
    spec.disk = arguments.integer("disk_bytes").unwrap_or(spec.disk);
    spec.idle = time("idle_timeout_ms", spec.idle);
    spec.retention = time("retention_ms", spec.retention);
    let persistence = arguments.take_text("persistence");
    spec.keeps_memory = persistence.as_deref() != Some("files");
    spec.pickles = persistence.as_deref() == Some("session");
    let durability = arguments.take_text("durability");
    spec.durability = durability.as_deref().and_then(Durability::parse).unwrap_or(spec.durability);
    for pair in arguments.take_texts("env") {
        set_variable(&mut spec.environment, variable(&pair)?);
    }
    Grants { environment: spec.environment.clone(), ..Grants::default() }.check()?;
    let begins = repository.map(|repository| repository.beginning(kept, caller)).transpose()?;
    let asked = Asked { name: name.clone(), session_key, spec: Some(spec.clone()), wants_provider };
    let (view, created) = kept.sandboxes.create_with(&caller.owner, asked, begins).await?;
    let mut answer = shown::sandbox(&view);
    answer["created"] = created.into();
    if !created {
        let ignored = ignored::options(&arguments, (name.as_ref(), &spec), &view.sandbox);
        if !ignored.is_empty() {
            answer["ignored"] = ignored.into();
        }
    }
    answer["skills"] = kept.skills.shown_of(&view.effective.spec.mounts).into();
    Ok(answer.into())
}

/// Who is to run it, and what only that provider has. True: a container is what the caller wants, and nothing in its place.
fn place(spec: &mut SandboxSpec, arguments: &mut Arguments, rules: &Rules) -> bool {
    let image = arguments.take_text("image");
    let provider = arguments.take_text("provider");
    let wants =
        provider.as_deref() == Some("docker") || (image.is_some() && provider.as_deref() != Some("wasm"));
    let fallback = arguments.flag("fallback");
    spec.image = image.or(spec.image.take());
    spec.provider = match provider.as_deref() {
        Some("wasm") => ProviderName::Wasm,
        Some("docker") => ProviderName::Docker,
        _ => match &spec.image {
            Some(image) if rules.images.contains_key(image) => ProviderName::Wasm,
            Some(_) => ProviderName::Docker,
            None => spec.provider,
        },
    };
    spec.memory = arguments.integer("memory_bytes").unwrap_or_else(|| rules.usual_memory(spec.provider));
    let count = |name: &str, default| {
        arguments.integer(name).map_or(default, |number| u32::try_from(number).unwrap_or(u32::MAX))
    };
    spec.cpu_millis = count("cpu_millis", spec.cpu_millis);
    spec.processes = count("processes", spec.processes);
    spec.files = count("files", spec.files);
    spec.warm_pool = match arguments.take_text("warm_pool").as_deref() {
        Some("require") => WarmPool::Require,
        Some("none") => WarmPool::None,
        Some("prefer") => WarmPool::Prefer,
        _ => spec.warm_pool,
    };
    wants && !fallback
}

fn repository(arguments: &mut Arguments) -> Result<Option<Repository>> {
    match (arguments.take_text("repo"), arguments.take_text("branch")) {
        (Some(address), branch) => Ok(Some(Repository { address, branch })),
        (None, Some(_)) => Err(Error::args_invalid("the field `branch` needs `repo`")
            .with_hint("give the address of the repository, or leave `branch` out")),
        (None, None) => Ok(None),
    }
}

fn more_than_a_core(asked: u32, containers: bool) -> Error {
    let container = if containers { ", or ask for a container: `provider`: `docker`" } else { "" };
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
