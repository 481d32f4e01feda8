//! How sandboxes and checkpoints look in answers.

use dormouse_core::Language;
use dormouse_core::sandbox::{Checkpoint, Durability, Include, ProviderName, SandboxSpec};
use dormouse_core::sandboxes::View;
use serde_json::{Value as Json, json};

use super::given;
use crate::schema::{self, Object};
use crate::time::iso8601;

/// A sandbox.
pub(crate) fn sandbox(view: &View) -> Json {
    let (sandbox, spec) = (&view.sandbox, &view.effective.spec);
    let ms = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let mut shown = json!({
        "id": sandbox.id.as_str(),
        "name": sandbox.name.as_str(),
        "phase": sandbox.phase.as_str(),
        "status": view.status,
        "created_at": iso8601(sandbox.created_at),
        "last_activity_at": iso8601(sandbox.last_activity_at),
        "awake": view.awake.iter().map(|language| language.as_str()).collect::<Vec<_>>(),
        "persistence": persistence(spec),
        "provider": spec.provider.as_str(),
        "limits": {
            "memory_bytes": spec.memory,
            "disk_bytes": spec.disk,
            "files": spec.files,
            "cpu_millis": spec.cpu_millis,
            "processes": spec.processes,
        },
        "idle_timeout_ms": ms(spec.idle),
        "retention_ms": ms(spec.retention),
        "mounts": given::mounts(&spec.mounts),
        "withdrawn": given::withdrawn(&view.effective),
    });
    if spec.durability != Durability::default() {
        shown["durability"] = spec.durability.as_str().into();
    }
    if let Some(wanted) = spec.fallback_from {
        shown["fallback_from"] = wanted.as_str().into();
    }
    if spec.provider == ProviderName::Docker || spec.image.is_some() {
        shown["image"] = spec.image.clone().into();
    }
    if let Some(key) = &sandbox.session_key {
        shown["session_key"] = key.as_str().into();
    }
    if let Some(reason) = sandbox.stop_reason {
        shown["stop_reason"] = reason.as_str().into();
    }
    if let Some(at) = sandbox.stopped_at {
        shown["stopped_at"] = iso8601(at).into();
    }
    shown
}

/// What of it lasts. The interpreters of a container end with it, unless its Python is asked for its variables.
fn persistence(spec: &SandboxSpec) -> &'static str {
    let lasts = spec.pickles || spec.provider != ProviderName::Docker;
    if spec.keeps_memory && lasts { "session" } else { "files" }
}

/// The same in a list: without what makes many of them long.
pub(crate) fn listed(view: &View) -> Json {
    let mut shown = sandbox(view);
    if let Some(fields) = shown.as_object_mut() {
        fields.remove("mounts");
        if view.effective.withdrawn.is_empty() {
            fields.remove("withdrawn");
        }
    }
    shown
}

/// The schema of [`sandbox`] as an answer of its own, where a refusal has none of it.
pub(crate) fn sandbox_fields() -> Object {
    let limits = Object::new()
        .description("What it may use.")
        .required(
            "memory_bytes",
            schema::integer(
                0,
                "Memory of each interpreter; of a container, of all its programs and files together.",
            ),
        )
        .required("disk_bytes", schema::integer(0, "Bytes of all its files."))
        .required("files", schema::integer(0, "Files, folders and links."))
        .required("cpu_millis", schema::integer(0, "Thousandths of a core."))
        .required("processes", schema::integer(0, "Processes at one time."))
        .build();
    Object::new()
        .optional("id", schema::text("Its id."))
        .optional("name", schema::text("Its name; means the same as the id in every tool."))
        .optional("session_key", schema::text("The caller's own key, if it was made with one."))
        .optional("phase", schema::text("creating, running, stopped or error."))
        .optional(
            "status",
            schema::text(
                "provisioning, running (in use, or was a moment ago), warm (ready), cold, shutdown or error.",
            ),
        )
        .optional("stop_reason", schema::text("idle, user or quota; only when it is stopped."))
        .optional("stopped_at", schema::text("When it was stopped, UTC."))
        .optional("created_at", schema::text("When it was made, UTC."))
        .optional("last_activity_at", schema::text("When it was last called, UTC."))
        .optional(
            "awake",
            schema::list(
                &schema::text("Language."),
                "Languages whose interpreters this server has in memory.",
            ),
        )
        .optional(
            "persistence",
            schema::text(
                "session: variables and files last (of a container Python's, as far as they can be pickled); files: only files do, \
                 variables while it is awake.",
            ),
        )
        .optional(
            "durability",
            schema::text("call: each call is saved before it is answered. Else it is a moment later."),
        )
        .optional("provider", schema::text("Who runs it: wasm or docker."))
        .optional(
            "fallback_from",
            schema::text("The provider that was asked for and could not be had; only when there is one."),
        )
        .optional(
            "image",
            schema::text_or_null(
                "The image of its container, null for the operator's default; else the one that it was made from, if any.",
            ),
        )
        .optional("limits", limits)
        .optional("idle_timeout_ms", schema::integer(0, "Without calls for this long it is stopped."))
        .optional("retention_ms", schema::integer(0, "Stopped for this long it is destroyed."))
        .optional("mounts", given::mounts_schema())
        .optional("withdrawn", given::withdrawn_schema())
}

/// A checkpoint.
pub(crate) fn checkpoint(checkpoint: &Checkpoint) -> Json {
    let label = &checkpoint.label;
    let mut shown = json!({
        "id": label.id.as_str(),
        "sandbox_id": label.sandbox.as_str(),
        "include": include(label.include),
        "created_at": iso8601(label.created_at),
        "size_bytes": checkpoint.state.bytes,
    });
    if let Some(name) = &label.name {
        shown["name"] = name.as_str().into();
    }
    if let Some(note) = &checkpoint.note {
        shown["note"] = note.as_str().into();
    }
    shown
}

/// The schema of [`checkpoint`], as [`sandbox_fields`].
pub(crate) fn checkpoint_fields() -> Object {
    Object::new()
        .optional("id", schema::text("Its id, for sandbox_restore and sandbox_fork."))
        .optional("sandbox_id", schema::text("The sandbox whose state it is."))
        .optional("name", schema::text("Its name, if it has one."))
        .optional("note", schema::text("What was said of it, if anything. Untrusted text."))
        .optional("include", schema::text("both, memory or files."))
        .optional("created_at", schema::text("When it was made, UTC."))
        .optional("size_bytes", schema::integer(0, "Bytes of the state, shared ones included."))
}

/// Languages whose variables a state does not hold.
pub(super) fn not_held() -> Json {
    schema::list(
        &schema::text("Language."),
        "Languages whose interpreters run in a container and whose variables are not in the state: they last as long as it runs.",
    )
}

/// The languages.
pub(super) fn languages(languages: &[Language]) -> Json {
    languages.iter().map(|language| language.as_str()).collect::<Vec<_>>().into()
}

/// The word for a part of a state.
fn include(include: Include) -> &'static str {
    match include {
        Include::Memory => "memory",
        Include::Files => "files",
        Include::Both => "both",
    }
}
