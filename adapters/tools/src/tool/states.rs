//! `sandbox_checkpoint`, `sandbox_restore`, `sandbox_list_checkpoints`, `sandbox_describe_checkpoint`, `sandbox_remove_checkpoint`,
//! `sandbox_history`, `sandbox_fork`.

use dormouse_core::Result;
use dormouse_core::sandbox::{Checkpoint, Description, Include, Name, Note, Owner, ProviderName};
use dormouse_core::sandboxes::Step;
use serde_json::json;

use super::verb::{Answer, CHANGES, Kept, LOOKS, REMOVES, SETTLES, Verb, by_id, naming};
use super::{lost, shown};
use crate::decode::Arguments;
use crate::field::{Absent, Field, Kind};
use crate::schema::{self, Object};
use crate::time::iso8601;

/// Most sandboxes that one call makes.
const MAX_FORKS: u64 = 100;
/// Bytes of a note that are looked at.
const MAX_NOTE: usize = 4 << 10;
/// Bytes of a checkpoint's id that are looked up.
const MAX_ID: usize = 64 << 10;

pub(crate) fn checkpoint() -> Verb {
    Verb {
        name: "sandbox_checkpoint",
        title: "Checkpoint a sandbox",
        description: "Saves the state of a sandbox, so that sandbox_restore can go back to it and sandbox_fork can begin \
            from it. Variables, functions and imported modules are saved as they are in memory, and all files. Use it \
            before something risky. It takes milliseconds and stores only what has changed. Files that are open \
            stay open, and are part of it.",
        fields: naming([
            Field::text(
                "name",
                4 << 10,
                Absent::None,
                "What to call it, at most 64 characters. Default none.",
            ),
            Field::text(
                "note",
                MAX_NOTE,
                Absent::None,
                "What to say of it, at most 1000 characters. Default none.",
            ),
            Field::choice(
                "include",
                &["both", "memory", "files"],
                "`both` (default), only the variables (`memory`), or only the `files`.",
            ),
        ]),
        output: lost::noted(shown::checkpoint_fields().optional(
            "closed_files",
            schema::list(
                &schema::text("Path."),
                "Files that were open and are no part of it; none on the provider wasm.",
            ),
        ))
        .optional("not_held", shown::not_held()),
        annotations: CHANGES,
        run: |kept, arguments, caller| Box::pin(save(kept, arguments, &caller.owner)),
    }
}

async fn save(kept: &Kept, mut arguments: Arguments, owner: &Owner) -> Result<Answer> {
    let name = arguments.take_text("name").map(|name| Name::parse(&name)).transpose()?;
    let note = arguments.take_text("note").map(|note| Note::parse(&note)).transpose()?;
    let include = match arguments.take_text("include").as_deref() {
        Some("memory") => Include::Memory,
        Some("files") => Include::Files,
        _ => Include::Both,
    };
    let id = kept.there(&mut arguments, owner)?;
    let (mut saved, mut closed) = kept.sandboxes.checkpoint(owner, &by_id(&id), name, include).await?;
    if note.is_some() {
        saved = described(kept, owner, &saved, note).await?;
    }
    closed.truncate(100);
    let mut answer = shown::checkpoint(&saved);
    answer["closed_files"] = closed.into();
    lost::note(&mut answer, &kept.sandboxes.notes_of(&saved.state));
    let container = kept.sandboxes.get(owner, &by_id(&id))?.sandbox.spec.provider == ProviderName::Docker;
    if include == Include::Both && container {
        answer["not_held"] = shown::languages(&kept.sandboxes.not_held(&saved.state));
    }
    Ok(answer.into())
}

/// A checkpoint that has just been made, with its note; without it there is none.
///
/// # Errors
/// What keeps the note from being written.
pub(crate) async fn described(
    kept: &Kept,
    owner: &Owner,
    saved: &Checkpoint,
    note: Option<Note>,
) -> Result<Checkpoint> {
    let (handle, id) = (by_id(&saved.label.sandbox), saved.label.id.as_str());
    let description = Description { note: Some(note), ..Description::default() };
    match kept.sandboxes.describe_checkpoint(owner, &handle, id, description).await {
        Ok(described) => Ok(described),
        Err(error) => {
            kept.sandboxes.remove_checkpoint(owner, &handle, id).await?;
            Err(error)
        }
    }
}

pub(crate) fn restore() -> Verb {
    Verb {
        name: "sandbox_restore",
        title: "Restore a checkpoint",
        description: "Puts a sandbox back to one of its own checkpoints, or to where it was before a step that \
            sandbox_history tells. What was changed since then is gone, in variables \
            and in files, as far as the checkpoint holds them. To keep the present state, make a checkpoint of it first. \
            A checkpoint of another sandbox is refused: fork from it instead.",
        fields: naming([Field::text(
            "checkpoint_id",
            MAX_ID,
            Absent::Refused,
            "Id or name of a checkpoint, as sandbox_list_checkpoints tells it; or a step of sandbox_history.",
        )]),
        output: lost::noted(
            Object::new()
                .optional("sandbox_id", schema::text("The sandbox."))
                .optional("checkpoint_id", schema::text("The checkpoint, or the step."))
                .optional("message", schema::text("What was done, and what could not be restored.")),
        ),
        annotations: REMOVES,
        run: |kept, arguments, caller| Box::pin(go_back(kept, arguments, &caller.owner)),
    }
}

async fn go_back(kept: &Kept, mut arguments: Arguments, owner: &Owner) -> Result<Answer> {
    let id = kept.there(&mut arguments, owner)?;
    let checkpoint = arguments.take_text("checkpoint_id").unwrap_or_default();
    let (sandbox, moment) = if checkpoint.starts_with(Step::PREFIX) {
        let sandbox = kept.sandboxes.go_back(owner, &by_id(&id), &checkpoint).await?;
        (sandbox, format!("before `{checkpoint}`"))
    } else {
        let (sandbox, restored) = kept.sandboxes.restore(owner, &by_id(&id), &checkpoint).await?;
        let moment = match (restored.label.include, sandbox.spec.provider) {
            (Include::Files, ProviderName::Docker) => {
                format!("at `{checkpoint}`, in its files; its variables begin anew")
            }
            _ => format!("at `{checkpoint}`"),
        };
        (sandbox, moment)
    };
    let notes = kept.sandboxes.notes(&sandbox);
    let mut message = format!("The sandbox `{}` is as it was {moment}.", sandbox.name);
    for gone in &notes.lost {
        let (language, recovery) = (&gone.language, gone.recovery.as_str());
        message.push_str(&format!(" The variables of {language} are not: {recovery} ({}).", gone.reason));
    }
    let mut answer = json!({"sandbox_id": id.as_str(), "checkpoint_id": checkpoint, "message": message});
    lost::note(&mut answer, &notes);
    Ok(Answer::from(answer).with_text(message))
}

pub(crate) fn list_checkpoints() -> Verb {
    let checkpoint = shown::checkpoint_fields().description("A checkpoint.").build();
    Verb {
        name: "sandbox_list_checkpoints",
        title: "List checkpoints",
        description: "Lists the checkpoints of a sandbox, oldest first. Use it to find the id that sandbox_restore or \
            sandbox_fork wants. It does not wake the sandbox.",
        fields: naming([]),
        output: Object::new().optional("checkpoints", schema::list(&checkpoint, "All of them.")),
        annotations: LOOKS,
        run: |kept, mut arguments, caller| {
            Box::pin(async move {
                let owner = &caller.owner;
                let id = kept.there(&mut arguments, owner)?;
                let all = kept.sandboxes.checkpoints(owner, &by_id(&id)).await?;
                Ok(json!({"checkpoints": all.iter().map(shown::checkpoint).collect::<Vec<_>>()}).into())
            })
        },
    }
}

pub(crate) fn describe_checkpoint() -> Verb {
    let text =
        |name, most, what| Field::new(name, Kind::Text { min: 0, max: most, absent: Absent::None }, what);
    Verb {
        name: "sandbox_describe_checkpoint",
        title: "Rename or describe a checkpoint",
        description: "Gives a checkpoint another name or another note. What is left out stays; an empty text removes it. The state \
            that the checkpoint holds stays as it is.",
        fields: naming([
            Field::text(
                "checkpoint_id",
                MAX_ID,
                Absent::Refused,
                "Id or name of a checkpoint of this sandbox; of one name the latest.",
            ),
            text("name", 4 << 10, "What to call it, at most 64 characters. Default: as before."),
            text("note", MAX_NOTE, "What to say of it, at most 1000 characters. Default: as before."),
        ]),
        output: shown::checkpoint_fields(),
        annotations: SETTLES,
        run: |kept, mut arguments, caller| {
            Box::pin(async move {
                let owner = &caller.owner;
                let mut text = |field| arguments.take_text(field);
                let filled = |text: String| Some(text).filter(|text| !text.is_empty());
                let (name, note) = (text("name").map(filled), text("note").map(filled));
                let description = Description {
                    name: name.map(|name| name.as_deref().map(Name::parse).transpose()).transpose()?,
                    note: note.map(|note| note.as_deref().map(Note::parse).transpose()).transpose()?,
                };
                let id = kept.there(&mut arguments, owner)?;
                let wanted = arguments.take_text("checkpoint_id").unwrap_or_default();
                let handle = by_id(&id);
                let told = kept.sandboxes.describe_checkpoint(owner, &handle, &wanted, description).await?;
                Ok(shown::checkpoint(&told).into())
            })
        },
    }
}

pub(crate) fn remove_checkpoint() -> Verb {
    Verb {
        name: "sandbox_remove_checkpoint",
        title: "Remove a checkpoint",
        description: "Removes one checkpoint of a sandbox for good. Use it when a checkpoint is not needed any more, or when a quota is \
            exceeded: each sandbox can have so many, and what only a checkpoint holds takes room. The sandbox itself, its other \
            checkpoints and what was forked from this one stay as they are. The room is given back a little later.",
        fields: naming([Field::text(
            "checkpoint_id",
            MAX_ID,
            Absent::Refused,
            "Id or name of a checkpoint of this sandbox; of one name the latest is removed.",
        )]),
        output: Object::new()
            .optional("sandbox_id", schema::text("The sandbox."))
            .optional("checkpoint_id", schema::text("The id of the checkpoint that is gone."))
            .optional("message", schema::text("What was done.")),
        annotations: REMOVES,
        run: |kept, mut arguments, caller| {
            Box::pin(async move {
                let owner = &caller.owner;
                let id = kept.there(&mut arguments, owner)?;
                let wanted = arguments.take_text("checkpoint_id").unwrap_or_default();
                let gone = kept.sandboxes.remove_checkpoint(owner, &by_id(&id), &wanted).await?;
                let gone = gone.label.id.as_str();
                let message = format!("The checkpoint `{gone}` is removed.");
                let answer = json!({"sandbox_id": id.as_str(), "checkpoint_id": gone, "message": message});
                Ok(Answer::from(answer).with_text(message))
            })
        },
    }
}

pub(crate) fn history() -> Verb {
    let step = Object::new()
        .description("A run.")
        .required("step", schema::text("Its id, for sandbox_restore."))
        .required("at", schema::text("When it began, UTC."))
        .required("language", schema::text("Its language."))
        .required("code", schema::text("The beginning of its code."))
        .required("ended", schema::text("returned, raised, exited or stopped."))
        .build();
    Verb {
        name: "sandbox_history",
        title: "Last steps of a sandbox",
        description: "Lists the last runs of a sandbox, oldest first. Pass a step to sandbox_restore to undo it and \
            everything after it, without a checkpoint. Steps are kept while the sandbox is awake, at most 16, fewer when \
            its state is large; a run that began with open files is not among them.",
        fields: naming([]),
        output: Object::new().optional("steps", schema::list(&step, "The steps.")),
        annotations: LOOKS,
        run: |kept, mut arguments, caller| {
            Box::pin(async move {
                let owner = &caller.owner;
                let id = kept.there(&mut arguments, owner)?;
                let steps = kept.sandboxes.history(owner, &by_id(&id)).await?;
                let shown = steps.iter().map(|step| {
                    json!({
                        "step": step.id,
                        "at": iso8601(step.at),
                        "language": step.language.as_str(),
                        "code": step.code,
                        "ended": step.ended,
                    })
                });
                Ok(json!({"steps": shown.collect::<Vec<_>>()}).into())
            })
        },
    }
}

pub(crate) fn fork() -> Verb {
    let sandbox = Object::new()
        .description("A new sandbox.")
        .required("id", schema::text("Its id."))
        .required("name", schema::text("Its name."))
        .build();
    Verb {
        name: "sandbox_fork",
        title: "Fork a sandbox",
        description: "Makes new sandboxes that begin where this one is now, or where a checkpoint was: the same variables, \
            modules and files. Use it to try several ways from one state without repeating the work before it. Forks share \
            what they do not change, so they cost little. This sandbox stays as it is.",
        fields: naming([
            Field::integer(
                "count",
                (1, MAX_FORKS),
                Absent::Default(1),
                "How many, all or none. Default 1, at most 100.",
            ),
            Field::text(
                "checkpoint_id",
                MAX_ID,
                Absent::None,
                "Id of one of your checkpoints, or name of one of this sandbox's, to begin from. Default: the state of now.",
            ),
        ]),
        output: lost::noted(
            Object::new()
                .optional("sandbox_id", schema::text("The sandbox that was forked."))
                .optional("sandboxes", schema::list(&sandbox, "The new ones.")),
        ),
        annotations: CHANGES,
        run: |kept, arguments, caller| Box::pin(multiply(kept, arguments, &caller.owner)),
    }
}

async fn multiply(kept: &Kept, mut arguments: Arguments, owner: &Owner) -> Result<Answer> {
    let id = kept.there(&mut arguments, owner)?;
    let count = usize::try_from(arguments.integer("count").unwrap_or(1)).unwrap_or_default();
    let checkpoint = arguments.take_text("checkpoint_id");
    let forks = kept.sandboxes.fork(owner, &by_id(&id), count, checkpoint.as_deref()).await?;
    let notes = forks.first().map(|fork| kept.sandboxes.notes(&fork.sandbox)).unwrap_or_default();
    let shown =
        forks.iter().map(|fork| json!({"id": fork.sandbox.id.as_str(), "name": fork.sandbox.name.as_str()}));
    let mut answer = json!({"sandbox_id": id.as_str(), "sandboxes": shown.collect::<Vec<_>>()});
    lost::note(&mut answer, &notes);
    Ok(answer.into())
}
