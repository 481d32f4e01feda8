//! `sandbox_capabilities`: what this installation can do. Starts nothing.

mod offered;

use std::time::Duration;

use async_trait::async_trait;
use dormouse_core::sandbox::Quota;
use dormouse_core::sandboxes::{ProviderState, Rules};
use dormouse_core::{Abilities, Access, Error, EvalRequest, Grants, GuestInfo, Limits, Manager, Sandboxes};
use serde_json::{Map, Value as Json, json};

use super::{Tool, error_schema};
use crate::decode::decode;
use crate::encode;
use crate::models::Models;
use crate::schema::{self, Object};
use crate::skills::{self, Skills};
use crate::surface::{Annotations, CallContext, Reply, ToolSpec};

const DESCRIPTION: &str = "Lists what the sandbox can do: installed languages with their interpreter versions, default \
limits and ceilings of time, memory and output, quotas, how long sandboxes are kept, providers with what each can do, container images, mounted folders, skills, packages, git repositories and language models that can be reached, and whether writes or network access can be granted. \
Use it once before `sandbox_eval` when the language or a limit matters. It takes no arguments, starts nothing and \
answers at once.";

pub(crate) struct Capabilities {
    manager: Manager,
    granted: Grants,
    skills: Skills,
    models: Models,
    sandboxes: Option<Sandboxes>,
    confinement: &'static str,
    spec: ToolSpec,
}

impl Capabilities {
    pub(crate) fn new(
        manager: Manager,
        granted: Grants,
        (skills, models): (Skills, Models),
        sandboxes: Option<Sandboxes>,
        confinement: &'static str,
    ) -> Self {
        let spec = ToolSpec {
            name: "sandbox_capabilities",
            title: "Show sandbox capabilities",
            description: DESCRIPTION.into(),
            input_schema: schema::input(&[]),
            output_schema: output(),
            annotations: Annotations {
                read_only: true,
                destructive: false,
                idempotent: true,
                open_world: false,
            },
        };
        Self { manager, granted, skills, models, sandboxes, confinement, spec }
    }

    /// With what is known of the providers, the first one first. `brings`: the caller offers a model.
    fn describe(&self, others: &[ProviderState], brings: bool, error: &Json) -> Json {
        let found = self.manager.capabilities();
        let names = || others.iter().skip(1).map(|provider| provider.name);
        let providers: Vec<&str> = found.providers.iter().copied().chain(names()).collect();
        let unavailable: Vec<Json> = others
            .iter()
            .filter_map(|provider| {
                let error = provider.error.as_ref()?;
                Some(json!({"provider": provider.name, "reason": error.to_string()}))
            })
            .collect();
        let named = self.sandboxes.iter().flat_map(|sandboxes| sandboxes.rules().images.keys());
        let abilities: Vec<Json> = std::iter::once((found.providers.first().copied(), &found.abilities))
            .chain(others.iter().skip(1).map(|other| (Some(other.name), &other.abilities)))
            .filter_map(|(name, abilities)| Some(able(name?, abilities, &found.guests)))
            .collect();
        let images: Vec<&String> = others.iter().flat_map(|provider| &provider.images).chain(named).collect();
        let languages: Vec<Json> = found
            .guests
            .iter()
            .map(|guest| {
                json!({
                    "language": guest.language.as_str(),
                    "interpreter": guest.interpreter,
                    "available": guest.available,
                    "note": guest.note.as_deref().unwrap_or_default(),
                })
            })
            .collect();
        let project = self.granted.project.as_ref().and_then(|project| project.mount().ok());
        let mounts: Vec<Json> = project
            .iter()
            .chain(&self.granted.mounts)
            .map(|mount| {
                let writable = found.allow_writes && mount.access == Access::ReadWrite;
                json!({"target": mount.target.as_str(), "writable": writable})
            })
            .collect();
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "providers": providers,
            "unavailable": unavailable,
            "abilities": abilities,
            "images": images,
            "languages": languages,
            "defaults": limits(&found.defaults),
            "ceilings": limits(&found.ceiling),
            "code_bytes": EvalRequest::MAX_CODE,
            "mounts": mounts,
            "skills": self.skills.shown(),
            "allow_writes": found.allow_writes,
            "allow_eval": found.allow_eval,
            "network": found.network,
            "packages": offered::packages(self.sandboxes.as_ref()),
            "git": offered::git(self.sandboxes.as_ref()),
            "models": offered::models(&self.models, brings),
            "quotas": self.sandboxes.as_ref().map(|sandboxes| quotas(&sandboxes.rules().quota, self.manager.policy().max_memory)),
            "times": self.sandboxes.as_ref().map(|sandboxes| times(sandboxes.rules())),
            "confinement": self.confinement,
            "callbacks": [],
            "error": error,
        })
    }
}

/// What a provider can do. The languages of the one that has guests are those.
fn able(name: &str, abilities: &Abilities, guests: &[GuestInfo]) -> Json {
    let mut shown = json!({ "provider": name });
    if let (Some(shown), Ok(Json::Object(fields))) = (shown.as_object_mut(), serde_json::to_value(abilities))
    {
        shown.extend(fields);
    }
    if abilities.interpreters == "installation" && !guests.is_empty() {
        shown["languages"] = guests.iter().map(|guest| guest.language.as_str()).collect();
    }
    shown
}

/// Limits with their wire names; `fuel` 0 means that it is not counted.
fn limits(limits: &Limits) -> Json {
    json!({
        "timeout_ms": u64::try_from(limits.wall.as_millis()).unwrap_or(u64::MAX),
        "memory_bytes": limits.memory,
        "output_bytes": limits.output,
        "fuel": limits.fuel.unwrap_or(0),
    })
}

/// How much there may be of what is kept, with the words of `--quota`; of bytes without a bound there is no field.
fn quotas(quota: &Quota, runs: Option<u64>) -> Json {
    let mut shown = json!({
        "sandboxes": quota.per_owner,
        "sandboxes_in_all": quota.in_all,
        "checkpoints": quota.checkpoints,
    });
    for (field, bytes) in [
        ("saved_bytes", quota.saved.of_owner),
        ("saved_bytes_in_all", quota.saved.in_all),
        ("awake_bytes", quota.awake.of_owner),
        ("awake_bytes_in_all", quota.awake.in_all),
        ("runs_memory_bytes", runs),
    ] {
        if let Some(bytes) = bytes {
            shown[field] = bytes.into();
        }
    }
    shown
}

/// How long sandboxes are kept that nobody calls.
fn times(rules: &Rules) -> Json {
    let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    json!({
        "idle_timeout_ms": ms(rules.defaults.idle),
        "idle_timeout_max_ms": ms(rules.ceiling.idle),
        "retention_ms": ms(rules.defaults.retention),
        "retention_max_ms": ms(rules.ceiling.retention),
        "unused_ms": ms(rules.unused),
    })
}

#[async_trait]
impl Tool for Capabilities {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, arguments: Map<String, Json>, context: CallContext) -> Reply {
        if let Err(error) = decode(&[], arguments) {
            return self.refuse(&error);
        }
        let others = match &self.sandboxes {
            Some(sandboxes) => sandboxes.providers().await,
            None => Vec::new(),
        };
        let structured = self.describe(&others, context.model.is_some(), &Json::Null);
        Reply { text: structured.to_string(), structured, is_error: false }
    }

    fn refuse(&self, error: &Error) -> Reply {
        Reply {
            structured: self.describe(&[], false, &encode::error(error)),
            text: encode::error_text(error),
            is_error: true,
        }
    }
}

fn output() -> Json {
    let language = Object::new()
        .required("language", schema::text("What to give as `language`."))
        .required("interpreter", schema::text("The interpreter and its version."))
        .required("available", schema::flag("Whether it can run now."))
        .required("note", schema::text("What is missing or particular; may be empty."))
        .build();
    let mount = Object::new()
        .required("target", schema::text("Where a snippet sees it."))
        .required(
            "writable",
            schema::flag("Whether writes are granted to a call that asks with `allow_writes`."),
        )
        .build();
    let unavailable = Object::new()
        .required("provider", schema::text("Its name."))
        .required("reason", schema::text("Why it cannot be had."))
        .build();
    Object::new()
        .required("version", schema::text("Version of Dormouse."))
        .required(
            "providers",
            schema::list(&schema::text("Name."), "Who runs sandboxes; the first runs snippets without one."),
        )
        .required("unavailable", schema::list(&unavailable, "Providers that cannot be had just now."))
        .required("abilities", schema::list(&abilities_schema(), "What each of the providers can do."))
        .required(
            "images",
            schema::list(
                &schema::text("What to give as `image`."),
                "Images of containers, the default first; then those of sandboxes without one.",
            ),
        )
        .required("languages", schema::list(&language, "Languages, sorted by name."))
        .required("defaults", limits_schema("Limits of a call that asks for none."))
        .required(
            "ceilings",
            limits_schema("The most a call can be granted by the operator; a tool may take less."),
        )
        .required("code_bytes", schema::integer(0, "Largest source text in bytes."))
        .required("mounts", schema::list(&mount, "Folders of the host that every run sees."))
        .required("skills", skills::schema())
        .required("allow_writes", schema::flag("Whether writes to mounted folders can be granted."))
        .required("allow_eval", schema::flag("Whether snippets may make code from text."))
        .required("network", schema::text("Network access that can be granted: `none`."))
        .required("packages", offered::packages_schema())
        .required("git", offered::git_schema())
        .required("models", offered::models_schema())
        .required("quotas", quotas_schema())
        .required("times", times_schema())
        .required(
            "confinement",
            schema::text(
                "How much of what it does not need the kernel refuses the server's own process: `full`, `partial` or `off`.",
            ),
        )
        .required(
            "callbacks",
            schema::list(&schema::text("Name."), "Functions of the host that a snippet can call."),
        )
        .required("error", error_schema("Why the call was refused; null when it was not."))
        .build()
}

fn abilities_schema() -> Json {
    let words = |description| schema::list(&schema::text("Word."), description);
    Object::new()
        .required("provider", schema::text("Its name."))
        .required("wall", schema::text("What keeps code in: webassembly, container or none."))
        .required("languages", words("Languages that it can run."))
        .required("interpreters", schema::text("Who brings their interpreters: installation or image."))
        .required(
            "variables",
            schema::text("saved with the sandbox, or awake: lost when it is stopped, restored or forked."),
        )
        .required("include", words("What checkpoints can be asked to hold."))
        .required(
            "images",
            schema::text("What an image is: a container, a checkpoint that the operator offers, or none."),
        )
        .required("network", schema::text("The most of a network that a sandbox can have."))
        .required(
            "memory",
            schema::text("What memory_bytes bounds: each interpreter, or the sandbox as a whole."),
        )
        .required("limits", words("Limits that hold, by the names of their arguments."))
        .required("snippets", schema::flag("Whether it runs snippets without a sandbox."))
        .required("wasi_programs", schema::flag("Whether it runs programs of WASI by themselves."))
        .required(
            "system_programs",
            schema::flag("Whether command lines can run programs of an operating system."),
        )
        .required(
            "fixed",
            schema::flag(
                "Whether random numbers and the clock can be fixed, and code that is made from text refused.",
            ),
        )
        .required("warm_pool", schema::flag("Whether sandboxes can be kept ready."))
        .build()
}

fn quotas_schema() -> Json {
    Object::new()
        .description("How much there may be of sandboxes that last; null where there are none. Bytes that are not named have no bound.")
        .required("sandboxes", schema::integer(0, "Sandboxes of one owner."))
        .required("sandboxes_in_all", schema::integer(0, "Sandboxes of all owners."))
        .required("checkpoints", schema::integer(0, "Checkpoints of one sandbox."))
        .optional("saved_bytes", schema::integer(0, "What the saved states of one owner may hold."))
        .optional("saved_bytes_in_all", schema::integer(0, "What all saved states may take of the disk."))
        .optional("awake_bytes", schema::integer(0, "Memory of one owner's sandboxes that are awake."))
        .optional("awake_bytes_in_all", schema::integer(0, "Memory of all sandboxes that are awake."))
        .optional("runs_memory_bytes", schema::integer(0, "Memory that all runs together may add to what they begin with."))
        .or_null()
}

fn times_schema() -> Json {
    Object::new()
        .description(
            "How long sandboxes that last are kept when nobody calls them; null where there are none.",
        )
        .required(
            "idle_timeout_ms",
            schema::integer(0, "Without calls for this long a sandbox is stopped, unless it asks otherwise."),
        )
        .required("idle_timeout_max_ms", schema::integer(0, "The most that one can ask."))
        .required(
            "retention_ms",
            schema::integer(0, "Stopped for this long it is destroyed, unless it asks otherwise."),
        )
        .required("retention_max_ms", schema::integer(0, "The most that one can ask."))
        .required("unused_ms", schema::integer(0, "One that was never called is destroyed after this."))
        .or_null()
}

fn limits_schema(description: &'static str) -> Json {
    Object::new()
        .description(description)
        .required("timeout_ms", schema::integer(0, "Wall-clock time in milliseconds."))
        .required("memory_bytes", schema::integer(0, "Memory in bytes."))
        .required("output_bytes", schema::integer(0, "Bytes kept of each output stream."))
        .required("fuel", schema::integer(0, "Executed operations; 0: not counted."))
        .build()
}
