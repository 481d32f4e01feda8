//! Which options a session key's sandbox did not take, because it was there already.

use dormouse_core::sandbox::{ProviderName, Sandbox, SandboxSpec};
use serde_json::Value as Json;

use super::Create;
use crate::spec::list_of;

/// The options that were given and are otherwise in the sandbox that is there. What it began with is not known any more: a
/// repository is always among them. `spec`: what was asked for.
pub(super) fn options(asked: &Create, spec: &SandboxSpec, there: &Sandbox) -> Vec<&'static str> {
    let has = &there.spec;
    let mounted = |spec: &SandboxSpec| {
        let mut access: Vec<_> =
            spec.mounts.iter().map(|mount| (mount.target.clone(), mount.access)).collect();
        access.sort_by(|one, other| one.0.as_str().cmp(other.0.as_str()));
        access
    };
    let lasts = |spec: &SandboxSpec| spec.pickles || spec.provider == ProviderName::Wasm;
    let same_name = asked.name.value.as_ref().is_none_or(|name| *name == there.name);
    let persists = |spec: &SandboxSpec| (spec.keeps_memory, lasts(spec));
    let options = [
        ("name", asked.name.given, same_name),
        ("durability", asked.durability.given, spec.durability == has.durability),
        ("files", asked.files.given, spec.files == has.files),
        ("persistence", asked.persistence.is_some(), persists(spec) == persists(has)),
        ("provider", asked.provider.given, spec.provider == has.fallback_from.unwrap_or(has.provider)),
        ("image", asked.image.is_some(), spec.image == has.image),
        ("memory_bytes", asked.memory_bytes.is_some(), spec.memory == has.memory),
        ("cpu_millis", asked.cpu_millis.given, spec.cpu_millis == has.cpu_millis),
        ("processes", asked.processes.given, spec.processes == has.processes),
        ("warm_pool", asked.warm_pool.given, spec.warm_pool == has.warm_pool),
        ("disk_bytes", asked.disk_bytes.given, spec.disk == has.disk),
        ("idle_timeout_ms", asked.idle_timeout_ms.given, spec.idle == has.idle),
        ("retention_ms", asked.retention_ms.given, spec.retention == has.retention),
        ("env", asked.env.given, spec.environment == has.environment),
        ("network", asked.network.given || asked.network_allow.given, spec.network == has.network),
        ("repo", asked.repo.is_some(), false),
        ("branch", asked.branch.is_some(), false),
        ("allow_writes", asked.allow_writes.given, mounted(spec) == mounted(has)),
    ];
    let ignored = options.into_iter().filter(|(_, given, same)| *given && !same);
    ignored.map(|(option, ..)| option).collect()
}

/// The schema of them.
pub(super) fn schema() -> Json {
    list_of(
        "Option.",
        "Options of this call that were not taken, because the session key had a sandbox already; only if there are \
            any.",
    )
}
