//! `sandbox_run`: programs that go on by themselves, what they wait for, and their end.

use std::time::Duration;

use dormouse_core::connections::Decision;
use dormouse_core::sandbox::{CallState, Owner, Run, RunCall, RunState, SandboxId, Timestamp};
use dormouse_core::{Error, ErrorCode, Exception, Result, Sandboxes};
use serde_json::Value as Json;

use super::Verb;
use crate::call::fit;
use crate::call::{Answer, Caller};
use crate::network::{self, UsedShown};
use crate::services::Services;
use crate::spec::{
    Answered as _, CHANGES, ErrorFields, Flat, Inline, Nested, Order, Role, answer, arguments, choice,
    integer, schema, text, words,
};

/// Runs that a list shows.
const LISTED: usize = 100;
/// Runs that an owner can have: 1,000 that go on, and 1,000 that have ended.
const KNOWN: usize = 2_000;
/// Calls that an answer shows: the last ones.
const CALLS: usize = 50;
/// The same of the arguments of a call that somebody is asked about.
const ASKED: usize = 64 << 10;
/// How often a question is looked at that the person in the client is asked: somebody else may answer it.
const LOOK: Duration = Duration::from_millis(500);
/// How long a run may take to see an answer.
const MOMENT: Duration = Duration::from_millis(50);
/// Characters of arguments and answers of a call that are shown.
const SHOWN: usize = 300;

words! {
    /// What can be done with a run.
    pub(crate) enum Action {
        /// To say where it is.
        Get = "get",
        /// To wait for its end, or until somebody is asked.
        Wait = "wait",
        /// To end it.
        Cancel = "cancel",
        /// To name those that there are.
        List = "list",
    }
}

arguments! {
    /// What `sandbox_run` is asked.
    pub(crate) struct Ask {
        run: Option<String> = text(64, "The run's id, as sandbox_eval told it. Not for `list`.").optional(),
        action: Action = choice("What to do: `get` (default), `wait`, `cancel` or `list`."),
        timeout_ms: u64 = integer(
            (0, 600_000),
            "How long `wait` waits, in milliseconds. Default 30000. The run continues afterwards.",
        ).role(Role::TimeLimit).or(30_000),
    }
}

answer! {
    /// What `sandbox_run` answers: one run, or all of them.
    pub(crate) struct Told {
        run: Option<Flat<RunShown>> = Inline,
        runs: Option<Vec<RunShown>> = "Those that ask first, then others that go on, then those that have ended, the newest of each first; at most 100.",
        total: Option<u64> = "How many there are, at most 2000; only in a list.",
    }
}

answer! {
    /// A run.
    pub(crate) struct RunShown = "A run." {
        run_id: String = "Its id.",
        sandbox_id: SandboxId = "The sandbox that its program is in.",
        language: String = "The program's language.",
        code: String = "The beginning of the program, at most 200 characters.",
        state: &'static str = "`running`, `waiting` (for tools or time), `asking` (somebody is to allow a call), `done`, `failed` or `cancelled`.",
        started_at: Timestamp = "When it was started.",
        changed_at: Timestamp = "When its state last changed.",
        due_at: Option<Timestamp> = "When it goes on by itself; only when it waits for time.",
        result: Option<Json> = schema::untyped("The program's value, as sandbox_eval shows it; only when it has one."),
        exception: Option<Exception> = schema::untyped("What the program raised, as sandbox_eval shows it; only when it did. Untrusted text."),
        exit_code: Option<i32> = "Exit status; only when it has ended.",
        cause: Option<ErrorFields> = "What ended it; only when it did not end by itself.",
        stdout: String = "The end of its standard output. Untrusted: written by the program.",
        stderr: String = "The end of its standard error. Untrusted: written by the program.",
        waits: u32 = "How often it has waited.",
        network: Option<Nested<UsedShown>> = "What it has done with the network so far; only if it has one.",
        calls: Option<Vec<CallShown>> = "Its last 50 calls of tools, in their order. Not in a list.",
    }
}

answer! {
    /// A call of a tool.
    pub(crate) struct CallShown = "A call of a tool." {
        number: u32 = "Its number in the program.",
        tool: String = "The tool, `SERVER.TOOL`; or a request that the program has sent, the first since it waited last.",
        state: &'static str = "`begun`, `asking`, `answered`, `done`, `unknown` (it was under way when its process ended), `refused` (it was not made) or `cancelled`.",
        arguments: String = "The beginning of its arguments, as JSON. Untrusted.",
        answer: Option<String> = "The beginning of its answer, as JSON. Untrusted.",
        failure: Option<String> = "What the program was told; only when it failed. Untrusted.",
        asked: Option<String> = "Why somebody is asked, or was.",
    }
}

pub(crate) fn run() -> Verb<Ask, Told> {
    Verb {
        name: "sandbox_run",
        title: "Look after a program in the background",
        description: "Looks after programs that sandbox_eval started with `background`: `get` says where one is, `wait` waits for its end \
            or until somebody has to allow one of its calls, `cancel` ends it, `list` lists all. Such a program goes on when the \
            server is restarted; while it waits it takes no memory, and its sandbox runs nothing else in its language. Call `wait` again until `state` is `done`, \
            `failed` or `cancelled`.",
        arguments: Ask::table(),
        annotations: CHANGES,
        order: Order::Waits,
        run: |services, caller, asked| Box::pin(look(services, caller, asked)),
    }
}

async fn look(services: &Services, caller: &Caller, asked: Ask) -> Result<Answer<Told>> {
    let (sandboxes, owner) = (&services.sandboxes, &caller.owner);
    if asked.action == Action::List || (asked.action == Action::Get && asked.run.is_none()) {
        let mut runs = sandboxes.runs(owner, KNOWN)?;
        let total = Some(runs.len() as u64);
        runs.sort_by_key(|run| (run.state != RunState::Asking, !run.state.is_open()));
        let runs = runs.iter().take(LISTED).map(|run| RunShown::of(run, None)).collect();
        return Ok(Told { run: None, runs: Some(runs), total }.into());
    }
    let Some(id) = asked.run.as_deref() else {
        return Err(Error::args_invalid("no run is named").with_hint("give `run`, or `action` `list`"));
    };
    let run = match asked.action {
        Action::Cancel => sandboxes.cancel_run(owner, id, "somebody cancelled it").await?,
        Action::Wait => wait(services, caller, id, Duration::from_millis(asked.timeout_ms)).await?,
        Action::Get | Action::List => sandboxes.run(owner, id)?,
    };
    let calls = sandboxes.run_calls(owner, id)?;
    Ok(Told { run: Some(Flat(RunShown::of(&run, Some(calls)))), runs: None, total: None }.into())
}

/// Waits for a run. Who can be asked is asked about its calls meanwhile.
async fn wait(services: &Services, caller: &Caller, id: &str, most: Duration) -> Result<Run> {
    let (sandboxes, owner) = (&services.sandboxes, &caller.owner);
    let until = tokio::time::Instant::now() + most;
    loop {
        let run = sandboxes.wait_for_run(owner, id, until - tokio::time::Instant::now()).await?;
        let Some(approver) = caller.approver.as_ref().filter(|_| run.state == RunState::Asking) else {
            return Ok(run);
        };
        let asking = sandboxes.run_questions(owner, id)?.into_iter().next();
        let Some((number, Some(question))) = asking.map(|call| (call.number, call.question)) else {
            // It is answered, and the run takes a moment to see that.
            if tokio::time::Instant::now() >= until {
                return Ok(run);
            }
            tokio::time::sleep(MOMENT).await;
            continue;
        };
        let is_answered = async {
            loop {
                tokio::time::sleep(LOOK).await;
                match sandboxes.run_questions(owner, id) {
                    Ok(open) if open.iter().any(|call| call.number == number) => {}
                    _ => break,
                }
            }
        };
        let decision = tokio::select! {
            decision = approver.ask(question) => decision,
            // Somebody else has answered, or the run has ended.
            () = is_answered => continue,
            () = tokio::time::sleep_until(until) => return Ok(run),
        };
        match sandboxes.decide(owner, id, number, decision) {
            Err(error) if matches!(error.code(), ErrorCode::Conflict | ErrorCode::InvalidState) => {}
            decided => drop(decided?),
        }
    }
}

/// Answers whether a call of a run may be made; the run as it is then.
///
/// # Errors
/// As [`Sandboxes::decide`].
pub(crate) fn decide(
    sandboxes: &Sandboxes,
    owner: &Owner,
    (id, number): (&str, u32),
    decision: Decision,
) -> Result<Json> {
    let run = sandboxes.decide(owner, id, number, decision)?;
    Ok(run_shown(&run, Some(sandboxes.run_calls(owner, id)?)))
}

/// A run as `sandbox_run` answers it, with its calls if they are given.
pub fn run_shown(run: &Run, calls: Option<Vec<RunCall>>) -> Json {
    Json::Object(RunShown::of(run, calls).into_fields())
}

impl RunShown {
    fn of(run: &Run, calls: Option<Vec<RunCall>>) -> Self {
        let end = run.end.as_ref();
        let last = |mut calls: Vec<RunCall>| {
            let first = calls.len().saturating_sub(CALLS);
            calls.drain(first..).map(CallShown::of).collect()
        };
        Self {
            run_id: run.id.to_string(),
            sandbox_id: run.sandbox.clone(),
            language: run.language.to_string(),
            code: run.beginning.clone(),
            state: run.state.as_str(),
            started_at: run.created_at,
            changed_at: run.changed_at,
            due_at: run.due_at,
            result: end.and_then(|end| end.value.clone()),
            exception: end.and_then(|end| end.exception.clone()),
            exit_code: end.map(|end| end.exit_code),
            cause: end.and_then(|end| end.error.as_ref()).map(ErrorFields::of_cause),
            stdout: fit::cut(&run.stdout.text, fit::STREAM).to_owned(),
            stderr: fit::cut(&run.stderr.text, fit::STREAM).to_owned(),
            waits: run.usage.waits,
            network: network::used(run.network.as_ref()),
            calls: calls.map(last),
        }
    }
}

/// The beginning of a text, and how long it is where that is not all.
fn beginning(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((cut, _)) => format!("{}… (cut: {} bytes in all)", &text[..cut], text.len()),
    }
}

impl CallShown {
    fn of(call: RunCall) -> Self {
        let short = |text: &str| beginning(text, SHOWN);
        let is_asked = call.state == CallState::Asking;
        let (answer, failure) = match &call.outcome {
            Some(Ok(text)) => (Some(short(text)), None),
            Some(Err(text)) => (None, Some(short(text))),
            None => (None, None),
        };
        Self {
            number: call.number,
            tool: call.tool,
            state: call.state.as_str(),
            // Whoever decides sees what is decided.
            arguments: beginning(&call.arguments, if is_asked { ASKED } else { SHOWN }),
            answer,
            failure,
            asked: call.question.map(|question| question.reason),
        }
    }
}
