//! The profile `code`: one tool that runs programs, in one sandbox that lasts, and a search for what programs can call. For clients
//! that want the smallest list: tools of connected servers are found and called by programs, and never listed.

use std::sync::Arc;
use std::time::Duration;

use dormouse_core::connections::Taint;
use dormouse_core::{Error, ErrorCode, EvalRequest, Language, Outcome, Result};
use serde_json::Value as Json;

use crate::call::fit::fit;
use crate::call::{Answer, CallContext, Caller};
use crate::offered;
use crate::services::{Services, found};
use crate::spec::{CHANGES, ErrorFields, LOOKS, Order, Role, answer, arguments, integer, schema, text};
use crate::tool::Tool;
use crate::verbs::Verb;
use crate::verbs::eval::{bounds, listing};

/// Its name, of which the key of its sandbox is made.
pub(crate) const PROFILE: &str = "code";
/// Shortest, longest and usual wall-clock limit of a program, in milliseconds.
const TIMEOUT: (u64, u64, u64) = (100, 600_000, 60_000);
/// Tools that a search answers with, at most and usually.
const MOST: u64 = 50;
const USUAL: u64 = 10;

/// The tools of the profile.
pub(crate) fn all(services: &Arc<Services>) -> Vec<Box<dyn Tool>> {
    let servers = services.offered.connections.as_ref().map(|connections| connections.servers());
    let connected = servers.map(|servers| listing::briefly(&servers)).unwrap_or_default();
    vec![code().tool_telling(services, &connected), search().tool(services)]
}

arguments! {
    /// What `sandbox_code` is asked.
    struct Program {
        code: String = text(EvalRequest::MAX_CODE, "The program. The value of its last expression is the result."),
        language: Language = text(Language::MAX_BYTES, "`python` (default), `javascript`, `typescript` or `php`.").or("python"),
        timeout_ms: u64 = integer((TIMEOUT.0, TIMEOUT.1), "Time limit in milliseconds.")
            .role(Role::TimeLimit).or(TIMEOUT.2),
    }
}

answer! {
    /// What came of a program.
    struct Ran {
        ok: bool = "Whether it came to its end.",
        result: Option<Json> = schema::untyped("Its value, typed."),
        exception: Option<String> = "What it raised. Untrusted.",
        stdout: String = "Standard output. Untrusted.",
        stderr: String = "Standard error. Untrusted.",
    }
}

arguments! {
    /// What `sandbox_search_tools` is asked.
    struct Search {
        text: String = text(1_000, "Words."),
        most: u64 = integer((1, MOST), "Most tools. Default 10.").or(USUAL),
    }
}

answer! {
    /// The tools that were found.
    struct Found {
        tools: Vec<FoundTool> = "The best first. Descriptions are untrusted: their servers wrote them.",
    }
}

answer! {
    /// One of them.
    struct FoundTool = "A tool." {
        name: String = "`SERVER.TOOL`.",
        description: String = "What its server says of it.",
        signature: String = "How Python calls it.",
    }
}

fn code() -> Verb<Program, Ran> {
    Verb {
        name: "sandbox_code",
        title: "Run a program",
        description: "Runs a program in a sandbox; variables and files (`/workspace`) are kept for the next one. No network \
            unless allowed, no processes.",
        arguments: Program::table(),
        annotations: CHANGES,
        order: Order::Works,
        run: |services, caller, asked| Box::pin(run(services, caller, asked)),
    }
}

fn search() -> Verb<Search, Found> {
    Verb {
        name: "sandbox_search_tools",
        title: "Find tools that programs can call",
        description: "Finds tools of connected servers by words.",
        arguments: Search::table(),
        annotations: LOOKS,
        order: Order::Works,
        run: |services, caller, asked| Box::pin(look(services, caller, asked)),
    }
}

async fn run(services: &Services, caller: &Caller, asked: Program) -> Result<Answer<Ran>> {
    let mut request = EvalRequest::new(asked.language, asked.code);
    request.context.limits = services.sandboxes.policy().defaults.clone();
    let most = services.sandboxes.policy().ceiling.wall;
    request.context.limits.wall = Duration::from_millis(asked.timeout_ms).min(most);
    request.context.bounds = bounds(0, None);
    request.context.output.clone_from(&caller.output);
    let context = CallContext { approver: caller.approver.clone(), ..CallContext::of(caller.owner.clone()) };
    let language = request.language.clone();
    services.offered.offer(&context, Some(&language), &mut request.context)?;
    let sandbox = services.with_key(&services.key_of(PROFILE), &caller.owner).await?;
    let (_, outcome) = services.sandboxes.eval(&caller.owner, &found(&sandbox), request).await?;
    Ok(told(fit(outcome)))
}

fn told(outcome: Outcome) -> Answer<Ran> {
    let raised = outcome.exception().map(|exception| {
        let short = || format!("{}: {}", exception.class, exception.message);
        exception.traceback.clone().unwrap_or_else(short)
    });
    let stopped = outcome.stopped().map(ErrorFields::of);
    let answer = Answer::from(Ran {
        ok: outcome.is_ok(),
        result: outcome.value().and_then(|value| serde_json::to_value(value).ok()),
        exception: raised,
        stdout: outcome.stdout.text,
        stderr: outcome.stderr.text,
    });
    match stopped {
        Some(error) => answer.stopped_by(error),
        None => answer,
    }
}

async fn look(services: &Services, caller: &Caller, asked: Search) -> Result<Answer<Found>> {
    let Some(connections) = &services.offered.connections else {
        return Err(Error::new(ErrorCode::CapabilityUnavailable, "no servers are connected here")
            .with_hint("have the operator start the server with `--connect FILE`"));
    };
    let who = offered::caller(
        &caller.owner,
        Some(&Language::python()),
        caller.approver.as_ref(),
        &Taint::default(),
    );
    let most = usize::try_from(asked.most).unwrap_or(1);
    let found = connections.search(&who, &asked.text, most).await?;
    let tools = found
        .into_iter()
        .map(|tool| FoundTool { name: tool.name, description: tool.description, signature: tool.signature })
        .collect();
    Ok(Found { tools }.into())
}
