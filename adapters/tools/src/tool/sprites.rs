//! The profile `sprites` (requirements S4): named sandboxes with checkpoints, in the words of the seed.
//!
//! Names, descriptions, schemas and texts are the seed's, to the letter. Ids are shown as `sprite-…`, and taken in that
//! form and in ours. `sandbox_list_checkpoints` and `sandbox_destroy`, which the seed speaks of and lacks, and `sandbox_remove_checkpoint`
//! have its style.

mod limits;
mod verbs;

use std::sync::Arc;

use dormouse_core::sandbox::{Checkpoint, Name, Note, Owner, SandboxId};
use dormouse_core::sandboxes::View;
use dormouse_core::{Error, ErrorCode, Result};
use serde_json::{Value as Json, json};

use super::Tool;
use super::verb::{Answer, Kept, KeptTool, Run, Verb};
use crate::decode::Arguments;
use crate::field::Field;
use crate::schema::{self, Object};
use crate::surface::Annotations;
use crate::time::iso8601;

/// Bytes of a text that are read before it is judged.
const MAX_TEXT: usize = 64 << 10;

/// Name, type and description of an argument, as the seed writes them.
type Property = (&'static str, &'static str, &'static str);

/// The tools of the profile.
pub(super) fn all(kept: &Arc<Kept>) -> Vec<Box<dyn Tool>> {
    let name = ("name", "string", "Name or ID of the sprite");
    let rows: [(Verb, &[Property], usize); 10] = [
        (
            verbs::create(),
            &[
                ("name", "string", "Name of the sprite"),
                ("repoUrl", "string", "Optional Git repository URL to clone"),
            ],
            1,
        ),
        (
            verbs::exec(),
            &[
                name,
                ("command", "string", "Command to execute"),
                ("timeout", "number", "Timeout in milliseconds (default: 30000)"),
            ],
            2,
        ),
        (verbs::save(), &[name, ("checkpointName", "string", "Optional name/comment for the checkpoint")], 1),
        (verbs::restore(), &[name, ("checkpointId", "string", "ID of the checkpoint to restore")], 2),
        (verbs::list(), &[], 0),
        (verbs::shutdown(), &[name], 1),
        (verbs::wake(), &[name], 1),
        (verbs::list_checkpoints(), &[name], 1),
        (
            verbs::remove_checkpoint(),
            &[name, ("checkpointId", "string", "ID of the checkpoint to remove")],
            2,
        ),
        (verbs::destroy(), &[name], 1),
    ];
    let tools = rows.into_iter().map(|(verb, properties, required)| {
        Box::new(KeptTool::seed(kept.clone(), verb, input(properties, required))) as Box<dyn Tool>
    });
    tools.collect()
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

fn verb(
    name: &'static str,
    (title, description): (&'static str, &'static str),
    fields: Vec<Field>,
    output: Object,
    annotations: Annotations,
    run: Run,
) -> Verb {
    Verb { name, title, description, fields, output, annotations, run }
}

fn message() -> Object {
    Object::new().optional("message", schema::text("What was done."))
}

fn said(message: String) -> Answer {
    Answer::from(json!({"message": message})).with_text(message)
}

/// The sandbox that is named, and how the caller named it.
fn named(kept: &Kept, arguments: &mut Arguments, owner: &Owner) -> Result<(SandboxId, String)> {
    let name = arguments.take_text("name").unwrap_or_default();
    let found = kept.sandboxes.get(owner, &dormouse_core::sandbox::Handle::IdOrName(&name));
    let id = found.map_err(|error| in_words(error, &name))?;
    Ok((id.sandbox.id, name))
}

/// An error with the names of sprites and checkpoints as the profile writes them.
fn in_words(error: Error, name: &str) -> Error {
    let shown: String = name.escape_debug().take(64).collect();
    let (message, hint) = match error.code() {
        ErrorCode::NameTaken => {
            (format!("there is a sprite '{shown}' already"), "use that one, or choose another name")
        }
        ErrorCode::UnknownSandbox => {
            (format!("there is no sprite '{shown}'"), "sprite_list names those that there are")
        }
        ErrorCode::UnknownCheckpoint => (
            format!("there is no checkpoint '{shown}'"),
            "sandbox_list_checkpoints names those that there are",
        ),
        _ => return error,
    };
    Error::new(error.code(), message).with_hint(hint)
}

fn theirs(id: &SandboxId) -> String {
    format!("{}{}", SandboxId::AS_SPRITE, &id.as_str()[SandboxId::PREFIX.len()..])
}

fn sprite(view: &View) -> Json {
    json!({
        "id": theirs(&view.sandbox.id),
        "name": view.sandbox.name.as_str(),
        "status": view.status,
        "lastActivityAt": iso8601(view.sandbox.last_activity_at),
        "createdAt": iso8601(view.sandbox.created_at),
    })
}

fn sprite_fields() -> Object {
    Object::new()
        .optional("id", schema::text("Unique sprite ID"))
        .optional("name", schema::text("Sprite name"))
        .optional("status", schema::text("Current status (`running`, `provisioning`, etc.)"))
        .optional("lastActivityAt", schema::text("ISO 8601 timestamp"))
        .optional("createdAt", schema::text("ISO 8601 timestamp"))
}

/// How a checkpoint is called here: by its name, or by its note where it has none.
fn shown_name(saved: &Checkpoint) -> &str {
    let note = saved.note.as_ref().map(Note::as_str);
    saved.label.name.as_ref().map(Name::as_str).or(note).unwrap_or_default()
}

fn checkpoint(saved: &Checkpoint) -> Json {
    let label = &saved.label;
    json!({
        "id": label.id.as_str(),
        "spriteId": theirs(&label.sandbox),
        "name": shown_name(saved),
        "createdAt": iso8601(label.created_at),
        "sizeBytes": saved.state.bytes,
    })
}

fn checkpoint_fields() -> Object {
    Object::new()
        .optional("id", schema::text("Unique checkpoint ID"))
        .optional("spriteId", schema::text("ID of the sprite"))
        .optional("name", schema::text("Checkpoint name/comment"))
        .optional("createdAt", schema::text("ISO 8601 timestamp"))
        .optional("sizeBytes", schema::integer(0, "Size of the checkpoint in bytes (optional)"))
}

/// As `JSON.stringify(value, null, 2)` writes it.
fn pretty(value: &Json) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

fn shown(answer: Json) -> Answer {
    let text = pretty(&answer);
    Answer::from(answer).with_text(text)
}

/// A list: the text is the bare array, and what is structured must be an object.
fn listed(name: &str, items: Vec<Json>) -> Answer {
    let items = Json::Array(items);
    let text = pretty(&items);
    let mut answer = json!({});
    answer[name] = items;
    Answer::from(answer).with_text(text)
}
