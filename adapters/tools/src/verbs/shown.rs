//! How sandboxes and checkpoints look in answers.

use std::time::Duration;

use dormouse_core::GuestName;
use dormouse_core::sandbox::{
    Checkpoint, CheckpointId, Durability, Include, Name, Note, SandboxId, SandboxSpec, SessionKey, Timestamp,
};
use dormouse_core::sandboxes::View;
use serde_json::Value as Json;

use super::given::{self, MountShown, WithdrawnShown};
use crate::network::{self, GrantShown};
use crate::spec::{Nested, OrNull, answer, list_of};

answer! {
    /// A sandbox.
    pub(crate) struct SandboxShown = "A sandbox." {
        id: SandboxId = "Its id.",
        name: Name = "Its name; means the same as the id in every tool.",
        session_key: Option<SessionKey> = "The caller's own key, if it was made with one.",
        phase: &'static str = "creating, running, stopped or error.",
        status: &'static str =
            "provisioning, running (in use, or was a moment ago), warm (ready), cold, shutdown or error.",
        stop_reason: Option<&'static str> = "idle, user or quota; only when it is stopped.",
        stopped_at: Option<Timestamp> = "When it was stopped, UTC.",
        created_at: Timestamp = "When it was made, UTC.",
        last_activity_at: Timestamp = "When it was last called, UTC.",
        awake: Vec<GuestName> =
            list_of("Language.", "Languages whose interpreters this server has in memory."),
        persistence: &'static str =
            "session: variables and files are kept (of a container only Python's variables, as far as they can be pickled); \
                files: only files are kept, variables as long as it is awake.",
        durability: Option<&'static str> =
            "call: each call is saved before it is answered. Else it is a moment later.",
        provider: &'static str = "Who runs it: wasm, docker or kubernetes.",
        fallback_from: Option<&'static str> =
            "The provider that was asked for and could not be had; only when there is one.",
        image: Option<OrNull<String>> =
            "The image of its container, null for the operator's default; else the one that it was made from, if any.",
        limits: Nested<LimitsShown> = "What it may use.",
        network: Option<Nested<GrantShown>> = "What it may reach; only if it has a network.",
        idle_timeout_ms: u64 = "Without calls for this long it is stopped.",
        retention_ms: u64 = "Stopped for this long it is destroyed.",
        mounts: Option<Vec<MountShown>> =
            "Folders of the host that it sees now, skills among them; not in lists.",
        withdrawn: Option<Vec<WithdrawnShown>> =
            "Grants that the sandbox was created with and that the operator does not give now; they return when they \
                are given again.",
    }
}

answer! {
    /// What a sandbox may use.
    pub(crate) struct LimitsShown {
        memory_bytes: u64 =
            "Memory of each interpreter; of a container, of all its programs and files together.",
        disk_bytes: u64 = "Bytes of all its files.",
        files: Option<u32> = "Files, folders and links. Not of a pod: its cluster bounds them.",
        cpu_millis: u32 = "Thousandths of a core.",
        processes: Option<u32> = "Processes at one time. Not of a pod: its cluster bounds them.",
    }
}

impl From<&View> for SandboxShown {
    fn from(view: &View) -> Self {
        let (sandbox, spec) = (&view.sandbox, &view.effective.spec);
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let counts = spec.provider.counts_names_and_processes();
        let limits = LimitsShown {
            memory_bytes: spec.memory,
            disk_bytes: spec.disk,
            files: counts.then_some(spec.files),
            cpu_millis: spec.cpu_millis,
            processes: counts.then_some(spec.processes),
        };
        let has_image = spec.provider.is_container() || spec.image.is_some();
        Self {
            id: sandbox.id.clone(),
            name: sandbox.name.clone(),
            session_key: sandbox.session_key.clone(),
            phase: sandbox.phase.as_str(),
            status: view.status,
            stop_reason: sandbox.stop_reason.map(|reason| reason.as_str()),
            stopped_at: sandbox.stopped_at,
            created_at: sandbox.created_at,
            last_activity_at: sandbox.last_activity_at,
            awake: view.awake.clone(),
            persistence: persistence(spec),
            durability: (spec.durability != Durability::default()).then(|| spec.durability.as_str()),
            provider: spec.provider.as_str(),
            fallback_from: spec.fallback_from.map(|wanted| wanted.as_str()),
            image: has_image.then(|| OrNull(spec.image.clone())),
            limits: Nested(limits),
            network: network::granted(spec.network.as_ref()),
            idle_timeout_ms: ms(spec.idle),
            retention_ms: ms(spec.retention),
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
    let lasts = spec.pickles || !spec.provider.is_container();
    if spec.keeps_memory && lasts { "session" } else { "files" }
}

answer! {
    /// A checkpoint.
    pub(crate) struct CheckpointShown = "A checkpoint." {
        id: CheckpointId = "Its id, for sandbox_restore and sandbox_fork.",
        sandbox_id: SandboxId = "The sandbox whose state it is.",
        name: Option<Name> = "Its name, if it has one.",
        note: Option<Note> = "Its note, if there is one. Untrusted text.",
        include: &'static str = "both, memory or files.",
        created_at: Timestamp = "When it was made, UTC.",
        size_bytes: u64 = "Bytes of the state, shared ones included.",
    }
}

impl From<&Checkpoint> for CheckpointShown {
    fn from(checkpoint: &Checkpoint) -> Self {
        let label = &checkpoint.label;
        Self {
            id: label.id.clone(),
            sandbox_id: label.sandbox.clone(),
            name: label.name.clone(),
            note: checkpoint.note.clone(),
            include: include(label.include),
            created_at: label.created_at,
            size_bytes: checkpoint.state.bytes,
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
