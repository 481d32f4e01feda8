//! `sandbox_remove_file`, `sandbox_rename_file`, `sandbox_make_folder`.

use dormouse_core::{GuestPath, Result};
use serde_json::json;

use super::read::{path, path_field};
use super::verb::{Answer, CHANGES, Caller, Kept, REMOVES, SETTLES, Verb, by_id, naming};
use crate::decode::Arguments;
use crate::field::{Absent, Field};
use crate::schema::{self, Object};

pub(crate) fn remove_file() -> Verb {
    Verb {
        name: "sandbox_remove_file",
        title: "Remove a file or folder of a sandbox",
        description: "Removes a file, a link or an empty folder of a sandbox for good; with `recursive` a folder with all that is \
            in it. Use it to make room. A link is removed itself, not what it leads to.",
        fields: naming([
            path_field(),
            Field::flag("recursive", "Removes a folder with all that is in it. Default false."),
        ]),
        output: done(),
        annotations: REMOVES,
        run: |kept, mut arguments, caller| {
            Box::pin(async move {
                let path = path(&mut arguments)?;
                let id = kept.there(&mut arguments, &caller.owner)?;
                let all = arguments.flag("recursive");
                kept.sandboxes.remove_file(&caller.owner, &by_id(&id), path.clone(), all).await?;
                Ok(told(id.as_str(), &path, format!("`{path}` is removed.")))
            })
        },
    }
}

pub(crate) fn rename_file() -> Verb {
    Verb {
        name: "sandbox_rename_file",
        title: "Rename a file or folder of a sandbox",
        description: "Renames or moves a file, a link or a folder in a sandbox, and makes the folders above the new path. Use it to put a \
            finished file in its place. A path that is taken is refused, unless `replace` is true: then a file takes the place of a \
            file, and a folder that of an empty folder.",
        fields: naming([
            path_field(),
            Field::text("to", GuestPath::MAX_BYTES, Absent::Refused, "Its new absolute path."),
            Field::flag("replace", "Takes the place of what has that path. Default false."),
        ]),
        output: done(),
        annotations: CHANGES,
        run: |kept, arguments, caller| Box::pin(rename(kept, arguments, caller)),
    }
}

async fn rename(kept: &Kept, mut arguments: Arguments, caller: &Caller) -> Result<Answer> {
    let path = path(&mut arguments)?;
    let to = GuestPath::parse(&arguments.take_text("to").unwrap_or_default())?;
    let id = kept.there(&mut arguments, &caller.owner)?;
    let replace = arguments.flag("replace");
    let names = (path.clone(), to.clone());
    kept.sandboxes.rename_file(&caller.owner, &by_id(&id), names, replace).await?;
    Ok(told(id.as_str(), &to, format!("`{path}` is `{to}` now.")))
}

pub(crate) fn make_folder() -> Verb {
    Verb {
        name: "sandbox_make_folder",
        title: "Make a folder in a sandbox",
        description: "Makes a folder in a sandbox, and those above it. One that is there is left as it is. Writing a file makes \
            its folders by itself; this is for empty ones.",
        fields: naming([path_field()]),
        output: done(),
        annotations: SETTLES,
        run: |kept, mut arguments, caller| {
            Box::pin(async move {
                let path = path(&mut arguments)?;
                let id = kept.there_or_new(&mut arguments, &caller.owner).await?;
                kept.sandboxes.make_folder(&caller.owner, &by_id(&id), path.clone()).await?;
                Ok(told(id.as_str(), &path, format!("The folder `{path}` is there.")))
            })
        },
    }
}

/// The schema of [`told`].
fn done() -> Object {
    Object::new()
        .optional("sandbox_id", schema::text("The sandbox."))
        .optional("path", schema::text("The file or folder, as it is called now."))
        .optional("message", schema::text("What was done."))
}

fn told(sandbox: &str, path: &GuestPath, message: String) -> Answer {
    let answer = json!({"sandbox_id": sandbox, "path": path.as_str(), "message": message});
    Answer::from(answer).with_text(message)
}
