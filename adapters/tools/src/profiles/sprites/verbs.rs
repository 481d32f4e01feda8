//! The seven tools of the seed and the three that it lacks, each one call.

use std::time::Duration;

use dormouse_core::sandbox::{Include, Name, Note, Owner, SandboxId, StopReason};
use dormouse_core::sandboxes::{Asked, CommandLine};
use dormouse_core::{Error, ErrorCode, Limits, Result};
use serde_json::{Map, Value as Json};

use super::{MAX_TEXT, Said, Saved, Sprite, in_words, limits, listed, named, said, shown, shown_name};
use crate::call::{Answer, Caller, fallback};
use crate::services::{Services, by_id};
use crate::spec::{
    CHANGES, Flat, Inline, LOOKS, Nested, Nothing, Order, REMOVES, Role, Row, SETTLES, answer, arguments,
    number, object, text,
};
use crate::verbs::clone::Repository;
use crate::verbs::{Verb, exec, states};

/// Sandboxes of a list.
const MAX_LISTED: usize = 1_000;

/// The row that nearly all have.
fn name_row() -> Row<String> {
    text(MAX_TEXT, "Name or ID of the sprite").role(Role::Sandbox)
}

arguments! {
    /// What the tools are asked that only name a sprite.
    pub(super) struct Named {
        name: String = name_row(),
    }
}

arguments! {
    /// What `sprite_create` is asked.
    pub(super) struct Create {
        name: String = text::<String>(MAX_TEXT, "Name of the sprite").role(Role::Sandbox),
        repository as "repoUrl": Option<String> =
            text::<String>(MAX_TEXT, "Optional Git repository URL to clone").optional(),
        // Taken as it is answered; the listing is the seed's, which does not name it.
        limits as "resourceLimits": Option<Map<String, Json>> =
            object("Processors and MB of memory that it may use").optional(),
    }
}

answer! {
    /// The sprite that was made.
    pub(super) struct Created {
        sprite: Flat<Sprite> = Inline,
        limits as "resourceLimits": Nested<limits::Shown> = "What it may use.",
    }
}

pub(super) fn create() -> Verb<Create, Created> {
    Verb {
        name: "sprite_create",
        title: "Create a sprite",
        description: "Create a new sandbox environment (sprite).",
        arguments: Create::table(),
        annotations: CHANGES,
        order: Order::Makes,
        run: |services, caller, asked| Box::pin(make(services, caller, asked)),
    }
}

async fn make(services: &Services, caller: &Caller, asked: Create) -> Result<Answer<Created>> {
    let Create { name, repository, limits } = asked;
    let repository = repository.map(|address| Repository { address, branch: None });
    if SandboxId::of(&name).is_some() {
        return Err(
            Error::args_invalid("a sprite cannot be called like an ID").with_hint("choose another name")
        );
    }
    let parsed = Some(Name::parse(&name)?);
    let mut spec = services.spec(false);
    limits::set(&mut spec, limits.unwrap_or_default(), services.sandboxes.rules())?;
    let begins = repository.map(|repository| repository.beginning(services, caller)).transpose()?;
    let wanted = Asked { name: parsed, spec: Some(spec), ..Asked::default() };
    let made = services.sandboxes.create_with(&caller.owner, wanted, begins).await;
    let (view, _) = made.map_err(|error| match error.code() {
        ErrorCode::NameTaken => in_words(error, &name),
        _ => error,
    })?;
    Ok(shown(|| Created {
        sprite: Flat(Sprite::from(&view)),
        limits: Nested(limits::shown(&view.sandbox.spec)),
    }))
}

arguments! {
    /// What `sprite_exec` is asked.
    pub(super) struct Exec {
        name: String = name_row(),
        command: String = text(MAX_TEXT, "Command to execute"),
        timeout: u64 = number((1, 3_600_000), "Timeout in milliseconds (default: 30000)").or(30_000),
    }
}

answer! {
    /// What came of a command, in the seed's words.
    pub(super) struct Executed {
        stdout: String = "Standard output from the command",
        stderr: String = "Standard error from the command",
        exit_code as "exitCode": i32 = "Exit code (0 = success)",
        duration_ms as "durationMs": u64 = "Execution time in milliseconds",
        fallback_from: Option<&'static str> = fallback::schema(),
    }
}

impl From<&exec::Shown> for Executed {
    fn from(done: &exec::Shown) -> Self {
        Self {
            stdout: done.stdout().to_owned(),
            stderr: done.stderr().to_owned(),
            exit_code: done.exit_code(),
            duration_ms: done.whole_milliseconds(),
            fallback_from: done.fallback_from(),
        }
    }
}

pub(super) fn exec() -> Verb<Exec, Executed> {
    Verb {
        name: "sprite_exec",
        title: "Execute a command in a sprite",
        description: "Execute a shell command inside a sandbox.",
        arguments: Exec::table(),
        annotations: CHANGES,
        order: Order::Works,
        run: |services, caller, asked| Box::pin(execute(services, caller, asked)),
    }
}

async fn execute(services: &Services, caller: &Caller, asked: Exec) -> Result<Answer<Executed>> {
    let id = named(services, &asked.name, &caller.owner)?;
    let mut line = CommandLine::new(asked.command);
    let wall = Duration::from_millis(asked.timeout);
    line.wall = wall.max(Limits::MIN_WALL).min(services.sandboxes.rules().command);
    line.sink = caller.output.clone();
    let done = exec::run_line(services, &caller.owner, &id, line).await?;
    let answer = shown(|| Executed::from(&done));
    Ok(match done.stopped() {
        Some(error) => {
            let text = format!("Error: {error}\n{}{}", done.stdout(), done.stderr());
            answer.with_text(text).failed()
        }
        None => answer,
    })
}

arguments! {
    /// What `sprite_checkpoint` is asked.
    pub(super) struct Save {
        name: String = name_row(),
        comment as "checkpointName": Option<String> =
            text::<String>(MAX_TEXT, "Optional name/comment for the checkpoint").optional(),
    }
}

pub(super) fn save() -> Verb<Save, Saved> {
    Verb {
        name: "sprite_checkpoint",
        title: "Checkpoint a sprite",
        description: "Create a checkpoint (snapshot) of a sandbox's current state.",
        arguments: Save::table(),
        annotations: CHANGES,
        order: Order::Saves,
        run: |services, caller, asked| Box::pin(keep(services, caller, asked)),
    }
}

async fn keep(services: &Services, caller: &Caller, asked: Save) -> Result<Answer<Saved>> {
    let Save { name, comment } = asked;
    let owner = &caller.owner;
    // A comment that cannot be a name is a note.
    let title = comment.as_deref().and_then(|text| Name::parse(text).ok());
    let note = comment.filter(|_| title.is_none()).map(|text| Note::parse(&text)).transpose()?;
    let id = named(services, &name, owner)?;
    let (mut saved, _) = services.sandboxes.checkpoint(owner, &by_id(&id), title, Include::Both).await?;
    if note.is_some() {
        saved = states::described(services, owner, &saved, note).await?;
    }
    Ok(shown(|| Saved::from(&saved)))
}

arguments! {
    /// What `sprite_restore` is asked.
    pub(super) struct Restore {
        name: String = name_row(),
        checkpoint as "checkpointId": String =
            text::<String>(MAX_TEXT, "ID of the checkpoint to restore").role(Role::Checkpoint),
    }
}

pub(super) fn restore() -> Verb<Restore, Said> {
    Verb {
        name: "sprite_restore",
        title: "Restore a sprite",
        description: "Restore a sandbox to a previous checkpoint.",
        arguments: Restore::table(),
        annotations: REMOVES,
        order: Order::Saves,
        run: |services, caller, Restore { name, checkpoint }| {
            Box::pin(async move {
                let owner = &caller.owner;
                let id = named(services, &name, owner)?;
                let restored = with_checkpoint(services, owner, &id, &checkpoint, Act::Restore);
                services.sandboxes.at_one_turn(restored).await?;
                Ok(said(format!("Successfully restored sprite '{name}' to checkpoint '{checkpoint}'")))
            })
        },
    }
}

/// What is done with a checkpoint.
#[derive(Clone, Copy)]
enum Act {
    Restore,
    Remove,
}

/// Does it with the checkpoint of this id or name, else with the one that is shown by this comment.
async fn with_checkpoint(
    services: &Services,
    owner: &Owner,
    id: &SandboxId,
    wanted: &str,
    act: Act,
) -> Result<()> {
    match acted(services, owner, id, wanted, act).await {
        Err(error) => {
            let meant = commented(services, owner, id, wanted, error).await?;
            acted(services, owner, id, &meant, act).await
        }
        done => done,
    }
}

async fn acted(services: &Services, owner: &Owner, id: &SandboxId, checkpoint: &str, act: Act) -> Result<()> {
    let (sandboxes, sandbox) = (&services.sandboxes, by_id(id));
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
    services: &Services,
    owner: &Owner,
    id: &SandboxId,
    comment: &str,
    error: Error,
) -> Result<String> {
    if error.code() != ErrorCode::UnknownCheckpoint {
        return Err(error);
    }
    let all = services.sandboxes.checkpoints(owner, &by_id(id)).await?;
    let found = all.iter().rfind(|saved| shown_name(saved) == comment);
    found.map(|saved| saved.label.id.as_str().to_owned()).ok_or_else(|| in_words(error, comment))
}

answer! {
    /// All sprites.
    pub(super) struct Sprites {
        sprites: Vec<Sprite> = "All of them.",
    }
}

pub(super) fn list() -> Verb<Nothing, Sprites> {
    Verb {
        name: "sprite_list",
        title: "List sprites",
        description: "List all active sandboxes.",
        arguments: Nothing::table(),
        annotations: LOOKS,
        order: Order::Lists,
        run: |services, caller, _| {
            Box::pin(async move {
                let all = services.sandboxes.list(&caller.owner, None, None, MAX_LISTED).await?;
                Ok(listed(|| all.iter().map(Sprite::from).collect(), |sprites| Sprites { sprites }))
            })
        },
    }
}

pub(super) fn shutdown() -> Verb<Named, Said> {
    Verb {
        name: "sprite_shutdown",
        title: "Shut a sprite down",
        description: "Shutdown (hibernate) a running sandbox to save resources.",
        arguments: Named::table(),
        annotations: SETTLES,
        order: Order::Works,
        run: |services, caller, Named { name }| {
            Box::pin(async move {
                let id = named(services, &name, &caller.owner)?;
                services.sandboxes.stop(&caller.owner, &by_id(&id), StopReason::User).await?;
                Ok(said(format!("Shutdown initiated for sprite '{name}'")))
            })
        },
    }
}

pub(super) fn wake() -> Verb<Named, Said> {
    Verb {
        name: "sprite_wake",
        title: "Wake a sprite",
        description: "Wake (start) a hibernated sandbox.",
        arguments: Named::table(),
        annotations: SETTLES,
        order: Order::Works,
        run: |services, caller, Named { name }| {
            Box::pin(async move {
                let id = named(services, &name, &caller.owner)?;
                services.sandboxes.resume(&caller.owner, &by_id(&id)).await?;
                Ok(said(format!("Wake initiated for sprite '{name}'")))
            })
        },
    }
}

answer! {
    /// The checkpoints of a sprite.
    pub(super) struct Checkpoints {
        checkpoints: Vec<Saved> = "All of them.",
    }
}

pub(super) fn list_checkpoints() -> Verb<Named, Checkpoints> {
    Verb {
        name: "sandbox_list_checkpoints",
        title: "List the checkpoints of a sprite",
        description: "List all checkpoints for a sandbox.",
        arguments: Named::table(),
        annotations: LOOKS,
        order: Order::Looks,
        run: |services, caller, Named { name }| {
            Box::pin(async move {
                let id = named(services, &name, &caller.owner)?;
                let all = services.sandboxes.checkpoints(&caller.owner, &by_id(&id)).await?;
                let saved = || all.iter().map(Saved::from).collect();
                Ok(listed(saved, |checkpoints| Checkpoints { checkpoints }))
            })
        },
    }
}

arguments! {
    /// What `sandbox_remove_checkpoint` is asked.
    pub(super) struct Remove {
        name: String = name_row(),
        checkpoint as "checkpointId": String =
            text::<String>(MAX_TEXT, "ID of the checkpoint to remove").role(Role::Checkpoint),
    }
}

pub(super) fn remove_checkpoint() -> Verb<Remove, Said> {
    Verb {
        name: "sandbox_remove_checkpoint",
        title: "Remove a checkpoint of a sprite",
        description: "Delete a checkpoint of a sandbox.",
        arguments: Remove::table(),
        annotations: REMOVES,
        order: Order::Checkpoints,
        run: |services, caller, Remove { name, checkpoint }| {
            Box::pin(async move {
                let owner = &caller.owner;
                let id = named(services, &name, owner)?;
                with_checkpoint(services, owner, &id, &checkpoint, Act::Remove).await?;
                Ok(said(format!("Removed checkpoint '{checkpoint}' of sprite '{name}'")))
            })
        },
    }
}

pub(super) fn destroy() -> Verb<Named, Said> {
    Verb {
        name: "sandbox_destroy",
        title: "Destroy a sprite",
        description: "Delete a sandbox with its files and checkpoints.",
        arguments: Named::table(),
        annotations: REMOVES,
        order: Order::Makes,
        run: |services, caller, Named { name }| {
            Box::pin(async move {
                let id = named(services, &name, &caller.owner)?;
                services.sandboxes.destroy(&caller.owner, &by_id(&id)).await?;
                Ok(said(format!("Destroyed sprite '{name}'")))
            })
        },
    }
}
