//! How sandboxes and checkpoints look in answers.

use std::time::Duration;

use dormouse_core::Language;
use dormouse_core::sandbox::{
    Checkpoint, CheckpointId, Durability, Include, Name, Note, ProviderName, SandboxId, SandboxSpec, SessionKey,
    Timestamp,
};
use dormouse_core::sandboxes::View;
use serde_json::Value as Json;

use super::given::{self, MountShown, WithdrawnShown};
use crate::spec::{Nested, OrNull, answer, list_of};

answer! {
    /// A sandbox.
    pub(crate) struct SandboxShown = "A sandbox." {
        id: Option<SandboxId> = "Its id.",
        name: Option<Name> = "Its name; means the same as the id in every tool.",
        session_key: Option<SessionKey> = "The caller's own key, if it was made with one.",
        phase: Option<&'static str> = "creating, running, stopped or error.",
        status: Option<&'static str> =
            "provisioning, running (in use, or was a moment ago), warm (ready), cold, shutdown or error.",
        stop_reason: Option<&'static str> = "idle, user or quota; only when it is stopped.",
        stopped_at: Option<Timestamp> = "When it was stopped, UTC.",
        created_at: Option<Timestamp> = "When it was made, UTC.",
        last_activity_at: Option<Timestamp> = "When it was last called, UTC.",
        awake: Option<Vec<Language>> =
            list_of("Language.", "Languages whose interpreters this server has in memory."),
        persistence: Option<&'static str> =
            "session: variables and files last (of a container Python's, as far as they can be pickled); files: only files do, \
             variables while it is awake.",
        durability: Option<&'static str> =
            "call: each call is saved before it is answered. Else it is a moment later.",
        provider: Option<&'static str> = "Who runs it: wasm or docker.",
        fallback_from: Option<&'static str> =
            "The provider that was asked for and could not be had; only when there is one.",
        image: Option<OrNull<String>> =
            "The image of its container, null for the operator's default; else the one that it was made from, if any.",
        limits: Option<Nested<LimitsShown>> = "What it may use.",
        idle_timeout_ms: Option<u64> = "Without calls for this long it is stopped.",
        retention_ms: Option<u64> = "Stopped for this long it is destroyed.",
        mounts: Option<Vec<MountShown>> =
            "Folders of the host that it sees now, skills among them; not in lists.",
        withdrawn: Option<Vec<WithdrawnShown>> =
            "What it was made with and the operator does not give it now; it comes back when it is given again.",
    }
}

answer! {
    /// What a sandbox may use.
    pub(crate) struct LimitsShown {
        memory_bytes: u64 =
            "Memory of each interpreter; of a container, of all its programs and files together.",
        disk_bytes: u64 = "Bytes of all its files.",
        files: u32 = "Files, folders and links.",
        cpu_millis: u32 = "Thousandths of a core.",
        processes: u32 = "Processes at one time.",
    }
}

impl From<&View> for SandboxShown {
    fn from(view: &View) -> Self {
        let (sandbox, spec) = (&view.sandbox, &view.effective.spec);
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let limits = LimitsShown {
            memory_bytes: spec.memory,
            disk_bytes: spec.disk,
            files: spec.files,
            cpu_millis: spec.cpu_millis,
            processes: spec.processes,
        };
        let has_image = spec.provider == ProviderName::Docker || spec.image.is_some();
        Self {
            id: Some(sandbox.id.clone()),
            name: Some(sandbox.name.clone()),
            session_key: sandbox.session_key.clone(),
            phase: Some(sandbox.phase.as_str()),
            status: Some(view.status),
            stop_reason: sandbox.stop_reason.map(|reason| reason.as_str()),
            stopped_at: sandbox.stopped_at,
            created_at: Some(sandbox.created_at),
            last_activity_at: Some(sandbox.last_activity_at),
            awake: Some(view.awake.clone()),
            persistence: Some(persistence(spec)),
            durability: (spec.durability != Durability::default()).then(|| spec.durability.as_str()),
            provider: Some(spec.provider.as_str()),
            fallback_from: spec.fallback_from.map(|wanted| wanted.as_str()),
            image: has_image.then(|| OrNull(spec.image.clone())),
            limits: Some(Nested(limits)),
            idle_timeout_ms: Some(ms(spec.idle)),
            retention_ms: Some(ms(spec.retention)),
            mounts: Some(given::mounts(&spec.mounts)),
            withdrawn: Some(given::withdrawn(&view.effective)),
        }
    }
}

impl SandboxShown {
    /// The same in a list: without what makes many of them long.
    pub(crate) fn listed(view: &View) -> Self {
        let shown = Self::from(view);
        Self { mounts: None, withdrawn: shown.withdrawn.filter(|withdrawn| !withdrawn.is_empty()), ..shown }
    }
}

/// What of it lasts. The interpreters of a container end with it, unless its Python is asked for its variables.
fn persistence(spec: &SandboxSpec) -> &'static str {
    let lasts = spec.pickles || spec.provider != ProviderName::Docker;
    if spec.keeps_memory && lasts { "session" } else { "files" }
}

answer! {
    /// A checkpoint.
    pub(crate) struct CheckpointShown = "A checkpoint." {
        id: Option<CheckpointId> = "Its id, for sandbox_restore and sandbox_fork.",
        sandbox_id: Option<SandboxId> = "The sandbox whose state it is.",
        name: Option<Name> = "Its name, if it has one.",
        note: Option<Note> = "What was said of it, if anything. Untrusted text.",
        include: Option<&'static str> = "both, memory or files.",
        created_at: Option<Timestamp> = "When it was made, UTC.",
        size_bytes: Option<u64> = "Bytes of the state, shared ones included.",
    }
}

impl From<&Checkpoint> for CheckpointShown {
    fn from(checkpoint: &Checkpoint) -> Self {
        let label = &checkpoint.label;
        Self {
            id: Some(label.id.clone()),
            sandbox_id: Some(label.sandbox.clone()),
            name: label.name.clone(),
            note: checkpoint.note.clone(),
            include: Some(include(label.include)),
            created_at: Some(label.created_at),
            size_bytes: Some(checkpoint.state.bytes),
        }
    }
}

/// The word for a part of a state.
fn include(include: Include) -> &'static str {
    match include {
        Include::Memory => "memory",
        Include::Files => "files",
        Include::Both => "both",
    }
}

/// The schema of the languages whose variables a state does not hold.
pub(crate) fn not_held() -> Json {
    list_of(
        "Language.",
        "Languages whose interpreters run in a container and whose variables are not in the state: they last as long as it runs.",
    )
}
