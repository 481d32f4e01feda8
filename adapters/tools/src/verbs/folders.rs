//! `sandbox_remove_file`, `sandbox_rename_file`, `sandbox_make_folder`.

use dormouse_core::sandbox::SandboxId;
use dormouse_core::{GuestPath, Result};

use super::Verb;
use super::read::path_row;
use crate::call::{Answer, Caller};
use crate::services::{Services, Target, found};
use crate::spec::{CHANGES, Order, REMOVES, SETTLES, answer, arguments, flag, text};

answer! {
    /// What all of them answer.
    pub(crate) struct Done {
        sandbox_id: SandboxId = "The sandbox.",
        path: GuestPath = "The file or folder, as it is called now.",
        message: String = "What was done.",
    }
}

fn told(sandbox_id: SandboxId, path: GuestPath, message: String) -> Answer<Done> {
    Answer::from(Done { sandbox_id, path, message: message.clone() }).with_text(message)
}

arguments! {
    /// What `sandbox_remove_file` is asked.
    pub(crate) struct Remove {
        target: Target = Target::table(),
        path: GuestPath = path_row(),
        recursive: bool = flag("Removes a folder with all that is in it. Default false."),
    }
}

pub(crate) fn remove_file() -> Verb<Remove, Done> {
    Verb {
        name: "sandbox_remove_file",
        title: "Remove a file or folder of a sandbox",
        description: "Removes a file, a link or an empty folder from a sandbox permanently; with `recursive` a folder \
            with everything in it. Use it to free space. A link itself is removed, not its target.",
        arguments: Remove::table(),
        annotations: REMOVES,
        order: Order::Works,
        run: |services, caller, asked| Box::pin(remove(services, caller, asked)),
    }
}

async fn remove(services: &Services, caller: &Caller, asked: Remove) -> Result<Answer<Done>> {
    let Remove { target, path, recursive } = asked;
    let sandbox = services.there(&target, &caller.owner)?;
    services.sandboxes.remove_file(&caller.owner, &found(&sandbox), path.clone(), recursive).await?;
    let message = format!("`{path}` is removed.");
    Ok(told(sandbox.id, path, message))
}

arguments! {
    /// What `sandbox_rename_file` is asked.
    pub(crate) struct Rename {
        target: Target = Target::table(),
        path: GuestPath = path_row(),
        to: GuestPath = text(GuestPath::MAX_BYTES, "Its new absolute path."),
        replace: bool = flag("Takes the place of what has that path. Default false."),
    }
}

pub(crate) fn rename_file() -> Verb<Rename, Done> {
    Verb {
        name: "sandbox_rename_file",
        title: "Rename a file or folder of a sandbox",
        description: "Renames or moves a file, a link or a folder in a sandbox, and makes the folders above the new path. Use it to put a \
            finished file in its place. If the new path exists, the call is refused unless `replace` is true: then a \
            file replaces a file, and a folder replaces an empty folder.",
        arguments: Rename::table(),
        annotations: CHANGES,
        order: Order::Works,
        run: |services, caller, asked| Box::pin(rename(services, caller, asked)),
    }
}

async fn rename(services: &Services, caller: &Caller, asked: Rename) -> Result<Answer<Done>> {
    let Rename { target, path, to, replace } = asked;
    let sandbox = services.there(&target, &caller.owner)?;
    let message = format!("`{path}` is `{to}` now.");
    services.sandboxes.rename_file(&caller.owner, &found(&sandbox), (path, to.clone()), replace).await?;
    Ok(told(sandbox.id, to, message))
}

arguments! {
    /// What `sandbox_make_folder` is asked.
    pub(crate) struct Make {
        target: Target = Target::table(),
        path: GuestPath = path_row(),
    }
}

pub(crate) fn make_folder() -> Verb<Make, Done> {
    Verb {
        name: "sandbox_make_folder",
        title: "Make a folder in a sandbox",
        description: "Creates a folder in a sandbox, with its parents. An existing folder is left unchanged. Writing \
            a file creates its folders by itself; use this for empty ones.",
        arguments: Make::table(),
        annotations: SETTLES,
        order: Order::Works,
        run: |services, caller, asked| Box::pin(make(services, caller, asked)),
    }
}

async fn make(services: &Services, caller: &Caller, asked: Make) -> Result<Answer<Done>> {
    let Make { target, path } = asked;
    let sandbox = services.get_or_create(&target, &caller.owner).await?;
    services.sandboxes.make_folder(&caller.owner, &found(&sandbox), path.clone()).await?;
    let message = format!("The folder `{path}` is there.");
    Ok(told(sandbox.id, path, message))
}
