//! `sandbox_checkpoint`, `sandbox_restore`, `sandbox_list_checkpoints`, `sandbox_describe_checkpoint`, `sandbox_remove_checkpoint`,
//! `sandbox_history`, `sandbox_fork`.

use dormouse_core::sandbox::{
    Checkpoint, CheckpointId, Description, Include, Name, Note, Owner, SandboxId, Timestamp,
};
use dormouse_core::sandboxes::Step;
use dormouse_core::{GuestName, Result};

use super::Verb;
use super::life::Named;
use super::lost::Noted;
use super::shown::{self, CheckpointShown};
use crate::call::{Answer, Caller};
use crate::services::{Services, Target, by_id, found};
use crate::spec::{
    CHANGES, Flat, Inline, LOOKS, Order, REMOVES, Role, SETTLES, answer, any_text, arguments, choice,
    integer, list_of, text, words,
};

/// Most sandboxes that one call makes.
const MAX_FORKS: u64 = 100;
/// Bytes of a name or note that are looked at.
const MAX_NOTE: usize = 4 << 10;
/// Bytes of a checkpoint's id that are looked up.
const MAX_ID: usize = 64 << 10;
/// Most names of closed files in one answer.
const MAX_CLOSED: usize = 100;

words! {
    /// What a checkpoint holds.
    pub(crate) enum IncludeWord {
        /// Variables and files.
        Both = "both",
        /// Only variables.
        Memory = "memory",
        /// Only files.
        Files = "files",
    }
}

impl From<IncludeWord> for Include {
    fn from(word: IncludeWord) -> Self {
        match word {
            IncludeWord::Both => Self::Both,
            IncludeWord::Memory => Self::Memory,
            IncludeWord::Files => Self::Files,
        }
    }
}

arguments! {
    /// What `sandbox_checkpoint` is asked.
    pub(crate) struct Save {
        target: Target = Target::table(),
        name: Option<Name> =
            text::<Name>(MAX_NOTE, "Name of the checkpoint, at most 64 characters. Default none.").optional(),
        note: Option<Note> =
            text::<Note>(MAX_NOTE, "Note about it, at most 1000 characters. Default none.").optional(),
        include: IncludeWord = choice("`both` (default), only the variables (`memory`), or only the `files`."),
    }
}

answer! {
    /// A checkpoint that was made.
    pub(crate) struct Saved {
        checkpoint: Flat<CheckpointShown> = Inline,
        closed_files: Vec<String> =
            list_of("Path.", "Files that were open and are no part of it; none on the provider wasm."),
        noted: Flat<Noted> = Inline,
        not_held: Option<Vec<GuestName>> = shown::not_held(),
    }
}

pub(crate) fn checkpoint() -> Verb<Save, Saved> {
    Verb {
        name: "sandbox_checkpoint",
        title: "Checkpoint a sandbox",
        description: "Saves the state of a sandbox, so that sandbox_restore can go back to it and sandbox_fork can begin \
            from it. Variables, functions and imported modules are saved as they are in memory, and all files. Use it \
            before something risky. It takes milliseconds and stores only what has changed. Open files stay open and \
            are part of the checkpoint.",
        arguments: Save::table(),
        annotations: CHANGES,
        order: Order::Saves,
        run: |services, caller, asked| Box::pin(save(services, caller, asked)),
    }
}

async fn save(services: &Services, caller: &Caller, asked: Save) -> Result<Answer<Saved>> {
    let Save { target, name, note, include } = asked;
    let (sandboxes, owner) = (&services.sandboxes, &caller.owner);
    let sandbox = services.there(&target, owner)?;
    let (mut saved, mut closed) = sandboxes.checkpoint(owner, &found(&sandbox), name, include.into()).await?;
    if note.is_some() {
        saved = described(services, owner, &saved, note).await?;
    }
    closed.truncate(MAX_CLOSED);
    let container = sandboxes.get(owner, &found(&sandbox))?.sandbox.spec.provider.is_container();
    let answer = Saved {
        checkpoint: Flat(CheckpointShown::from(&saved)),
        closed_files: closed,
        noted: Flat(Noted::from(&sandboxes.notes_of(&saved.state))),
        not_held: (include == IncludeWord::Both && container).then(|| sandboxes.not_held(&saved.state)),
    };
    Ok(answer.into())
}

/// A checkpoint that has just been made, with its note; without it there is none.
///
/// # Errors
/// What keeps the note from being written.
pub(crate) async fn described(
    services: &Services,
    owner: &Owner,
    saved: &Checkpoint,
    note: Option<Note>,
) -> Result<Checkpoint> {
    let (handle, id) = (by_id(&saved.label.sandbox), saved.label.id.as_str());
    let description = Description { note: Some(note), ..Description::default() };
    match services.sandboxes.describe_checkpoint(owner, &handle, id, description).await {
        Ok(described) => Ok(described),
        Err(error) => {
            services.sandboxes.remove_checkpoint(owner, &handle, id).await?;
            Err(error)
        }
    }
}

arguments! {
    /// What `sandbox_restore` is asked.
    pub(crate) struct Restore {
        target: Target = Target::table(),
        checkpoint_id: String = text(
            MAX_ID,
            "Id or name of a checkpoint, as sandbox_list_checkpoints tells it; or a step of sandbox_history.",
        ).characters(Name::MAX_CHARS).role(Role::Checkpoint),
    }
}

answer! {
    /// What was restored.
    pub(crate) struct Restored {
        sandbox_id: SandboxId = "The sandbox.",
        checkpoint_id: String = "The checkpoint, or the step.",
        message: String = "What was done, and what could not be restored.",
        noted: Flat<Noted> = Inline,
    }
}

pub(crate) fn restore() -> Verb<Restore, Restored> {
    Verb {
        name: "sandbox_restore",
        title: "Restore a checkpoint",
        description: "Restores a sandbox to one of its own checkpoints, or to its state before a step of \
            sandbox_history. Later changes are lost, in variables and files, as far as the checkpoint holds them. To \
            keep the current state, create a checkpoint first. \
            A checkpoint of another sandbox is refused: fork from it instead.",
        arguments: Restore::table(),
        annotations: REMOVES,
        order: Order::Saves,
        run: |services, caller, asked| Box::pin(go_back(services, caller, asked)),
    }
}

async fn go_back(services: &Services, caller: &Caller, asked: Restore) -> Result<Answer<Restored>> {
    let Restore { target, checkpoint_id } = asked;
    let (sandboxes, owner) = (&services.sandboxes, &caller.owner);
    let sandbox = services.there(&target, owner)?;
    let (sandbox, moment) = if checkpoint_id.starts_with(Step::PREFIX) {
        let sandbox = sandboxes.go_back(owner, &found(&sandbox), &checkpoint_id).await?;
        (sandbox, format!("before `{checkpoint_id}`"))
    } else {
        let (sandbox, restored) = sandboxes.restore(owner, &found(&sandbox), &checkpoint_id).await?;
        let moment = match (restored.label.include, sandbox.spec.provider) {
            (Include::Files, provider) if provider.is_container() => {
                format!("at `{checkpoint_id}`, in its files; its variables are fresh")
            }
            _ => format!("at `{checkpoint_id}`"),
        };
        (sandbox, moment)
    };
    let notes = sandboxes.notes(&sandbox);
    let mut message = format!("The sandbox `{}` is as it was {moment}.", sandbox.name);
    for gone in &notes.lost {
        let (language, recovery) = (&gone.guest, gone.recovery.as_str());
        message.push_str(&format!(" The variables of {language} are not: {recovery} ({}).", gone.reason));
    }
    let noted = Flat(Noted::from(&notes));
    let answer = Restored { sandbox_id: sandbox.id, checkpoint_id, message: message.clone(), noted };
    Ok(Answer::from(answer).with_text(message))
}

answer! {
    /// The checkpoints of a sandbox.
    pub(crate) struct Listed {
        checkpoints: Vec<CheckpointShown> = "All of them.",
    }
}

pub(crate) fn list_checkpoints() -> Verb<Named, Listed> {
    Verb {
        name: "sandbox_list_checkpoints",
        title: "List checkpoints",
        description: "Lists the checkpoints of a sandbox, oldest first. Use it to find the id for sandbox_restore or \
            sandbox_fork. It does not wake the sandbox.",
        arguments: Named::table(),
        annotations: LOOKS,
        order: Order::Looks,
        run: |services, caller, Named { target }| {
            Box::pin(async move {
                let sandbox = services.there(&target, &caller.owner)?;
                let all = services.sandboxes.checkpoints(&caller.owner, &found(&sandbox)).await?;
                Ok(Listed { checkpoints: all.iter().map(CheckpointShown::from).collect() }.into())
            })
        },
    }
}

arguments! {
    /// What `sandbox_describe_checkpoint` is asked. An empty text takes away what there was.
    pub(crate) struct Describe {
        target: Target = Target::table(),
        checkpoint_id: String =
            text(MAX_ID, "Id or name of a checkpoint of this sandbox; a name means the latest checkpoint that has it.")
                .characters(Name::MAX_CHARS).role(Role::Checkpoint),
        name: Option<String> =
            any_text(MAX_NOTE, "Name of the checkpoint, at most 64 characters. Default: as before.")
                .characters(Name::MAX_CHARS)
                .optional(),
        note: Option<String> =
            any_text(MAX_NOTE, "Note about it, at most 1000 characters. Default: as before.").characters(Note::MAX_CHARS).optional(),
    }
}

pub(crate) fn describe_checkpoint() -> Verb<Describe, CheckpointShown> {
    Verb {
        name: "sandbox_describe_checkpoint",
        title: "Rename or describe a checkpoint",
        description: "Changes the name or the note of a checkpoint. An omitted argument changes nothing; an empty \
            text removes the value. The state \
            that the checkpoint holds stays as it is.",
        arguments: Describe::table(),
        annotations: SETTLES,
        order: Order::Checkpoints,
        run: |services, caller, asked| Box::pin(describe(services, caller, asked)),
    }
}

async fn describe(services: &Services, caller: &Caller, asked: Describe) -> Result<Answer<CheckpointShown>> {
    let filled = |text: &String| !text.is_empty();
    let (name, note) = (asked.name, asked.note);
    let description = Description {
        name: name
            .map(|text| Some(text).filter(filled).as_deref().map(Name::parse).transpose())
            .transpose()?,
        note: note
            .map(|text| Some(text).filter(filled).as_deref().map(Note::parse).transpose())
            .transpose()?,
    };
    let sandbox = services.there(&asked.target, &caller.owner)?;
    let (handle, wanted) = (found(&sandbox), asked.checkpoint_id);
    let told = services.sandboxes.describe_checkpoint(&caller.owner, &handle, &wanted, description).await?;
    Ok(CheckpointShown::from(&told).into())
}

arguments! {
    /// What `sandbox_remove_checkpoint` is asked.
    pub(crate) struct Remove {
        target: Target = Target::table(),
        checkpoint_id: String =
            text(MAX_ID, "Id or name of a checkpoint of this sandbox; of one name the latest is removed.")
                .characters(Name::MAX_CHARS).role(Role::Checkpoint),
    }
}

answer! {
    /// What was removed.
    pub(crate) struct Removed {
        sandbox_id: SandboxId = "The sandbox.",
        checkpoint_id: CheckpointId = "The id of the checkpoint that is gone.",
        message: String = "What was done.",
    }
}

pub(crate) fn remove_checkpoint() -> Verb<Remove, Removed> {
    Verb {
        name: "sandbox_remove_checkpoint",
        title: "Remove a checkpoint",
        description: "Removes one checkpoint of a sandbox permanently. Use it for a checkpoint that is no longer \
            needed, or when a quota is exceeded: the number of checkpoints of a sandbox is limited, and data that \
            only a checkpoint holds uses disk space. The sandbox itself, its other \
            checkpoints and what was forked from this one stay as they are. The space is freed a little later.",
        arguments: Remove::table(),
        annotations: REMOVES,
        order: Order::Checkpoints,
        run: |services, caller, asked| Box::pin(remove(services, caller, asked)),
    }
}

async fn remove(services: &Services, caller: &Caller, asked: Remove) -> Result<Answer<Removed>> {
    let Remove { target, checkpoint_id } = asked;
    let sandbox = services.there(&target, &caller.owner)?;
    let gone = services.sandboxes.remove_checkpoint(&caller.owner, &found(&sandbox), &checkpoint_id).await?;
    let checkpoint_id = gone.label.id;
    let message = format!("The checkpoint `{checkpoint_id}` is removed.");
    let answer = Removed { sandbox_id: sandbox.id, checkpoint_id, message: message.clone() };
    Ok(Answer::from(answer).with_text(message))
}

answer! {
    /// The last runs of a sandbox.
    pub(crate) struct Steps {
        steps: Vec<StepShown> = "The steps.",
    }
}

answer! {
    /// One of them.
    pub(crate) struct StepShown = "A run." {
        step: String = "Its id, for sandbox_restore.",
        at: Timestamp = "When it began, UTC.",
        language: GuestName = "Its language.",
        code: String = "The beginning of its code.",
        ended: &'static str = "returned, raised, exited or stopped.",
    }
}

impl From<Step> for StepShown {
    fn from(step: Step) -> Self {
        Self { step: step.id, at: step.at, language: step.guest, code: step.code, ended: step.ended }
    }
}

pub(crate) fn history() -> Verb<Named, Steps> {
    Verb {
        name: "sandbox_history",
        title: "Last steps of a sandbox",
        description: "Lists the last runs of a sandbox, oldest first. Pass a step to sandbox_restore to undo it and \
            everything after it, without a checkpoint. Steps are kept while the sandbox is awake, at most 16, fewer when \
            its state is large; a run that began with open files is not among them.",
        arguments: Named::table(),
        annotations: LOOKS,
        order: Order::Works,
        run: |services, caller, Named { target }| {
            Box::pin(async move {
                let sandbox = services.there(&target, &caller.owner)?;
                let steps = services.sandboxes.history(&caller.owner, &found(&sandbox)).await?;
                Ok(Steps { steps: steps.into_iter().map(StepShown::from).collect() }.into())
            })
        },
    }
}

arguments! {
    /// What `sandbox_fork` is asked.
    pub(crate) struct Fork {
        target: Target = Target::table(),
        count: usize = integer((1, MAX_FORKS), "How many, all or none. Default 1, at most 100.").or(1),
        checkpoint_id: Option<String> = text(
            MAX_ID,
            "Id of one of your checkpoints, or name of one of this sandbox's, to begin from. Default: the state of now.",
        ).characters(Name::MAX_CHARS).role(Role::Checkpoint).optional(),
    }
}

answer! {
    /// The new sandboxes.
    pub(crate) struct Forks {
        sandbox_id: SandboxId = "The sandbox that was forked.",
        sandboxes: Vec<NewSandbox> = "The new ones.",
        noted: Flat<Noted> = Inline,
    }
}

answer! {
    /// One of them.
    pub(crate) struct NewSandbox = "A new sandbox." {
        id: SandboxId = "Its id.",
        name: Name = "Its name.",
    }
}

pub(crate) fn fork() -> Verb<Fork, Forks> {
    Verb {
        name: "sandbox_fork",
        title: "Fork a sandbox",
        description: "Creates new sandboxes that start from the current state of this one, or from a checkpoint: with \
            the same variables, modules and files. Use it to try several ways from one state without repeating \
            earlier work. Unchanged data is shared, so forks cost little. This sandbox stays as it is.",
        arguments: Fork::table(),
        annotations: CHANGES,
        order: Order::Forks,
        run: |services, caller, asked| Box::pin(multiply(services, caller, asked)),
    }
}

async fn multiply(services: &Services, caller: &Caller, asked: Fork) -> Result<Answer<Forks>> {
    let Fork { target, count, checkpoint_id } = asked;
    let sandbox = services.there(&target, &caller.owner)?;
    let checkpoint = checkpoint_id.as_deref();
    let forks = services.sandboxes.fork(&caller.owner, &found(&sandbox), count, checkpoint).await?;
    let notes = forks.first().map(|fork| services.sandboxes.notes(&fork.sandbox)).unwrap_or_default();
    let shown = forks.into_iter().map(|fork| NewSandbox { id: fork.sandbox.id, name: fork.sandbox.name });
    let answer =
        Forks { sandbox_id: sandbox.id, sandboxes: shown.collect(), noted: Flat(Noted::from(&notes)) };
    Ok(answer.into())
}
