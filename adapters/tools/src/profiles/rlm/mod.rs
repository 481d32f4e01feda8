//! The profile `rlm` (requirements S3): one Python REPL that lasts, made by the first call.
//!
//! All tools work in the sandbox of one session key, which the operator can choose. Answers are texts for a model.

mod page;

use std::sync::Arc;
use std::time::Duration;

use dormouse_core::sandbox::SandboxId;
use dormouse_core::{Bounds, Error, EvalRequest, Exception, Language, Result, Status, Value};
use serde_json::Value as Json;

use self::page::{ITEM_BYTES, PAGE, PAGE_BYTES, PAGE_ITEMS, Page};
use crate::agents;
use crate::call::fit::fit;
use crate::call::{Answer, Caller, encode, plain};
use crate::models;
use crate::services::{Services, by_id};
use crate::spec::outcome::{self, CLOSED_FILES};
use crate::spec::{
    Answered as _, CHANGES, ErrorFields, FETCHES, Flat, FromOne, Inline, LOOKS, Nothing, OrNull, Order,
    REMOVES, answer, answer::Part as _, arguments, integer, list_of, text,
};
use crate::tool::Tool;
use crate::verbs::look::{Look, Seen, look};
use crate::verbs::variables::{self, Fitting, Form, LoadedAnswer, VariableShown};
use crate::verbs::{Verb, lost};

/// Bytes of the value's JSON that an answer shows (64 KiB).
const VALUE_BYTES: u32 = 64 << 10;

/// Its name, of which the key of its sandbox is made.
pub(crate) const PROFILE: &str = "rlm";

/// The tools of the profile.
pub(crate) fn all(services: &Arc<Services>) -> Vec<Box<dyn Tool>> {
    let most = services.sandboxes.policy().ceiling.wall.as_secs().max(1);
    vec![
        exec(most).tool(services),
        load().tool(services),
        get().tool(services),
        vars().tool(services),
        sub_agent().tool(services),
        usage().tool(services),
        reset().tool(services),
    ]
}

/// The sandbox that all of them work in.
async fn sandbox(services: &Services, caller: &Caller) -> Result<SandboxId> {
    Ok(services.with_key(&services.key_of(PROFILE), &caller.owner).await?.id)
}

arguments! {
    /// What `rlm_exec` is asked.
    struct Exec (most: u64) {
        code: String = text(EvalRequest::MAX_CODE, "Python source text."),
        timeout: u64 = integer((1, most), "Seconds after which the run is stopped. Default 30.").or(most.min(30)),
    }
}

answer! {
    /// What came of it.
    struct Ran {
        sandbox_id: SandboxId = "The sandbox.",
        ok: bool = "Whether it ran to its end.",
        result: OrNull<Value> = outcome::result(),
        exception: OrNull<Exception> = outcome::exception(),
        stdout: String = "Standard output. Untrusted text.",
        stderr: String = "Standard error. Untrusted text.",
        lost: Flat<lost::Told> = Inline,
        warning: Option<ErrorFields> = outcome::warning(),
        closed_files: Option<Vec<String>> = list_of("Its path.", CLOSED_FILES),
    }
}

fn exec(most: u64) -> Verb<Exec, Ran> {
    Verb {
        name: "rlm_exec",
        title: "rlm.exec",
        description: "Executes Python code in the sandbox and returns what it printed. State is kept: variables, \
            functions and imports exist at the next call. When the last line is an expression, its value is shown after the output. Print only what \
            is needed; long inputs stay in variables. `llm_query(prompt)` asks a language model, `llm_query_batched(prompts)` asks \
            it about several texts at once.",
        arguments: Exec::table(most),
        annotations: CHANGES,
        order: Order::Works,
        run: |services, caller, asked| Box::pin(run(services, caller, asked)),
    }
}

async fn run(services: &Services, caller: &Caller, asked: Exec) -> Result<Answer<Ran>> {
    let policy = services.sandboxes.policy();
    let mut request = EvalRequest::new(Language::python(), asked.code);
    request.context.limits = policy.defaults.clone();
    request.context.limits.wall = Duration::from_secs(asked.timeout);
    request.context.bounds = Bounds { total_bytes: VALUE_BYTES, ..Bounds::default() };
    request.allow_eval = policy.allow_eval;
    request.context.output = caller.output.clone();
    models::offer(caller.model.clone(), &mut request.context.callbacks)?;
    let id = sandbox(services, caller).await?;
    let (id, outcome) = services.sandboxes.eval(&caller.owner, &by_id(&id), request).await?;
    let outcome = fit(outcome);
    let stopped = encode::stopped_text(&outcome, Some(&id));
    let printed = plain::told(&outcome);
    let ran = Ran {
        sandbox_id: id,
        ok: outcome.is_ok(),
        result: OrNull(outcome.value().cloned()),
        exception: OrNull(outcome.exception().cloned()),
        stdout: outcome.stdout.text.clone(),
        stderr: outcome.stderr.text.clone(),
        lost: Flat(lost::Told::from(&outcome)),
        warning: outcome.warning.as_ref().map(ErrorFields::of),
        closed_files: Some(outcome.closed_files.clone()).filter(|files| !files.is_empty()),
    };
    let answer = Answer::from(ran);
    if let (Some(text), Some(error)) = (stopped, outcome.stopped()) {
        return Ok(answer.with_text(text).stopped_by(ErrorFields::of(error)));
    }
    let text = if printed.is_empty() { "(no output)".into() } else { printed };
    Ok(answer.with_text(lost::with_text(text, outcome.recovery, outcome.recovery_reason.as_deref())))
}

arguments! {
    /// What `rlm_load` is asked.
    struct Load {
        path: String = text(64 << 10, "Path of the file on the host."),
        var: String = text(variables::MAX_NAME, "The variable to bind it to."),
    }
}

fn load() -> Verb<Load, LoadedAnswer> {
    Verb {
        name: "rlm_load",
        title: "rlm.load",
        description: "Loads a file of the host into a variable of the sandbox, as text. The content is not shown; work on it with \
            rlm_exec. One file at a time: patterns are not expanded.",
        arguments: Load::table(),
        annotations: CHANGES,
        order: Order::Works,
        run: |services, caller, asked| {
            Box::pin(async move {
                let Load { path, var } = asked;
                if models::PYTHON_NAMES.contains(&var.as_str()) {
                    let message = format!("`{var}` cannot be a variable: it is a name of the sandbox's own");
                    return Err(Error::args_invalid(message).with_hint("choose another name"));
                }
                let loaded = variables::read(services, path, var, Form::Text, Language::python()).await?;
                let id = sandbox(services, caller).await?;
                variables::bind(services, &caller.owner, &id, loaded).await
            })
        },
    }
}

arguments! {
    /// What `rlm_get` is asked.
    struct Get {
        name: String = text(1 << 10, "The variable."),
        query: Option<String> = text::<String>(
            64 << 10,
            "A Python expression, such as `len(value)` or with the variable's own name. Default: the value itself.",
        ).optional(),
        offset: u32 = integer(
            (0, u32::MAX.into()),
            "Where the page begins: items of a container, characters of a text, bytes. Default 0.",
        ).or(0),
    }
}

answer! {
    /// A variable, or what the query made of it.
    struct Got {
        name: String = "The variable.",
        result: OrNull<Value> = outcome::result(),
        exception: OrNull<Exception> = outcome::exception(),
        length: Option<u64> = "Items, characters or bytes of the whole, where it has a length.",
        next_offset: Option<FromOne> = "The `offset` of the next page, where there is one.",
        lost: Flat<lost::Told> = Inline,
    }
}

fn get() -> Verb<Get, Got> {
    Verb {
        name: "rlm_get",
        title: "rlm.get",
        description: "Returns the value of a variable of the sandbox: as JSON where it can be, else as its representation. Long \
            values are returned in pages: `length` is the total, `next_offset` the `offset` of the next page. With `query`, a Python \
            expression in which `value` is the variable, returns the value of the expression, which is evaluated in the \
            sandbox. Inspecting changes nothing: iterators are described and not consumed.",
        arguments: Get::table(),
        annotations: CHANGES,
        order: Order::Works,
        run: |services, caller, asked| Box::pin(show(services, caller, asked)),
    }
}

async fn show(services: &Services, caller: &Caller, asked: Get) -> Result<Answer<Got>> {
    let Get { name, query, offset } = asked;
    let id = sandbox(services, caller).await?;
    let bounds =
        Bounds { items: PAGE_ITEMS, depth: 16, string_bytes: ITEM_BYTES, offset, ..Bounds::default() };
    let bounds = Bounds { total_bytes: PAGE_BYTES, ..bounds };
    let wanted = Look { name: name.clone(), query, page: Some(PAGE), bounds };
    let Seen { outcome, length } = look(services, &caller.owner, &id, wanted).await?;
    let outcome = fit(outcome);
    let lost = Flat(lost::Told::from(&outcome));
    let (recovery, reason) = (outcome.recovery, outcome.recovery_reason);
    let (mut page, mut result, mut exception) = (Page::default(), None, None);
    let text = match outcome.status {
        Status::Stopped(error) => return Err(error),
        Status::Raised(raised) => {
            let text = format!("{}: {}", raised.class, raised.message);
            exception = Some(raised);
            text
        }
        Status::Returned(value) => {
            page = Page::of(&value, offset, length);
            let text = page.told(&value.clone().json().unwrap_or_default(), offset);
            result = Some(value);
            text
        }
        Status::Exited(_) => page.told(&Json::Null, offset),
    };
    let got = Got {
        name,
        result: OrNull(result),
        exception: OrNull(exception),
        length: page.length,
        next_offset: page.next.map(FromOne),
        lost,
    };
    Ok(Answer::from(got).with_text(lost::with_text(text, recovery, reason.as_deref())))
}

answer! {
    /// The variables.
    struct Vars {
        vars: Vec<VariableShown> = "Sorted by name.",
        lost: Flat<lost::Told> = Inline,
    }
}

fn vars() -> Verb<Nothing, Vars> {
    Verb {
        name: "rlm_vars",
        title: "rlm.vars",
        description: "Lists the variables of the sandbox: name, type, and a summary of at most 100 characters. Names that begin with `_` \
            are left out. It takes no arguments.",
        arguments: Nothing::table(),
        annotations: LOOKS,
        order: Order::Works,
        run: |services, caller, _| Box::pin(list(services, caller)),
    }
}

async fn list(services: &Services, caller: &Caller) -> Result<Answer<Vars>> {
    let id = sandbox(services, caller).await?;
    let fitting = variables::fitting(services, &caller.owner, &id, Language::python()).await?;
    let Fitting { variables, lost, .. } = fitting;
    let text = serde_json::to_string(&variables).unwrap_or_default();
    let gone = lost.as_ref();
    let (recovery, reason) = (gone.map(|lost| lost.recovery), gone.map(|lost| lost.reason.as_str()));
    let text = lost::with_text(text, recovery, reason);
    let vars = variables.into_iter().map(VariableShown::from).collect();
    Ok(Answer::from(Vars { vars, lost: Flat(gone.into()) }).with_text(text))
}

fn sub_agent() -> Verb<agents::Ask, agents::Told> {
    Verb {
        name: "rlm_sub_agent",
        title: "rlm.sub_agent",
        description: "Runs a sub-agent on the host with a signature such as `question, context -> answer`: a language model that works in \
            the sandbox by writing Python. Its results are kept in variables of the sandbox, named as the outputs; the answer \
            only sums them up. Inputs that are variables already need not be given. It needs a model: the operator's endpoint, \
            or a client that supports sampling.",
        arguments: agents::Ask::table(),
        annotations: FETCHES,
        order: Order::Works,
        run: |services, caller, asked| {
            Box::pin(async move {
                let task = agents::task(asked, caller)?;
                let id = sandbox(services, caller).await?;
                agents::work(services, caller, &id, task).await
            })
        },
    }
}

answer! {
    /// What the language model was asked.
    struct Used {
        model: String = "The operator's model; empty when only the client's can be asked.",
        calls: u64 = "Calls of the model.",
        failed_calls: u64 = "Requests that failed.",
        input_tokens: u64 = "Tokens of the prompts.",
        output_tokens: u64 = "Tokens of the answers.",
        total_tokens: u64 = "All tokens.",
        max_calls: u32 = "Calls that one call of a tool may make.",
        max_tokens: u64 = "Tokens that one call of a tool may use.",
    }
}

fn usage() -> Verb<Nothing, Used> {
    Verb {
        name: "rlm_usage",
        title: "rlm.usage",
        description: "Returns the number of requests to the language model and their tokens (prompts and answers) \
            since the server started. All \
            calls are counted: those of sub-agents and those of llm_query in the sandbox. It also returns the budget \
            of one call. \
            It takes no arguments.",
        arguments: Nothing::table(),
        annotations: LOOKS,
        order: Order::Apart,
        run: |services, caller, _| {
            Box::pin(async move {
                let text = Json::Object(used(services, caller).into_fields()).to_string();
                Ok(Answer::from(used(services, caller)).with_text(text))
            })
        },
    }
}

fn used(services: &Services, caller: &Caller) -> Used {
    let (used, budget) = (services.offered.models.used(&caller.owner), services.offered.models.budget());
    Used {
        model: services.offered.models.name().to_owned(),
        calls: used.calls,
        failed_calls: used.failed_calls,
        input_tokens: used.input_tokens,
        output_tokens: used.output_tokens,
        total_tokens: used.tokens(),
        max_calls: budget.calls,
        max_tokens: budget.tokens,
    }
}

answer! {
    /// That the sandbox was reset.
    struct Reset {
        message: &'static str = "What was done.",
    }
}

fn reset() -> Verb<Nothing, Reset> {
    Verb {
        name: "rlm_reset",
        title: "rlm.reset",
        description: "Resets the sandbox: all variables and imports are gone, files are kept. The next rlm_exec begins with a fresh \
            interpreter. It takes no arguments.",
        arguments: Nothing::table(),
        annotations: REMOVES,
        order: Order::Works,
        run: |services, caller, _| {
            Box::pin(async move {
                let id = sandbox(services, caller).await?;
                services.sandboxes.reset(&caller.owner, &by_id(&id)).await?;
                let message = "Sandbox reset: all variables are gone";
                Ok(Answer::from(Reset { message }).with_text(message))
            })
        },
    }
}
