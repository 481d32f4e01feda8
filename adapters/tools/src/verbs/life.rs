//! Looking at sandboxes, stopping, resuming, resetting and destroying them: `sandbox_get`, `sandbox_list`, `sandbox_stop`,
//! `sandbox_resume`, `sandbox_reset`, `sandbox_destroy`.

use std::time::Duration;

use dormouse_core::sandbox::{Phase, SandboxId, StopReason};
use dormouse_core::sandboxes::{Rules, View};
use dormouse_core::{GuestName, Result};

use super::Verb;
use super::lost::Noted;
use super::shown::{self, SandboxShown};
use crate::call::{Answer, Caller};
use crate::resource;
use crate::services::{Services, Target, found};
use crate::spec::{
    Flat, Inline, LOOKS, Order, REMOVES, SETTLES, answer, arguments, choice, integer, text, words,
};

/// Most sandboxes of one page.
const PAGE: u64 = 200;
/// Longest wait for calls that run, in milliseconds: the longest of a call.
const MAX_GRACE: u64 = 600_000;

arguments! {
    /// What the tools are asked that only name a sandbox.
    pub(crate) struct Named {
        target: Target = Target::table(),
    }
}

answer! {
    /// A sandbox, and what it has lost.
    pub(crate) struct Told {
        sandbox: Flat<SandboxShown> = Inline,
        noted: Flat<Noted> = Inline,
    }
}

impl Told {
    fn of(services: &Services, view: &View) -> Self {
        let noted = Noted::from(&services.sandboxes.notes(&view.sandbox));
        Self { sandbox: Flat(SandboxShown::from(view)), noted: Flat(noted) }
    }
}

pub(crate) fn get() -> Verb<Named, Told> {
    Verb {
        name: "sandbox_get",
        title: "Show a sandbox",
        description: "Shows one sandbox: its phase and status, when it was last called, its limits, the folders of the host \
            that it sees, and in `withdrawn` the grants that it was created with and does not have now. Use it to see \
            whether a sandbox still exists and why it was stopped. It does not wake it and does not count as a call.",
        arguments: Named::table(),
        annotations: LOOKS,
        order: Order::Looks,
        run: |services, caller, Named { target }| {
            Box::pin(async move {
                let view = services.sandboxes.get(&caller.owner, &target.handle()?)?;
                Ok(Told::of(services, &view).into())
            })
        },
    }
}

words! {
    /// The phases that a list can be of.
    pub(crate) enum PhaseWord {
        /// It is being made.
        Creating = "creating",
        /// It takes calls.
        Running = "running",
        /// It was put away.
        Stopped = "stopped",
        /// It cannot be used.
        Error = "error",
    }
}

impl From<PhaseWord> for Phase {
    fn from(word: PhaseWord) -> Self {
        match word {
            PhaseWord::Creating => Self::Creating,
            PhaseWord::Running => Self::Running,
            PhaseWord::Stopped => Self::Stopped,
            PhaseWord::Error => Self::Error,
        }
    }
}

arguments! {
    /// What `sandbox_list` is asked.
    pub(crate) struct List {
        phase: Option<PhaseWord> = choice::<PhaseWord>("Only those in this phase. Default all.").optional(),
        limit: usize = integer((1, PAGE), "Most sandboxes of one page. Default 50.").or(50),
        cursor: Option<String> = text(128, "The `next_cursor` of the previous page. Default: the first page.").optional(),
    }
}

answer! {
    /// A page of sandboxes.
    pub(crate) struct Page {
        sandboxes: Vec<SandboxShown> = "The page.",
        next_cursor: Option<String> = "Where the next page begins; only when there is one.",
    }
}

pub(crate) fn list() -> Verb<List, Page> {
    Verb {
        name: "sandbox_list",
        title: "List sandboxes",
        description: "Lists your sandboxes, oldest first, stopped ones as well. Use it to find the id or name of one \
            that was made earlier. A long list comes in pages: call again with `cursor` set to `next_cursor`. It wakes \
            none of them.",
        arguments: List::table(),
        annotations: LOOKS,
        order: Order::Lists,
        run: |services, caller, asked| Box::pin(page(services, caller, asked)),
    }
}

async fn page(services: &Services, caller: &Caller, asked: List) -> Result<Answer<Page>> {
    let List { phase, limit, cursor } = asked;
    let after = cursor.map(|text| resource::cursor(&text)).transpose()?;
    let after = after.as_ref().map(|(at, id)| (*at, id));
    let views = services.sandboxes.list(&caller.owner, phase.map(Phase::from), after, limit).await?;
    let last = views.last().filter(|_| views.len() == limit);
    let page = Page {
        sandboxes: views.iter().map(SandboxShown::listed).collect(),
        next_cursor: last.map(|last| resource::end_of(&last.sandbox)),
    };
    Ok(page.into())
}

arguments! {
    /// What `sandbox_stop` is asked.
    pub(crate) struct Stop (rules: &Rules) {
        target: Target = Target::table(),
        grace_ms: u64 = integer(
            (0, MAX_GRACE),
            format!(
                "Milliseconds to wait for calls that run. Default {}, at most {MAX_GRACE}.",
                rules.stop_grace.as_millis()
            ),
        ).or(u64::try_from(rules.stop_grace.as_millis()).unwrap_or(MAX_GRACE).min(MAX_GRACE)),
    }
}

answer! {
    /// A sandbox that was stopped.
    pub(crate) struct Stopped {
        sandbox: Flat<Told> = Inline,
        not_held: Option<Vec<GuestName>> = shown::not_held(),
    }
}

pub(crate) fn stop(rules: &Rules) -> Verb<Stop, Stopped> {
    Verb {
        name: "sandbox_stop",
        title: "Stop a sandbox",
        description: "Stops a sandbox: its variables and files are saved, and its memory is freed. Use it when work \
            pauses for long; idle sandboxes are stopped automatically. It waits for earlier calls for at most \
            `grace_ms`, then cancels them; they answer `cancelled`. Jobs in the background are ended. \
            Any later call wakes it; it is destroyed when its retention time is over.",
        arguments: Stop::table(rules),
        annotations: SETTLES,
        order: Order::Works,
        run: |services, caller, asked| Box::pin(put_away(services, caller, asked)),
    }
}

async fn put_away(services: &Services, caller: &Caller, asked: Stop) -> Result<Answer<Stopped>> {
    let sandbox = services.there(&asked.target, &caller.owner)?;
    let grace = Duration::from_millis(asked.grace_ms);
    let sandboxes = &services.sandboxes;
    let view = sandboxes.stop_within(&caller.owner, &found(&sandbox), StopReason::User, grace).await?;
    let not_held = match (view.sandbox.spec.provider, &view.sandbox.state) {
        (provider, Some(state)) if provider.is_container() => Some(sandboxes.not_held(state)),
        _ => None,
    };
    Ok(Stopped { sandbox: Flat(Told::of(services, &view)), not_held }.into())
}

pub(crate) fn resume() -> Verb<Named, Told> {
    Verb {
        name: "sandbox_resume",
        title: "Resume a sandbox",
        description: "Sets a stopped sandbox back to running, with its variables and files, and ends its retention \
            time. Any call does the same, so this is needed only to prevent its destruction. For a running sandbox it \
            only updates the time of the last call.",
        arguments: Named::table(),
        annotations: SETTLES,
        order: Order::Works,
        run: |services, caller, Named { target }| {
            Box::pin(async move {
                let sandbox = services.there(&target, &caller.owner)?;
                let view = services.sandboxes.resume(&caller.owner, &found(&sandbox)).await?;
                Ok(Told::of(services, &view).into())
            })
        },
    }
}

answer! {
    /// What was done with a sandbox.
    pub(crate) struct Done {
        sandbox_id: SandboxId = "The sandbox.",
        message: String = "What was done.",
    }
}

fn done(sandbox_id: SandboxId, message: String) -> Answer<Done> {
    Answer::from(Done { sandbox_id, message: message.clone() }).with_text(message)
}

pub(crate) fn reset() -> Verb<Named, Done> {
    Verb {
        name: "sandbox_reset",
        title: "Reset the variables of a sandbox",
        description: "Gives a sandbox fresh interpreters: all variables and imported modules are gone, in every language. \
            Files and checkpoints stay, and so does the id. Use it to start afresh; to go back to a checkpoint, use \
            sandbox_restore.",
        arguments: Named::table(),
        annotations: REMOVES,
        order: Order::Works,
        run: |services, caller, Named { target }| {
            Box::pin(async move {
                let sandbox = services.there(&target, &caller.owner)?;
                services.sandboxes.reset(&caller.owner, &found(&sandbox)).await?;
                Ok(done(sandbox.id, "All variables are gone; files are kept.".into()))
            })
        },
    }
}

pub(crate) fn destroy() -> Verb<Named, Done> {
    Verb {
        name: "sandbox_destroy",
        title: "Destroy a sandbox",
        description: "Destroys a sandbox permanently, with its variables, files and checkpoints. A run in progress is \
            ended. Use it when the work is done; nothing can be recovered. A second call answers `unknown_sandbox`.",
        arguments: Named::table(),
        annotations: REMOVES,
        order: Order::Makes,
        run: |services, caller, Named { target }| {
            Box::pin(async move {
                let gone = services.destroy(&target, &caller.owner).await?;
                Ok(done(gone.id, format!("The sandbox `{}` is destroyed.", gone.name)))
            })
        },
    }
}
