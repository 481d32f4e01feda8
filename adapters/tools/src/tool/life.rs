//! Looking at sandboxes, stopping, resuming, resetting and destroying them: `sandbox_get`, `sandbox_list`, `sandbox_stop`,
//! `sandbox_resume`, `sandbox_reset`, `sandbox_destroy`.

use std::time::Duration;

use dormouse_core::Result;
use dormouse_core::sandbox::{Owner, Phase, ProviderName, SandboxId, StopReason};
use dormouse_core::sandboxes::{Rules, View};
use serde_json::{Value as Json, json};

use super::verb::{Answer, Kept, LOOKS, REMOVES, SETTLES, Verb, by_id, naming};
use super::{lost, shown};
use crate::decode::Arguments;
use crate::field::{Absent, Field, Kind};
use crate::resource;
use crate::schema::{self, Object};

/// Most sandboxes of one page.
const PAGE: u64 = 200;
/// Longest wait for calls that run, in milliseconds: the longest of a call.
const MAX_GRACE: u64 = 600_000;

pub(crate) fn get() -> Verb {
    Verb {
        name: "sandbox_get",
        title: "Show a sandbox",
        description: "Shows one sandbox: its phase and status, when it was last called, its limits, the folders of the host \
            that it sees, and in `withdrawn` what it was made with and is not given any more. Use it to see \
            whether a sandbox is still there and why it was stopped. It does not wake it and does not count as a call.",
        fields: naming([]),
        output: lost::noted(shown::sandbox_fields()),
        annotations: LOOKS,
        run: |kept, mut arguments, caller| {
            Box::pin(async move {
                let owner = &caller.owner;
                let id = kept.there(&mut arguments, owner)?;
                Ok(noted(kept, &kept.sandboxes.get(owner, &by_id(&id))?).into())
            })
        },
    }
}

pub(crate) fn list() -> Verb {
    let sandbox = shown::sandbox_fields().description("A sandbox.").build();
    Verb {
        name: "sandbox_list",
        title: "List sandboxes",
        description: "Lists your sandboxes, oldest first, stopped ones as well. Use it to find the id or name of one \
            that was made earlier. A long list comes in pages: call again with `cursor` set to `next_cursor`. It wakes \
            none of them.",
        fields: vec![
            Field::new(
                "phase",
                Kind::Choice { of: &["creating", "running", "stopped", "error"], absent: Absent::None },
                "Only those in this phase. Default all.",
            ),
            Field::integer(
                "limit",
                (1, PAGE),
                Absent::Default(50),
                "Most sandboxes of one page. Default 50.",
            ),
            Field::text("cursor", 128, Absent::None, "Where the page before ended. Default: the beginning."),
        ],
        output: Object::new()
            .optional("sandboxes", schema::list(&sandbox, "The page."))
            .optional("next_cursor", schema::text("Where the next page begins; only when there is one.")),
        annotations: LOOKS,
        run: |kept, arguments, caller| Box::pin(page(kept, arguments, &caller.owner)),
    }
}

async fn page(kept: &Kept, mut arguments: Arguments, owner: &Owner) -> Result<Answer> {
    let word = arguments.take_text("phase");
    let phase = Phase::ALL.into_iter().find(|phase| Some(phase.as_str()) == word.as_deref());
    let most = usize::try_from(arguments.integer("limit").unwrap_or(PAGE)).unwrap_or_default();
    let after = arguments.take_text("cursor").map(|text| resource::cursor(&text)).transpose()?;
    let after = after.as_ref().map(|(at, id)| (*at, id));
    let views = kept.sandboxes.list(owner, phase, after, most).await?;
    let mut answer = json!({"sandboxes": views.iter().map(shown::listed).collect::<Vec<_>>()});
    if let Some(last) = views.last().filter(|_| views.len() == most) {
        answer["next_cursor"] = resource::end_of(&last.sandbox).into();
    }
    Ok(answer.into())
}

pub(crate) fn stop(rules: &Rules) -> Verb {
    Verb {
        name: "sandbox_stop",
        title: "Stop a sandbox",
        description: "Puts a sandbox away: its variables and files are saved, and nothing of it stays in memory. Use it \
            when the work rests for long; sandboxes that nobody calls are stopped by themselves. It waits for the calls \
            before it, at most `grace_ms`; then it ends them, and they answer `cancelled`. Jobs in the background are ended. \
            Any later call wakes it; it is destroyed when its retention is over.",
        fields: naming([Field::integer(
            "grace_ms",
            (0, MAX_GRACE),
            Absent::Default(u64::try_from(rules.stop_grace.as_millis()).unwrap_or(MAX_GRACE).min(MAX_GRACE)),
            format!(
                "Milliseconds to wait for calls that run. Default {}, at most {MAX_GRACE}.",
                rules.stop_grace.as_millis()
            ),
        )]),
        output: lost::noted(shown::sandbox_fields()).optional("not_held", shown::not_held()),
        annotations: SETTLES,
        run: |kept, mut arguments, caller| {
            Box::pin(async move {
                let owner = &caller.owner;
                let id = kept.there(&mut arguments, owner)?;
                let grace = arguments.integer("grace_ms").map(Duration::from_millis);
                let grace = grace.unwrap_or(kept.sandboxes.rules().stop_grace);
                let handle = by_id(&id);
                let view = kept.sandboxes.stop_within(owner, &handle, StopReason::User, grace).await?;
                let mut answer = noted(kept, &view);
                if let (ProviderName::Docker, Some(state)) = (view.sandbox.spec.provider, view.sandbox.state)
                {
                    answer["not_held"] = shown::languages(&kept.sandboxes.not_held(&state));
                }
                Ok(answer.into())
            })
        },
    }
}

pub(crate) fn resume() -> Verb {
    Verb {
        name: "sandbox_resume",
        title: "Resume a sandbox",
        description: "Lets a stopped sandbox take calls again, with its variables and files, and ends its retention. Any \
            call does the same, so this is only needed to keep one from being destroyed. Resuming one that runs \
            changes nothing but the time of its last call.",
        fields: naming([]),
        output: lost::noted(shown::sandbox_fields()),
        annotations: SETTLES,
        run: |kept, mut arguments, caller| {
            Box::pin(async move {
                let owner = &caller.owner;
                let id = kept.there(&mut arguments, owner)?;
                Ok(noted(kept, &kept.sandboxes.resume(owner, &by_id(&id)).await?).into())
            })
        },
    }
}

pub(crate) fn reset() -> Verb {
    Verb {
        name: "sandbox_reset",
        title: "Reset the variables of a sandbox",
        description: "Gives a sandbox fresh interpreters: all variables and imported modules are gone, in every language. \
            Files and checkpoints stay, and so does the id. Use it to begin anew; sandbox_restore goes back to a \
            checkpoint instead.",
        fields: naming([]),
        output: done(),
        annotations: REMOVES,
        run: |kept, mut arguments, caller| {
            Box::pin(async move {
                let owner = &caller.owner;
                let id = kept.there(&mut arguments, owner)?;
                kept.sandboxes.reset(owner, &by_id(&id)).await?;
                Ok(told(&id, "All variables are gone; files are kept.".into()))
            })
        },
    }
}

pub(crate) fn destroy() -> Verb {
    Verb {
        name: "sandbox_destroy",
        title: "Destroy a sandbox",
        description: "Ends a sandbox for good, with its variables, files and checkpoints. A run that is in progress is \
            ended. Use it when the work is done; nothing of it can be had back. A second time it is unknown.",
        fields: naming([]),
        output: done(),
        annotations: REMOVES,
        run: |kept, mut arguments, caller| {
            Box::pin(async move {
                let owner = &caller.owner;
                let gone = kept.destroy(&mut arguments, owner).await?;
                Ok(told(&gone.id, format!("The sandbox `{}` is destroyed.", gone.name)))
            })
        },
    }
}

/// A sandbox, and what it has lost.
fn noted(kept: &Kept, view: &View) -> Json {
    let mut shown = shown::sandbox(view);
    lost::note(&mut shown, &kept.sandboxes.notes(&view.sandbox));
    shown
}

/// The schema of [`told`].
fn done() -> Object {
    Object::new()
        .optional("sandbox_id", schema::text("The sandbox."))
        .optional("message", schema::text("What was done."))
}

fn told(id: &SandboxId, message: String) -> Answer {
    let answer: Json = json!({"sandbox_id": id.as_str(), "message": message});
    Answer::from(answer).with_text(message)
}
