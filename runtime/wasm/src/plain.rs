//! A look at the calls of tools that a program's text shows, before it runs. They are found in a guest, which reads the text: by
//! a script of ours in Python and PHP (`plain/*`), by the TypeScript guest in JavaScript. The catalog of the run says what is wrong
//! with them.

use std::time::Instant;

use dormouse_core::{Bounds, Callbacks, Error, Outcome, PlainCall, Result, RunContext, Status, Usage};

use crate::disk::OwnFiles;
use crate::engine::Metering;
use crate::instance::Instance;
use crate::task::Task;
use crate::typescript::{Transpilers, ended};

/// Longest text that is looked at, in bytes (256 KiB).
const MAX_TEXT: usize = 256 << 10;
/// Longest list of calls, in bytes (1 MiB).
const MAX_LIST: usize = 1 << 20;
/// The global through which a script learns what to read.
const ARGUMENT: &str = "__dormouse_program__";
/// Whether a JavaScript program's `tools` are those of the sandbox, which have a function of every name.
const ARE_OURS: &str = "typeof value === 'function' && typeof value.__dormouse_program__ === 'function'";

/// How the calls of a program are found in a language.
struct Script {
    /// Defines what finds them.
    source: &'static str,
    /// Takes that in, in an expression whose `value` is the source.
    load: &'static str,
    /// The calls as JSON, in an expression whose `value` is the program.
    find: &'static str,
}

const PYTHON: Script = Script {
    source: include_str!("plain/find.py"),
    load: concat!(
        "[module := type(__import__('sys'))('_dormouse_plain'), exec(value, module.__dict__), ",
        "__import__('sys').modules.update(_dormouse_plain=module)] and None"
    ),
    find: "__import__('sys').modules['_dormouse_plain'].calls(value)",
};

const PHP: Script = Script {
    source: include_str!("plain/find.php"),
    load: "eval('?>' . $value)",
    find: "\\Dormouse\\Plain\\calls($value)",
};

/// How a run ends whose program has calls that are wrong; none: it may begin. `written` is the program where it is not what the
/// task has. Must come before what the run can start is offered to the instance.
///
/// # Errors
/// Only what a grant names and the host does not have.
pub(crate) async fn refused(
    (transpilers, metering): (&Transpilers, Metering),
    (task, written): (&Task, Option<&str>),
    instance: &mut Instance,
    own: &OwnFiles,
) -> Result<Option<Outcome>> {
    let (callbacks, text) = (&task.context.callbacks, written.unwrap_or(&task.code));
    if !callbacks.looks_ahead() || !text.contains("tools") || text.len() > MAX_TEXT {
        return Ok(None);
    }
    let begin = Instant::now();
    let found = match task.guest.as_str() {
        "python" => found(&PYTHON, task, instance, own).await?,
        "php" => found(&PHP, task, instance, own).await?,
        "javascript" => {
            let limits = &task.context.limits;
            let read = transpilers.calls((text, written.is_some()), metering, limits).await;
            Ok(if is_empty(&read) || are_ours(task, instance, own).await? { read } else { String::new() })
        }
        _ => return Ok(None),
    };
    let list = match found {
        Ok(list) => list,
        Err(outcome) => return Ok(Some(*outcome)),
    };
    if is_empty(&list) || list.len() > MAX_LIST {
        return Ok(None);
    }
    let calls: Vec<PlainCall> = match serde_json::from_str(&list) {
        Ok(calls) => calls,
        Err(error) => {
            tracing::debug!(%error, "the calls of a program cannot be read");
            return Ok(None);
        }
    };
    let Some(told) = callbacks.look_ahead(calls).await else { return Ok(None) };
    let error = Error::args_invalid(told)
        .with_hint("nothing of the program has run: correct these calls, and run all of it again");
    let usage = Usage { wall: begin.elapsed(), ..Usage::default() };
    Ok(Some(ended(Status::Stopped(error), usage)))
}

/// Whether a list has no calls.
fn is_empty(list: &str) -> bool {
    matches!(list, "" | "[]")
}

/// The calls that a script of ours finds in a program: in its own namespace, so that nothing of the program's is run or changed.
/// What a program has changed in its interpreter can keep them from being found. Or: how the interpreter was ended by that.
///
/// # Errors
/// Only what a grant names and the host does not have.
async fn found(
    script: &Script,
    task: &Task,
    instance: &mut Instance,
    own: &OwnFiles,
) -> Result<std::result::Result<String, Box<Outcome>>> {
    let asking = asking(task);
    if !instance.finds_calls {
        match answer(&asking, instance, (script.source, script.load), own).await? {
            Ok(_) => instance.finds_calls = true,
            Err(outcome) => return Ok(Err(outcome)),
        }
    }
    answer(&asking, instance, (&task.code, script.find), own).await
}

/// What an expression over a text comes to, if that is a text; nothing else.
async fn answer(
    asking: &Task,
    instance: &mut Instance,
    (text, expression): (&str, &str),
    own: &OwnFiles,
) -> Result<std::result::Result<String, Box<Outcome>>> {
    let argument = serde_json::Value::from(text).to_string();
    if let Err(error) = instance.set(asking, ARGUMENT, &argument, own).await {
        if instance.is_whole() {
            tracing::debug!(%error, "the calls of a program cannot be looked for");
            return Ok(Ok(String::new()));
        }
        return Ok(Err(Box::new(ended(Status::Stopped(error), Usage::default()))));
    }
    let outcome = instance.get(asking, ARGUMENT, Some(expression), own).await?;
    match &outcome.status {
        Status::Stopped(_) => Ok(Err(Box::new(outcome))),
        Status::Returned(value) => Ok(Ok(value.as_str().unwrap_or_default().to_owned())),
        Status::Raised(exception) => {
            tracing::debug!(exception.message, "the calls of a program cannot be found");
            Ok(Ok(String::new()))
        }
        Status::Exited(_) => Ok(Ok(String::new())),
    }
}

/// Whether `tools` is what the sandbox has, and nothing that an earlier program has put in its place.
async fn are_ours(task: &Task, instance: &mut Instance, own: &OwnFiles) -> Result<bool> {
    let outcome = instance.get(&asking(task), "tools", Some(ARE_OURS), own).await?;
    Ok(outcome.value().and_then(dormouse_core::Value::as_bool) == Some(true))
}

/// The task of a question that is the host's own.
fn asking(task: &Task) -> Task {
    let bounds = Bounds {
        string_bytes: Bounds::MAX.string_bytes,
        total_bytes: 2 * Bounds::MAX.string_bytes,
        ..Bounds::default()
    };
    let context =
        RunContext { callbacks: Callbacks::default(), output: None, bounds, ..task.context.clone() };
    Task { code: String::new(), name: "<calls>".into(), allow_eval: true, context, ..task.clone() }
}
