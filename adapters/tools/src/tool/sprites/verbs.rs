//! The seven tools of the seed and the three that it lacks, each one call.

use dormouse_core::sandbox::{Include, Name, Note, Owner, SandboxId, StopReason};
use dormouse_core::sandboxes::{Asked, CommandLine};
use dormouse_core::{Error, ErrorCode, Limits, Result};
use serde_json::{Value as Json, json};
use std::time::Duration;

use super::{MAX_TEXT, limits, verb};
use super::{
    checkpoint, checkpoint_fields, in_words, listed, message, named, said, shown, shown_name, sprite,
    sprite_fields,
};
use crate::decode::Arguments;
use crate::fallback;
use crate::field::{Absent, Field, Kind};
use crate::schema::{self, Object};
use crate::tool::clone::Repository;
use crate::tool::verb::{Answer, CHANGES, Caller, Kept, LOOKS, REMOVES, SETTLES, Verb, by_id};
use crate::tool::{create as canonical, exec, states};

/// Sandboxes of a list.
const MAX_LISTED: usize = 1_000;

/// The row that nearly all have.
fn name() -> Field {
    Field::text("name", MAX_TEXT, Absent::Refused, "Name or ID of the sprite")
}

pub(super) fn create() -> Verb {
    let limits = Object::new()
        .description("What it may use.")
        .required("cpu", schema::number("Processors; less than 1 is a share of one."))
        .required("memory", schema::integer(0, "Memory in MB."))
        .build();
    verb(
        "sprite_create",
        ("Create a sprite", "Create a new sandbox environment (sprite)."),
        vec![
            Field::text("name", MAX_TEXT, Absent::Refused, "Name of the sprite"),
            Field::text("repoUrl", MAX_TEXT, Absent::None, "Optional Git repository URL to clone"),
            // Taken as it is answered; the listing is the seed's, which does not name it.
            Field::new(
                limits::FIELD,
                Kind::Object { needed: false },
                "Processors and MB of memory that it may use",
            ),
        ],
        sprite_fields().optional(limits::FIELD, limits),
        CHANGES,
        |kept, arguments, caller| Box::pin(make(kept, arguments, caller)),
    )
}

async fn make(kept: &Kept, mut arguments: Arguments, caller: &Caller) -> Result<Answer> {
    let repository = arguments.take_text("repoUrl").map(|address| Repository { address, branch: None });
    let name = arguments.take_text("name").unwrap_or_default();
    if SandboxId::of(&name).is_some() {
        return Err(
            Error::args_invalid("a sprite cannot be called like an ID").with_hint("choose another name")
        );
    }
    let parsed = Some(Name::parse(&name)?);
    let mut spec = canonical::spec(kept, false);
    limits::set(&mut spec, arguments.take_object(limits::FIELD), kept.sandboxes.rules())?;
    let spec = Some(spec);
    let begins = repository.map(|repository| repository.beginning(kept, caller)).transpose()?;
    let asked = Asked { name: parsed, spec, ..Asked::default() };
    let made = kept.sandboxes.create_with(&caller.owner, asked, begins).await;
    let (view, _) = made.map_err(|error| match error.code() {
        ErrorCode::NameTaken => in_words(error, &name),
        _ => error,
    })?;
    let mut answer = sprite(&view);
    answer[limits::FIELD] = limits::shown(&view.sandbox.spec);
    Ok(shown(answer))
}

pub(super) fn exec() -> Verb {
    verb(
        "sprite_exec",
        ("Execute a command in a sprite", "Execute a shell command inside a sandbox."),
        vec![
            name(),
            Field::text("command", MAX_TEXT, Absent::Refused, "Command to execute"),
            Field::number(
                "timeout",
                (1, 3_600_000),
                Absent::Default(30_000),
                "Timeout in milliseconds (default: 30000)",
            ),
        ],
        Object::new()
            .optional("stdout", schema::text("Standard output from the command"))
            .optional("stderr", schema::text("Standard error from the command"))
            .optional("exitCode", schema::integer(0, "Exit code (0 = success)"))
            .optional("durationMs", schema::integer(0, "Execution time in milliseconds")),
        CHANGES,
        |kept, mut arguments, caller| {
            Box::pin(async move {
                let (id, _) = named(kept, &mut arguments, &caller.owner)?;
                let mut line = CommandLine::new(arguments.take_text("command").unwrap_or_default());
                let asked = Duration::from_millis(arguments.integer("timeout").unwrap_or_default());
                line.wall = asked.max(Limits::MIN_WALL).min(kept.sandboxes.rules().command);
                line.sink = caller.output.clone();
                let done = exec::run_line(kept, &caller.owner, &id, line).await?;
                if let Some(error) = done.stopped() {
                    let text = format!("Error: {error}\n{}{}", done.stdout(), done.stderr());
                    return Ok(shown(answer(&done)).with_text(text).failed());
                }
                Ok(shown(answer(&done)))
            })
        },
    )
}

/// What came of a command, in the seed's words.
fn answer(done: &exec::Shown) -> Json {
    let mut answer = json!({
        "stdout": done.stdout(),
        "stderr": done.stderr(),
        "exitCode": done.exit_code(),
        "durationMs": done.whole_milliseconds(),
    });
    if let Some(wanted) = done.fallback_from() {
        answer[fallback::FIELD] = wanted.into();
    }
    answer
}

pub(super) fn save() -> Verb {
    verb(
        "sprite_checkpoint",
        ("Checkpoint a sprite", "Create a checkpoint (snapshot) of a sandbox's current state."),
        vec![
            name(),
            Field::text("checkpointName", MAX_TEXT, Absent::None, "Optional name/comment for the checkpoint"),
        ],
        checkpoint_fields(),
        CHANGES,
        |kept, mut arguments, caller| {
            Box::pin(async move {
                let owner = &caller.owner;
                let comment = arguments.take_text("checkpointName");
                // A comment that cannot be a name is a note.
                let name = comment.as_deref().and_then(|text| Name::parse(text).ok());
                let note = comment.filter(|_| name.is_none()).map(|text| Note::parse(&text)).transpose()?;
                let (id, _) = named(kept, &mut arguments, owner)?;
                let (mut saved, _) =
                    kept.sandboxes.checkpoint(owner, &by_id(&id), name, Include::Both).await?;
                if note.is_some() {
                    saved = states::described(kept, owner, &saved, note).await?;
                }
                Ok(shown(checkpoint(&saved)))
            })
        },
    )
}

pub(super) fn restore() -> Verb {
    verb(
        "sprite_restore",
        ("Restore a sprite", "Restore a sandbox to a previous checkpoint."),
        vec![
            name(),
            Field::text("checkpointId", MAX_TEXT, Absent::Refused, "ID of the checkpoint to restore"),
        ],
        message(),
        REMOVES,
        |kept, mut arguments, caller| {
            Box::pin(async move {
                let owner = &caller.owner;
                let (id, name) = named(kept, &mut arguments, owner)?;
                let wanted = arguments.take_text("checkpointId").unwrap_or_default();
                let restored = with_checkpoint(kept, owner, &id, &wanted, Act::Restore);
                kept.sandboxes.at_one_turn(restored).await?;
                Ok(said(format!("Successfully restored sprite '{name}' to checkpoint '{wanted}'")))
            })
        },
    )
}

/// What is done with a checkpoint.
#[derive(Clone, Copy)]
enum Act {
    Restore,
    Remove,
}

/// Does it with the checkpoint of this id or name, else with the one that is shown by this comment.
async fn with_checkpoint(kept: &Kept, owner: &Owner, id: &SandboxId, wanted: &str, act: Act) -> Result<()> {
    match acted(kept, owner, id, wanted, act).await {
        Err(error) => {
            let meant = commented(kept, owner, id, wanted, error).await?;
            acted(kept, owner, id, &meant, act).await
        }
        done => done,
    }
}

async fn acted(kept: &Kept, owner: &Owner, id: &SandboxId, checkpoint: &str, act: Act) -> Result<()> {
    let (sandboxes, sandbox) = (&kept.sandboxes, by_id(id));
    match act {
        Act::Restore => sandboxes.restore(owner, &sandbox, checkpoint).await.map(drop),
        Act::Remove => sandboxes.remove_checkpoint(owner, &sandbox, checkpoint).await.map(drop),
    }
}

/// The id of the checkpoint that is shown by this comment, the latest of several: one that could be no name is its note.
///
/// # Errors
/// The one that there was, when there is none, or it says that there is another.
async fn commented(
    kept: &Kept,
    owner: &Owner,
    id: &SandboxId,
    comment: &str,
    error: Error,
) -> Result<String> {
    if error.code() != ErrorCode::UnknownCheckpoint {
        return Err(error);
    }
    let all = kept.sandboxes.checkpoints(owner, &by_id(id)).await?;
    let found = all.iter().rfind(|saved| shown_name(saved) == comment);
    found.map(|saved| saved.label.id.as_str().to_owned()).ok_or_else(|| in_words(error, comment))
}

pub(super) fn list() -> Verb {
    let one = sprite_fields().description("A sprite.").build();
    verb(
        "sprite_list",
        ("List sprites", "List all active sandboxes."),
        Vec::new(),
        Object::new().optional("sprites", schema::list(&one, "All of them.")),
        LOOKS,
        |kept, _, caller| {
            Box::pin(async move {
                let all = kept.sandboxes.list(&caller.owner, None, None, MAX_LISTED).await?;
                Ok(listed("sprites", all.iter().map(sprite).collect()))
            })
        },
    )
}

pub(super) fn shutdown() -> Verb {
    verb(
        "sprite_shutdown",
        ("Shut a sprite down", "Shutdown (hibernate) a running sandbox to save resources."),
        vec![name()],
        message(),
        SETTLES,
        |kept, mut arguments, caller| {
            Box::pin(async move {
                let (id, name) = named(kept, &mut arguments, &caller.owner)?;
                kept.sandboxes.stop(&caller.owner, &by_id(&id), StopReason::User).await?;
                Ok(said(format!("Shutdown initiated for sprite '{name}'")))
            })
        },
    )
}

pub(super) fn wake() -> Verb {
    verb(
        "sprite_wake",
        ("Wake a sprite", "Wake (start) a hibernated sandbox."),
        vec![name()],
        message(),
        SETTLES,
        |kept, mut arguments, caller| {
            Box::pin(async move {
                let (id, name) = named(kept, &mut arguments, &caller.owner)?;
                kept.sandboxes.resume(&caller.owner, &by_id(&id)).await?;
                Ok(said(format!("Wake initiated for sprite '{name}'")))
            })
        },
    )
}

pub(super) fn list_checkpoints() -> Verb {
    let one = checkpoint_fields().description("A checkpoint.").build();
    verb(
        "sandbox_list_checkpoints",
        ("List the checkpoints of a sprite", "List all checkpoints for a sandbox."),
        vec![name()],
        Object::new().optional("checkpoints", schema::list(&one, "All of them.")),
        LOOKS,
        |kept, mut arguments, caller| {
            Box::pin(async move {
                let (id, _) = named(kept, &mut arguments, &caller.owner)?;
                let all = kept.sandboxes.checkpoints(&caller.owner, &by_id(&id)).await?;
                Ok(listed("checkpoints", all.iter().map(checkpoint).collect()))
            })
        },
    )
}

pub(super) fn remove_checkpoint() -> Verb {
    verb(
        "sandbox_remove_checkpoint",
        ("Remove a checkpoint of a sprite", "Delete a checkpoint of a sandbox."),
        vec![
            name(),
            Field::text("checkpointId", MAX_TEXT, Absent::Refused, "ID of the checkpoint to remove"),
        ],
        message(),
        REMOVES,
        |kept, mut arguments, caller| {
            Box::pin(async move {
                let owner = &caller.owner;
                let (id, name) = named(kept, &mut arguments, owner)?;
                let wanted = arguments.take_text("checkpointId").unwrap_or_default();
                with_checkpoint(kept, owner, &id, &wanted, Act::Remove).await?;
                Ok(said(format!("Removed checkpoint '{wanted}' of sprite '{name}'")))
            })
        },
    )
}

pub(super) fn destroy() -> Verb {
    verb(
        "sandbox_destroy",
        ("Destroy a sprite", "Delete a sandbox with its files and checkpoints."),
        vec![name()],
        message(),
        REMOVES,
        |kept, mut arguments, caller| {
            Box::pin(async move {
                let (id, name) = named(kept, &mut arguments, &caller.owner)?;
                kept.sandboxes.destroy(&caller.owner, &by_id(&id)).await?;
                Ok(said(format!("Destroyed sprite '{name}'")))
            })
        },
    )
}
