//! Which options a session key's sandbox did not take, because it was there already.

use dormouse_core::sandbox::{Name, ProviderName, Sandbox, SandboxSpec};
use serde_json::Value as Json;

use crate::decode::Arguments;
use crate::schema;

/// The options that were given and are otherwise in the sandbox that is there. What it began with is not known any more: a
/// repository is always among them.
pub(super) fn options(
    arguments: &Arguments,
    (name, asked): (Option<&Name>, &SandboxSpec),
    there: &Sandbox,
) -> Vec<&'static str> {
    let has = &there.spec;
    let mounted = |spec: &SandboxSpec| {
        let mut access: Vec<_> =
            spec.mounts.iter().map(|mount| (mount.target.clone(), mount.access)).collect();
        access.sort_by(|one, other| one.0.as_str().cmp(other.0.as_str()));
        access
    };
    let lasts = |spec: &SandboxSpec| spec.pickles || spec.provider == ProviderName::Wasm;
    let same = [
        ("name", name.is_none_or(|name| *name == there.name)),
        ("durability", asked.durability == has.durability),
        ("files", asked.files == has.files),
        ("persistence", (asked.keeps_memory, lasts(asked)) == (has.keeps_memory, lasts(has))),
        ("provider", asked.provider == has.fallback_from.unwrap_or(has.provider)),
        ("image", asked.image == has.image),
        ("memory_bytes", asked.memory == has.memory),
        ("cpu_millis", asked.cpu_millis == has.cpu_millis),
        ("processes", asked.processes == has.processes),
        ("warm_pool", asked.warm_pool == has.warm_pool),
        ("disk_bytes", asked.disk == has.disk),
        ("idle_timeout_ms", asked.idle == has.idle),
        ("retention_ms", asked.retention == has.retention),
        ("env", asked.environment == has.environment),
        ("repo", false),
        ("branch", false),
        ("allow_writes", mounted(asked) == mounted(has)),
    ];
    same.into_iter()
        .filter(|(option, same)| !same && arguments.is_given(option))
        .map(|(option, _)| option)
        .collect()
}

/// The schema of them.
pub(super) fn schema() -> Json {
    schema::list(
        &schema::text("Option."),
        "Options of this call that were not taken, because the session key had a sandbox already; only when there are any.",
    )
}
