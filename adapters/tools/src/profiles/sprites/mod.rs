//! The profile `sprites` (requirements S4): named sandboxes with checkpoints, in the words of the seed.
//!
//! Names, descriptions, schemas and texts are the seed's, to the letter. Ids are shown as `sprite-…`, and taken in that
//! form and in ours. `sandbox_list_checkpoints` and `sandbox_destroy`, which the seed speaks of and lacks, and `sandbox_remove_checkpoint`
//! have its style.

mod limits;
mod verbs;

use std::sync::Arc;

use dormouse_core::sandbox::{Checkpoint, CheckpointId, Handle, Name, Note, Owner, SandboxId, Timestamp};
use dormouse_core::sandboxes::View;
use dormouse_core::{Error, ErrorCode, Result};
use serde_json::{Value as Json, json};

use crate::call::Answer;
use crate::services::Services;
use crate::spec::{Answered, answer};
use crate::tool::Tool;

/// Bytes of a text that are read before it is judged.
const MAX_TEXT: usize = 64 << 10;

/// Name, type and description of an argument, as the seed writes them.
type Property = (&'static str, &'static str, &'static str);

/// The tools of the profile.
pub(crate) fn all(services: &Arc<Services>) -> Vec<Box<dyn Tool>> {
    let name = ("name", "string", "Name or ID of the sprite");
    let new_name = ("name", "string", "Name of the sprite");
    let repository = ("repoUrl", "string", "Optional Git repository URL to clone");
    let command = ("command", "string", "Command to execute");
    let timeout = ("timeout", "number", "Timeout in milliseconds (default: 30000)");
    let comment = ("checkpointName", "string", "Optional name/comment for the checkpoint");
    let restored = ("checkpointId", "string", "ID of the checkpoint to restore");
    let removed = ("checkpointId", "string", "ID of the checkpoint to remove");
    vec![
        verbs::create().tool_of_seed(services, input(&[new_name, repository], 1)),
        verbs::exec().tool_of_seed(services, input(&[name, command, timeout], 2)),
        verbs::save().tool_of_seed(services, input(&[name, comment], 1)),
        verbs::restore().tool_of_seed(services, input(&[name, restored], 2)),
        verbs::list().tool_of_seed(services, input(&[], 0)),
        verbs::shutdown().tool_of_seed(services, input(&[name], 1)),
        verbs::wake().tool_of_seed(services, input(&[name], 1)),
        verbs::list_checkpoints().tool_of_seed(services, input(&[name], 1)),
        verbs::remove_checkpoint().tool_of_seed(services, input(&[name, removed], 2)),
        verbs::destroy().tool_of_seed(services, input(&[name], 1)),
    ]
}

/// The seed's form of a schema. The first `required` properties are.
fn input(properties: &[Property], required: usize) -> Json {
    let mut schema = json!({"type": "object", "properties": {}});
    for (name, kind, description) in properties {
        schema["properties"][*name] = json!({"type": kind, "description": description});
    }
    if required > 0 {
        let names: Vec<&str> = properties.iter().take(required).map(|(name, ..)| *name).collect();
        schema["required"] = names.into();
    }
    schema
}

answer! {
    /// That something was done.
    pub(super) struct Said {
        message: String = "What was done.",
    }
}

fn said(message: String) -> Answer<Said> {
    Answer::from(Said { message: message.clone() }).with_text(message)
}

/// The sandbox of this name or id.
fn named(services: &Services, name: &str, owner: &Owner) -> Result<SandboxId> {
    let found = services.sandboxes.find(owner, &Handle::IdOrName(name));
    Ok(found.map_err(|error| in_words(error, name))?.id)
}

/// An error with the names of sprites and checkpoints as the profile writes them.
fn in_words(error: Error, name: &str) -> Error {
    let shown: String = name.escape_debug().take(64).collect();
    let (message, hint) = match error.code() {
        ErrorCode::NameTaken => {
            (format!("there is a sprite '{shown}' already"), "use that one, or choose another name")
        }
        ErrorCode::UnknownSandbox => {
            (format!("there is no sprite '{shown}'"), "sprite_list lists the existing ones")
        }
        ErrorCode::UnknownCheckpoint => {
            (format!("there is no checkpoint '{shown}'"), "sandbox_list_checkpoints lists the existing ones")
        }
        _ => return error,
    };
    Error::new(error.code(), message).with_hint(hint)
}

fn theirs(id: &SandboxId) -> String {
    format!("{}{}", SandboxId::AS_SPRITE, &id.as_str()[SandboxId::PREFIX.len()..])
}

answer! {
    /// A sprite.
    pub(super) struct Sprite = "A sprite." {
        id: String = "Unique sprite ID",
        name: Name = "Sprite name",
        status: &'static str = "Current status (`running`, `provisioning`, etc.)",
        last_activity_at as "lastActivityAt": Timestamp = "ISO 8601 timestamp",
        created_at as "createdAt": Timestamp = "ISO 8601 timestamp",
    }
}

impl From<&View> for Sprite {
    fn from(view: &View) -> Self {
        Self {
            id: theirs(&view.sandbox.id),
            name: view.sandbox.name.clone(),
            status: view.status,
            last_activity_at: view.sandbox.last_activity_at,
            created_at: view.sandbox.created_at,
        }
    }
}

/// How a checkpoint is called here: by its name, or by its note where it has none.
fn shown_name(saved: &Checkpoint) -> &str {
    let note = saved.note.as_ref().map(Note::as_str);
    saved.label.name.as_ref().map(Name::as_str).or(note).unwrap_or_default()
}

answer! {
    /// A checkpoint.
    pub(super) struct Saved = "A checkpoint." {
        id: CheckpointId = "Unique checkpoint ID",
        sprite_id as "spriteId": String = "ID of the sprite",
        name: String = "Checkpoint name/comment",
        created_at as "createdAt": Timestamp = "ISO 8601 timestamp",
        size_bytes as "sizeBytes": u64 = "Size of the checkpoint in bytes (optional)",
    }
}

impl From<&Checkpoint> for Saved {
    fn from(saved: &Checkpoint) -> Self {
        let label = &saved.label;
        Self {
            id: label.id.clone(),
            sprite_id: theirs(&label.sandbox),
            name: shown_name(saved).to_owned(),
            created_at: label.created_at,
            size_bytes: saved.state.bytes,
        }
    }
}

/// As `JSON.stringify(value, null, 2)` writes it.
fn pretty(value: &Json) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// An answer whose text is its JSON in that form.
fn shown<R: Answered>(fields: impl Fn() -> R) -> Answer<R> {
    let text = pretty(&Json::Object(fields().into_fields()));
    Answer::from(fields()).with_text(text)
}

/// A list: the text is the bare array, and what is structured must be an object.
fn listed<T: Answered, R>(items: impl Fn() -> Vec<T>, of: impl Fn(Vec<T>) -> R) -> Answer<R> {
    let bare: Json = items().into_iter().map(|item| Json::Object(item.into_fields())).collect();
    Answer::from(of(items())).with_text(pretty(&bare))
}
