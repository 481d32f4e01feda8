//! `sandbox_capabilities`: what this installation can do. Starts nothing.

mod offered;

use std::time::Duration;

use async_trait::async_trait;
use dormouse_core::sandbox::Quota;
use dormouse_core::sandboxes::{ProviderState, Rules};
use dormouse_core::{Abilities, Access, Error, EvalRequest, Grants, GuestInfo, Limits, Runtime, Sandboxes};
use serde_json::{Map, Value as Json};

use self::offered::{Git, LanguageModel, Packages};
use crate::call::{CallContext, Reply, encode};
use crate::models::Models;
use crate::network::{self, ProfileShown};
use crate::skills::{self, SkillShown, Skills};
use crate::spec::{
    Answered as _, ErrorFields, Field, LOOKS, Nested, Nothing, OrNull, Order, Table, ToolSpec, answer,
    error_schema, list_of, schema,
};
use crate::tool::Tool;
use crate::verbs::eval::listing::MAX_OUTPUT;

const DESCRIPTION: &str = "Lists what the sandbox can do: installed languages with their interpreter versions, default \
limits and ceilings of time, memory and output, quotas, how long sandboxes are kept, providers with what each can do, container images, mounted folders, skills, packages, git repositories and language models that can be reached, and whether writes or network access can be granted. \
Use it once before `sandbox_eval` when the language or a limit matters. It takes no arguments, starts nothing and \
answers at once.";

answer! {
    /// What this installation can do.
    pub(crate) struct Told {
        version: &'static str = "Version of Dormouse.",
        providers: Vec<&'static str> =
            list_of("Name.", "Who runs sandboxes; the first runs snippets without one."),
        unavailable: Vec<Unavailable> = "Providers that are unavailable at the moment.",
        abilities: Vec<Able> = "What each of the providers can do.",
        images: Vec<String> = list_of(
            "What to give as `image`.",
            "Images of containers, the default first; then those of sandboxes without one.",
        ),
        languages: Vec<LanguageShown> = "Languages, sorted by name.",
        defaults: Nested<LimitsShown> = "Limits of a call that asks for none.",
        ceilings: Nested<LimitsShown> =
            "The most a call can be granted by the operator; a tool may take less.",
        code_bytes: usize = "Largest source text in bytes.",
        mounts: Vec<Mounted> = "Folders of the host that every run sees.",
        skills: Vec<SkillShown> = skills::EVERY,
        allow_writes: bool = "Whether writes to mounted folders can be granted.",
        allow_eval: bool = "Whether snippets may make code from text.",
        network: &'static str = "Network access that can be granted: `none`, or `rules` (what `networks` lists).",
        networks: Vec<ProfileShown> = "Networks that can be asked for; `default` is what `allow_network` means.",
        packages: Nested<Packages> = "Packages that sandboxes can have installed by the host.",
        git: Nested<Git> =
            "Remote git repositories. `git` itself is always there for repositories of the sandbox's own.",
        models: Nested<LanguageModel> = "The language model that snippets and sub-agents can ask.",
        quotas: OrNull<Nested<Quotas>> =
            "Quotas of persistent sandboxes; null if there are none. A size that is not listed is unlimited.",
        times: OrNull<Nested<Times>> =
            "How long persistent sandboxes are kept when nobody calls them; null if there are none.",
        confinement: &'static str =
            "How much of what it does not need the kernel refuses the server's own process: `full`, `partial` or `off`.",
        callbacks: Vec<String> = list_of("Name.", "Functions of the host that a snippet can call."),
        error: OrNull<ErrorFields> = error_schema("Why the call was refused; null when it was not."),
    }
}

answer! {
    /// A provider that cannot be had.
    pub(crate) struct Unavailable {
        provider: &'static str = "Its name.",
        reason: String = "Why it is unavailable.",
    }
}

answer! {
    /// A language.
    pub(crate) struct LanguageShown {
        language: String = "What to give as `language`.",
        interpreter: String = "The interpreter and its version.",
        available: bool = "Whether it can run now.",
        note: String = "What is missing or particular; may be empty.",
    }
}

answer! {
    /// A folder of the host.
    pub(crate) struct Mounted {
        target: String = "Where a snippet sees it.",
        writable: bool = "Whether writes are granted to a call that asks with `allow_writes`.",
    }
}

answer! {
    /// Limits, with the names of the arguments that ask for them.
    pub(crate) struct LimitsShown {
        timeout_ms: u64 = "Wall-clock time in milliseconds.",
        memory_bytes: u64 = "Memory in bytes.",
        output_bytes: u64 = "Bytes kept of each output stream.",
        fuel: u64 = "Executed operations; 0: not counted.",
    }
}

impl From<&Limits> for LimitsShown {
    fn from(limits: &Limits) -> Self {
        Self {
            timeout_ms: milliseconds(limits.wall),
            memory_bytes: limits.memory,
            output_bytes: limits.output.min(MAX_OUTPUT),
            fuel: limits.fuel.unwrap_or(0),
        }
    }
}

answer! {
    /// What a provider can do.
    pub(crate) struct Able {
        provider: &'static str = "Its name.",
        wall: &'static str = "What keeps code in: webassembly, container or none.",
        languages: Vec<String> = list_of("Word.", "Languages that it can run."),
        interpreters: &'static str = "Where their interpreters come from: installation or image.",
        variables: &'static str =
            "saved with the sandbox, or awake: lost when it is stopped, restored or forked.",
        include: Vec<&'static str> = list_of("Word.", "What checkpoints can be asked to hold."),
        images: &'static str =
            "What an image is: a container, a checkpoint that the operator offers, or none.",
        network: &'static str = "The widest network access that a sandbox can have.",
        memory: &'static str = "What memory_bytes bounds: each interpreter, or the sandbox as a whole.",
        limits: Vec<&'static str> = list_of("Word.", "Limits that hold, by the names of their arguments."),
        snippets: bool = "Whether it runs snippets without a sandbox.",
        wasi_programs: bool = "Whether it runs programs of WASI by themselves.",
        system_programs: bool = "Whether command lines can run programs of an operating system.",
        fixed: bool =
            "Whether random numbers and the clock can be fixed, and code that is made from text refused.",
        warm_pool: bool = "Whether sandboxes can be kept ready.",
    }
}

impl Able {
    /// The languages of the one that has guests are those.
    fn of(provider: &'static str, abilities: &Abilities, guests: &[GuestInfo]) -> Self {
        let languages = match abilities.interpreters {
            "installation" if !guests.is_empty() => {
                guests.iter().map(|guest| guest.language.as_str().to_owned()).collect()
            }
            _ => abilities.languages.iter().map(|language| (*language).to_owned()).collect(),
        };
        Self {
            provider,
            wall: abilities.wall,
            languages,
            interpreters: abilities.interpreters,
            variables: abilities.variables,
            include: abilities.include.to_vec(),
            images: abilities.images,
            network: abilities.network,
            memory: abilities.memory,
            limits: abilities.limits.to_vec(),
            snippets: abilities.snippets,
            wasi_programs: abilities.wasi_programs,
            system_programs: abilities.system_programs,
            fixed: abilities.fixed,
            warm_pool: abilities.warm_pool,
        }
    }
}

answer! {
    /// How much there may be of what is kept, with the words of `--quota`.
    pub(crate) struct Quotas {
        sandboxes: u32 = "Sandboxes of one owner.",
        sandboxes_in_all: u32 = "Sandboxes of all owners.",
        checkpoints: u32 = "Checkpoints of one sandbox.",
        saved_bytes: Option<u64> = "What the saved states of one owner may hold.",
        saved_bytes_in_all: Option<u64> = "What all saved states may take of the disk.",
        awake_bytes: Option<u64> = "Memory of one owner's sandboxes that are awake.",
        awake_bytes_in_all: Option<u64> = "Memory of all sandboxes that are awake.",
        runs_memory_bytes: Option<u64> = "Memory that all runs together may add to what they begin with.",
    }
}

impl Quotas {
    fn of(quota: &Quota, runs: Option<u64>) -> Self {
        Self {
            sandboxes: quota.per_owner,
            sandboxes_in_all: quota.in_all,
            checkpoints: quota.checkpoints,
            saved_bytes: quota.saved.of_owner,
            saved_bytes_in_all: quota.saved.in_all,
            awake_bytes: quota.awake.of_owner,
            awake_bytes_in_all: quota.awake.in_all,
            runs_memory_bytes: runs,
        }
    }
}

answer! {
    /// How long sandboxes are kept that nobody calls.
    pub(crate) struct Times {
        idle_timeout_ms: u64 = "Without calls for this long a sandbox is stopped, unless it asks otherwise.",
        idle_timeout_max_ms: u64 = "The most that a sandbox can request.",
        retention_ms: u64 = "Stopped for this long it is destroyed, unless it asks otherwise.",
        retention_max_ms: u64 = "The most that a sandbox can request.",
        unused_ms: u64 = "One that was never called is destroyed after this.",
    }
}

impl From<&Rules> for Times {
    fn from(rules: &Rules) -> Self {
        Self {
            idle_timeout_ms: milliseconds(rules.defaults.idle),
            idle_timeout_max_ms: milliseconds(rules.ceiling.idle),
            retention_ms: milliseconds(rules.defaults.retention),
            retention_max_ms: milliseconds(rules.ceiling.retention),
            unused_ms: milliseconds(rules.unused),
        }
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

pub(crate) struct Capabilities {
    runtime: Runtime,
    granted: Grants,
    skills: Skills,
    models: Models,
    confinement: &'static str,
    table: Table<Nothing>,
    spec: ToolSpec,
}

impl Capabilities {
    pub(crate) fn new(
        runtime: Runtime,
        granted: Grants,
        (skills, models): (Skills, Models),
        confinement: &'static str,
    ) -> Self {
        let table = Nothing::table();
        let spec = ToolSpec {
            name: "sandbox_capabilities",
            title: "Show sandbox capabilities",
            description: DESCRIPTION.into(),
            input_schema: schema::input(table.fields()),
            output_schema: Told::schema().build(),
            answered: Told::always(),
            annotations: LOOKS,
        };
        Self { runtime, granted, skills, models, confinement, table, spec }
    }

    /// With what is known of the providers, the first one first. `brings`: the caller offers a model.
    fn describe(&self, others: &[ProviderState], brings: bool, error: Option<&Error>) -> Json {
        let found = self.runtime.capabilities();
        let names = others.iter().skip(1).map(|provider| provider.name);
        let unavailable = others.iter().filter_map(|provider| {
            let reason = provider.error.as_ref()?.to_string();
            Some(Unavailable { provider: provider.name, reason })
        });
        let abilities = std::iter::once((found.providers.first().copied(), &found.abilities))
            .chain(others.iter().skip(1).map(|other| (Some(other.name), &other.abilities)))
            .filter_map(|(name, abilities)| Some(Able::of(name?, abilities, &found.guests)));
        let sandboxes = self.runtime.sandboxes();
        let named = sandboxes.iter().flat_map(|sandboxes| sandboxes.rules().images.keys());
        let images = others.iter().flat_map(|provider| &provider.images).chain(named);
        let languages = found.guests.iter().map(|guest| LanguageShown {
            language: guest.language.as_str().to_owned(),
            interpreter: guest.interpreter.to_string(),
            available: guest.available,
            note: guest.note.clone().unwrap_or_default().to_string(),
        });
        let project = self.granted.project.as_ref().and_then(|project| project.mount().ok());
        let mounts = project.iter().chain(&self.granted.mounts).map(|mount| Mounted {
            target: mount.target.as_str().to_owned(),
            writable: found.allow_writes && mount.access == Access::ReadWrite,
        });
        let (rules, runs) = (sandboxes.map(Sandboxes::rules), self.runtime.policy().max_memory);
        let told = Told {
            version: env!("CARGO_PKG_VERSION"),
            providers: found.providers.iter().copied().chain(names).collect(),
            unavailable: unavailable.collect(),
            abilities: abilities.collect(),
            images: images.cloned().collect(),
            languages: languages.collect(),
            defaults: Nested(LimitsShown::from(&found.defaults)),
            ceilings: Nested(LimitsShown::from(&found.ceiling)),
            code_bytes: EvalRequest::MAX_CODE,
            mounts: mounts.collect(),
            skills: self.skills.shown(),
            allow_writes: found.allow_writes,
            allow_eval: found.allow_eval,
            network: found.network,
            networks: network::profiles(self.runtime.networks()),
            packages: Nested(offered::packages(sandboxes)),
            git: Nested(offered::git(sandboxes)),
            models: Nested(offered::models(&self.models, brings)),
            quotas: OrNull(rules.map(|rules| Nested(Quotas::of(&rules.quota, runs)))),
            times: OrNull(rules.map(|rules| Nested(Times::from(rules)))),
            confinement: self.confinement,
            callbacks: Vec::new(),
            error: OrNull(error.map(ErrorFields::of)),
        };
        Json::Object(told.into_fields())
    }
}

#[async_trait]
impl Tool for Capabilities {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn fields(&self) -> &[Field] {
        self.table.fields()
    }

    fn order(&self) -> Order {
        Order::Apart
    }

    async fn call(&self, arguments: Map<String, Json>, context: CallContext) -> Reply {
        if let Err(error) = self.table.decode(arguments) {
            return self.refuse(&error);
        }
        let others = match self.runtime.sandboxes() {
            Some(sandboxes) => sandboxes.providers().await,
            None => Vec::new(),
        };
        let structured = self.describe(&others, context.model.is_some(), None);
        Reply { text: structured.to_string(), structured, is_error: false }
    }

    fn refuse(&self, error: &Error) -> Reply {
        let structured = self.describe(&[], false, Some(error));
        Reply { structured, text: encode::error_text(error), is_error: true }
    }
}
