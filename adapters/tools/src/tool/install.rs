//! `sandbox_install`: packages of Python and JavaScript (requirements S2-24).

use dormouse_core::packages::{PackageEvent, PackageManager};
use dormouse_core::{Error, Result, Stream};
use serde_json::{Value as Json, json};

use super::verb::{Answer, CHANGES, Caller, Kept, Verb, by_id, naming};
use crate::decode::Arguments;
use crate::field::{Field, Kind};
use crate::schema::{self, Object};
use crate::surface::Annotations;

/// It changes something inside, and reaches the operator's index.
const FETCHES: Annotations = Annotations { open_world: true, ..CHANGES };

pub(crate) fn install() -> Verb {
    let package = Object::new()
        .description("A package.")
        .required("name", schema::text("Its name."))
        .required("version", schema::text("Its version."))
        .optional("replaced", schema::text("The version that was there before."))
        .optional("files", schema::integer(0, "Its files."));
    Verb {
        name: "sandbox_install",
        title: "Install packages in a sandbox",
        description: "Installs pure-Python wheels (`pip`) or pure-JavaScript packages (`npm`) with what they need, from the \
            operator's index; `pip install` and `npm install` in sandbox_exec do the same. Python's go below \
            /workspace/.local, JavaScript's into /workspace/node_modules. It is all or nothing, and only what the operator \
            allows can be had: a package that needs native code or is not allowed is refused by name. Nothing of a package \
            runs while it is installed; `notes` say when its scripts were left out.",
        fields: naming([
            Field::new(
                "packages",
                Kind::Texts { most: 100, bytes: 32 << 10 },
                "What to install, as requirements: `requests>=2,<3`, `pytest`, `left-pad@^1`.",
            ),
            Field::choice("manager", &["pip", "npm"], "Whose packages: `pip` (default) or `npm`."),
            Field::flag("upgrade", "Newer versions of what is named, if there are any. Default false."),
        ]),
        output: Object::new()
            .optional("sandbox_id", schema::text("The sandbox."))
            .optional("installed", schema::list(&package.build(), "What is new or has another version."))
            .optional(
                "satisfied",
                schema::list(&schema::text("Name and version."), "What was there already."),
            )
            .optional("notes", schema::list(&schema::text("A sentence."), "What you should know.")),
        annotations: FETCHES,
        run: |kept, arguments, caller| Box::pin(run(kept, arguments, caller)),
    }
}

async fn run(kept: &Kept, mut arguments: Arguments, caller: &Caller) -> Result<Answer> {
    let wanted = arguments.take_texts("packages");
    if wanted.is_empty() {
        return Err(
            Error::args_invalid("no package is named").with_hint("give `packages`, such as [\"pytest\"]")
        );
    }
    let manager = match arguments.take_text("manager").as_deref() {
        Some("npm") => PackageManager::Npm,
        _ => PackageManager::Pip,
    };
    let upgrade = arguments.flag("upgrade");
    let owner = &caller.owner;
    let id = kept.there_or_new(&mut arguments, owner).await?;
    let output = caller.output.clone();
    // A word for each archive; the bytes in between would be too many.
    let progress = move |event: PackageEvent| {
        if let (PackageEvent::Unpacking { name }, Some(output)) = (event, &output) {
            output.write(Stream::Stderr, format!("unpacking {name}\n").as_bytes());
        }
    };
    let (id, added) = kept.sandboxes.install(owner, &by_id(&id), manager, wanted, upgrade, &progress).await?;
    let satisfied: Vec<String> =
        added.satisfied.iter().map(|one| format!("{} {}", one.name, one.version)).collect();
    let installed: Vec<Json> = added
        .installed
        .iter()
        .map(|one| {
            let mut shown = json!({"name": one.name, "version": one.version, "files": one.files});
            if let Some(replaced) = &one.replaced {
                shown["replaced"] = replaced.as_str().into();
            }
            shown
        })
        .collect();
    let answer = json!({
        "sandbox_id": id.as_str(),
        "installed": installed,
        "satisfied": satisfied,
        "notes": added.notes,
    });
    Ok(answer.into())
}
