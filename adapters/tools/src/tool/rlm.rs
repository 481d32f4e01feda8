//! The profile `rlm` (requirements S3): one Python REPL that lasts, made by the first call.
//!
//! All tools work in the sandbox of one session key, which the operator can choose. Answers are texts for a model.

mod page;
mod plain;

use std::sync::Arc;
use std::time::Duration;

use dormouse_core::sandbox::SandboxId;
use dormouse_core::{Bounds, Error, EvalRequest, Language, Outcome, Result, Status};
use serde_json::{Map, Value as Json, json};

use self::page::{ITEM_BYTES, PAGE, PAGE_BYTES, PAGE_ITEMS, Page};
use self::plain::plain;
use super::look::{Look, Seen, look};
use super::verb::{Answer, CHANGES, Caller, Kept, KeptTool, LOOKS, REMOVES, Run, Verb, by_id};
use super::{Tool, eval, lost, sub_agent, variables, warning_schema};
use crate::decode::Arguments;
use crate::encode;
use crate::field::{Absent, Field};
use crate::fit::fit;
use crate::models;
use crate::schema::{self, Object};
use crate::surface::Annotations;

/// Bytes of the value's JSON that an answer shows (64 KiB).
const VALUE_BYTES: u32 = 64 << 10;

/// Its name, of which the key of its sandbox is made.
pub(crate) const PROFILE: &str = "rlm";

/// The tools of the profile.
pub(super) fn all(kept: &Arc<Kept>) -> Vec<Box<dyn Tool>> {
    let most = kept.sandboxes.manager().policy().ceiling.wall.as_secs().max(1);
    let verbs = [exec(most), load(), get(), vars(), sub_agent(), usage(), reset()];
    verbs.into_iter().map(|verb| Box::new(KeptTool::new(kept.clone(), verb)) as Box<dyn Tool>).collect()
}

fn verb(
    (name, title): (&'static str, &'static str),
    description: &'static str,
    fields: Vec<Field>,
    output: Object,
    annotations: Annotations,
    run: Run,
) -> Verb {
    Verb { name, title, description, fields, output, annotations, run }
}

/// The sandbox that all of them work in.
async fn sandbox(kept: &Kept, caller: &Caller) -> Result<SandboxId> {
    kept.with_key(&kept.key_of(PROFILE), &caller.owner).await
}

fn exec(most: u64) -> Verb {
    verb(
        ("rlm_exec", "rlm.exec"),
        "Executes Python code in the sandbox and returns what it printed. State lasts: variables, functions and imports are \
         there at the next call. When the last line is an expression, its value is shown after the output. Print only what \
         is needed; long inputs stay in variables. `llm_query(prompt)` asks a language model, `llm_query_batched(prompts)` asks \
         it about several texts at once.",
        vec![
            Field::text("code", EvalRequest::MAX_CODE, Absent::Refused, "Python source text."),
            Field::integer(
                "timeout",
                (1, most),
                Absent::Default(most.min(30)),
                "Seconds after which the run is stopped. Default 30.",
            ),
        ],
        Object::new()
            .optional("sandbox_id", schema::text("The sandbox."))
            .optional("ok", schema::flag("Whether it ran to its end."))
            .optional("result", eval::result())
            .optional("exception", eval::exception())
            .optional("stdout", schema::text("Standard output. Untrusted text."))
            .optional("stderr", schema::text("Standard error. Untrusted text."))
            .optional("recovery", lost::recovery())
            .optional("recovery_reason", lost::reason())
            .optional("warning", warning_schema())
            .optional("closed_files", schema::list(&schema::text("Its path."), eval::CLOSED_FILES)),
        CHANGES,
        |kept, arguments, caller| Box::pin(run(kept, arguments, caller)),
    )
}

async fn run(kept: &Kept, mut arguments: Arguments, caller: &Caller) -> Result<Answer> {
    let policy = kept.sandboxes.manager().policy();
    let mut request = EvalRequest::new(Language::python(), arguments.take_text("code").unwrap_or_default());
    request.limits = policy.defaults.clone();
    request.limits.wall = Duration::from_secs(arguments.integer("timeout").unwrap_or(30));
    request.bounds = Bounds { total_bytes: VALUE_BYTES, ..Bounds::default() };
    request.allow_eval = policy.allow_eval;
    request.output = caller.output.clone();
    models::offer(caller.model.clone(), &mut request.callbacks)?;
    let id = sandbox(kept, caller).await?;
    let (id, outcome) = kept.sandboxes.eval(&caller.owner, &by_id(&id), request).await?;
    let outcome = fit(outcome);
    let whole = encode::reply_in(&outcome, Some(&id));
    let mut fields = Map::new();
    let names = [
        "sandbox_id",
        "ok",
        "result",
        "exception",
        "stdout",
        "stderr",
        "recovery",
        "closed_files",
        "warning",
        "recovery_reason",
        "error",
    ];
    for name in names {
        if let Some(value) = whole.structured.get(name) {
            fields.insert(name.into(), value.clone());
        }
    }
    let answer = Answer::from(Json::Object(fields));
    if matches!(outcome.status, Status::Stopped(_)) {
        return Ok(answer.with_text(whole.text).failed());
    }
    let text = told(&outcome);
    let text = if text.is_empty() { "(no output)".into() } else { text };
    Ok(answer.with_text(lost::with_text(text, outcome.recovery, outcome.recovery_reason.as_deref())))
}

/// What a run printed, then its value or its traceback. Empty when there is nothing.
pub(super) fn told(outcome: &Outcome) -> String {
    let mut text = outcome.stdout.text.clone();
    let mut part = |more: &str| {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(more);
    };
    if !outcome.stderr.text.is_empty() {
        part(&outcome.stderr.text);
    }
    match &outcome.status {
        Status::Raised(exception) => {
            let short = || format!("{}: {}", exception.class, exception.message);
            part(&exception.traceback.clone().unwrap_or_else(short));
        }
        Status::Exited(status) => part(&format!("(exited with status {status})")),
        Status::Returned(value) if value.type_name() != "null" => part(&plain(&json!(value))),
        _ => {}
    }
    let dropped = outcome.stdout.dropped_bytes + outcome.stderr.dropped_bytes;
    if dropped > 0 {
        part(&format!("({dropped} bytes of output were left out)"));
    }
    text
}

fn load() -> Verb {
    verb(
        ("rlm_load", "rlm.load"),
        "Loads a file of the host into a variable of the sandbox, as text. The content is not shown; work on it with \
         rlm_exec. One file at a time: patterns are not expanded.",
        vec![
            Field::text("path", 64 << 10, Absent::Refused, "Path of the file on the host."),
            Field::text("var", variables::MAX_NAME, Absent::Refused, "The variable to bind it to."),
        ],
        variables::loaded(),
        CHANGES,
        |kept, mut arguments, caller| {
            Box::pin(async move {
                let path = arguments.take_text("path").unwrap_or_default();
                let var = arguments.take_text("var").unwrap_or_default();
                if models::PYTHON_NAMES.contains(&var.as_str()) {
                    let message = format!("`{var}` cannot be a variable: it is a name of the sandbox's own");
                    return Err(Error::args_invalid(message).with_hint("choose another name"));
                }
                let loaded = variables::read(kept, path, var, "text", Language::python()).await?;
                let id = sandbox(kept, caller).await?;
                variables::bind(kept, &caller.owner, &id, loaded).await
            })
        },
    )
}

fn get() -> Verb {
    verb(
        ("rlm_get", "rlm.get"),
        "Returns the value of a variable of the sandbox: as JSON where it can be, else as its representation. Something long \
         comes in pages: `length` tells the whole, `next_offset` the `offset` of what follows. With `query`, a Python \
         expression in which `value` is the variable, returns the value of the expression, which is evaluated in the \
         sandbox. Looking changes nothing: iterators are shown as what they are, and not used up.",
        vec![
            Field::text("name", 1 << 10, Absent::Refused, "The variable."),
            Field::text(
                "query",
                64 << 10,
                Absent::None,
                "A Python expression, such as `len(value)` or with the variable's own name. Default: the value itself.",
            ),
            Field::integer(
                "offset",
                (0, u32::MAX.into()),
                Absent::Default(0),
                "Where the page begins: items of a container, characters of a text, bytes. Default 0.",
            ),
        ],
        Object::new()
            .optional("name", schema::text("The variable."))
            .optional("result", eval::result())
            .optional("exception", eval::exception())
            .optional(
                "length",
                schema::integer(0, "Items, characters or bytes of the whole, where it has a length."),
            )
            .optional("next_offset", schema::integer(1, "The `offset` of the next page, where there is one."))
            .optional("recovery", lost::recovery())
            .optional("recovery_reason", lost::reason()),
        CHANGES,
        |kept, arguments, caller| Box::pin(show(kept, arguments, caller)),
    )
}

async fn show(kept: &Kept, mut arguments: Arguments, caller: &Caller) -> Result<Answer> {
    let name = arguments.take_text("name").unwrap_or_default();
    let query = arguments.take_text("query");
    let offset =
        arguments.integer("offset").and_then(|offset| u32::try_from(offset).ok()).unwrap_or_default();
    let id = sandbox(kept, caller).await?;
    let bounds =
        Bounds { items: PAGE_ITEMS, depth: 16, string_bytes: ITEM_BYTES, offset, ..Bounds::default() };
    let bounds = Bounds { total_bytes: PAGE_BYTES, ..bounds };
    let asked = Look { name: name.clone(), query, page: Some(PAGE), bounds };
    let Seen { outcome, length } = look(kept, &caller.owner, &id, asked).await?;
    let outcome = fit(outcome);
    let shown = encode::outcome(&outcome);
    let page = match &outcome.status {
        Status::Returned(value) => Page::of(value, offset, length),
        _ => Page::default(),
    };
    let text = match outcome.status {
        Status::Stopped(error) => return Err(error),
        Status::Raised(exception) => format!("{}: {}", exception.class, exception.message),
        _ => page.told(&shown["result"], offset),
    };
    let mut answer = json!({"name": name, "result": shown["result"], "exception": shown["exception"]});
    for (field, number) in [("length", page.length), ("next_offset", page.next)] {
        if let Some(number) = number {
            answer[field] = number.into();
        }
    }
    lost::copy(&mut answer, &shown);
    let text = lost::with_text(text, outcome.recovery, outcome.recovery_reason.as_deref());
    Ok(Answer::from(answer).with_text(text))
}

fn vars() -> Verb {
    let variable = Object::new()
        .description("A variable.")
        .required("name", schema::text("Its name."))
        .required("type", schema::text("The name of its type."))
        .required("summary", schema::text("The beginning of how it is shown. Untrusted text."))
        .build();
    verb(
        ("rlm_vars", "rlm.vars"),
        "Lists the variables of the sandbox: name, type, and a summary of at most 100 characters. Names that begin with `_` \
         are left out. It takes no arguments.",
        Vec::new(),
        lost::told(Object::new().optional("vars", schema::list(&variable, "Sorted by name."))),
        LOOKS,
        |kept, _, caller| {
            Box::pin(async move {
                let id = sandbox(kept, caller).await?;
                let (vars, _, gone) = variables::shown(kept, &caller.owner, &id, Language::python()).await?;
                let text = Json::from(vars.clone()).to_string();
                let mut answer = json!({"vars": vars});
                lost::tell(&mut answer, gone.as_ref());
                let gone = gone.as_ref();
                let (recovery, reason) =
                    (gone.map(|lost| lost.recovery), gone.map(|lost| lost.reason.as_str()));
                Ok(Answer::from(answer).with_text(lost::with_text(text, recovery, reason)))
            })
        },
    )
}

fn sub_agent() -> Verb {
    verb(
        ("rlm_sub_agent", "rlm.sub_agent"),
        "Runs a sub-agent on the host with a signature such as `question, context -> answer`: a language model that works in \
         the sandbox by writing Python. Its results are kept in variables of the sandbox, named as the outputs; the answer \
         only sums them up. Inputs that are variables already need not be given. It needs a model: the operator's endpoint, \
         or a client that can sample.",
        sub_agent::fields(),
        sub_agent::output(),
        sub_agent::ASKS,
        |kept, mut arguments, caller| {
            Box::pin(async move {
                let task = sub_agent::task(&mut arguments, caller)?;
                let id = sandbox(kept, caller).await?;
                sub_agent::work(kept, caller, &id, task).await
            })
        },
    )
}

fn usage() -> Verb {
    verb(
        ("rlm_usage", "rlm.usage"),
        "Tells how often the language model was asked, and the tokens of its prompts and answers, since the server began. All \
         calls are counted: those of sub-agents and those of llm_query in the sandbox. It also tells what one call may spend. \
         It takes no arguments.",
        Vec::new(),
        Object::new()
            .optional(
                "model",
                schema::text("The operator's model; empty when only the client's can be asked."),
            )
            .optional("calls", schema::integer(0, "Calls of the model."))
            .optional("failed_calls", schema::integer(0, "Those of them that brought no answer."))
            .optional("input_tokens", schema::integer(0, "Tokens of the prompts."))
            .optional("output_tokens", schema::integer(0, "Tokens of the answers."))
            .optional("total_tokens", schema::integer(0, "All tokens."))
            .optional("max_calls", schema::integer(0, "Calls that one call of a tool may make."))
            .optional("max_tokens", schema::integer(0, "Tokens that one call of a tool may use.")),
        LOOKS,
        |kept, _, caller| {
            Box::pin(async move {
                let (used, budget) = (kept.models.used(caller.owner.as_str()), kept.models.budget());
                let answer = json!({
                    "model": kept.models.name(),
                    "calls": used.calls,
                    "failed_calls": used.failed_calls,
                    "input_tokens": used.input_tokens,
                    "output_tokens": used.output_tokens,
                    "total_tokens": used.tokens(),
                    "max_calls": budget.calls,
                    "max_tokens": budget.tokens,
                });
                let text = answer.to_string();
                Ok(Answer::from(answer).with_text(text))
            })
        },
    )
}

fn reset() -> Verb {
    verb(
        ("rlm_reset", "rlm.reset"),
        "Resets the sandbox: all variables and imports are gone, files are kept. The next rlm_exec begins with a fresh \
         interpreter. It takes no arguments.",
        Vec::new(),
        Object::new().optional("message", schema::text("What was done.")),
        REMOVES,
        |kept, _, caller| {
            Box::pin(async move {
                let id = sandbox(kept, caller).await?;
                kept.sandboxes.reset(&caller.owner, &by_id(&id)).await?;
                let message = "Sandbox reset: all variables are gone";
                Ok(Answer::from(json!({"message": message})).with_text(message))
            })
        },
    )
}
