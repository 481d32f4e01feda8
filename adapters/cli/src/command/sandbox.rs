//! `dormouse sandbox`: sandboxes that last, over the tools.
//!
//! Each command is one call of a tool, in a process of its own: the sandbox is woken, called, saved and put down.

mod answer;
mod copy;
mod exec;

use std::time::Duration;

use dormouse::sandbox::{Handle, Owner};
use dormouse::{Connections as _, Dormouse, Error, ErrorCode, EvalRequest, Grants, Language, Result};
use dormouse_connect::Connectors;
use dormouse_tools::{CallContext, Reply, Skills, Surface, Toolset, encode, unsaved};
use serde_json::{Map, Value as Json, json};

use super::once::{self, Form};
use crate::args::{ExecArgs, GivenArgs, PlaceArgs, SandboxCommand, StateArgs};
use crate::audit;
use crate::exit::Failure;
use crate::print::{self, Lasting, Null, View};
use crate::settings::{self, Given};
use crate::words;

/// Time for sweeping at the end of a command, where there is much to sweep.
const TIDYING: Duration = Duration::from_secs(2);

/// Sandboxes that one call lists; a listing takes as many calls as it needs.
const PAGE: u32 = 200;

/// What came of a command, to be told when it has been saved; the exit status.
pub(super) enum Answer {
    /// An object for standard output.
    Json(Json, u8),
    /// What people read.
    Words(Box<dyn FnOnce() -> std::result::Result<u8, Failure>>),
}

impl Answer {
    fn words(tell: impl FnOnce() -> std::result::Result<u8, Failure> + 'static) -> Self {
        Self::Words(Box::new(tell))
    }

    /// Tells it.
    pub(super) fn tell(self) -> std::result::Result<u8, Failure> {
        match self {
            Self::Json(answer, status) => {
                print::out(&format!("{}\n", words::of_answer(answer)))?;
                Ok(status)
            }
            Self::Words(tell) => tell(),
        }
    }

    /// Tells it, and why what the command did is not saved.
    fn tell_unsaved(self, error: Error) -> std::result::Result<u8, Failure> {
        match self {
            Self::Json(mut answer, _) => {
                answer[unsaved::FIELD] = encode::error(&error);
                Self::Json(answer, error.code().exit_status()).tell()
            }
            Self::Words(tell) => {
                tell()?;
                Err(error.into())
            }
        }
    }
}

impl Default for Answer {
    fn default() -> Self {
        Self::words(|| Ok(0))
    }
}

/// Does it; the exit status.
pub(crate) fn run(
    place: &PlaceArgs,
    state: &StateArgs,
    command: SandboxCommand,
) -> std::result::Result<u8, Failure> {
    let dormouse = settings::kept(place, state)?;
    let packages = match &command {
        SandboxCommand::Exec(arguments) => Some(&arguments.packages),
        _ => None,
    };
    audit::note("sandbox", &settings::exceptions::of_state(state, packages))?;
    let form = Form::new(state.json, false);
    let gate = once::wait(settings::network::offer(&dormouse, state))?;
    let connectors = settings::connect::here(&state.connect, gate.clone())?;
    let done = match command {
        SandboxCommand::Eval { name, code, language, timeout, show_null } => eval(
            (&dormouse, connectors.as_ref()),
            &name,
            code,
            (&language, timeout.as_deref(), show_null),
            form,
        ),
        SandboxCommand::Exec(arguments) => {
            exec::run((&dormouse, connectors.as_ref()), place, &arguments, form)
        }
        SandboxCommand::Cp { from, to } => {
            copy::copy(&dormouse, &from, &to).map(|()| Answer::default()).map_err(Failure::from)
        }
        SandboxCommand::Sweep => return sweep(&dormouse, form),
        other => call(&dormouse, other, Some(&state.given), state.json),
    };
    once::close(connectors);
    // Whatever came of it, what has changed is saved before it is told.
    let closed = once::to_end(async { dormouse.sandboxes()?.close().await });
    let least = once::settle(gate.as_deref());
    let tidied = once::wait(async { dormouse.sandboxes()?.tidy(TIDYING).await });
    // Who asked the process to end does not wait for that.
    if let Some(error) = tidied.err().filter(|error| error.code() != ErrorCode::Cancelled) {
        tracing::warn!(%error, "the state folder cannot be swept");
    }
    let told = match (done, closed) {
        (Ok(answer), Ok(())) => answer.tell(),
        (Ok(answer), Err(error)) => answer.tell_unsaved(error),
        (Err(failure), _) => Err(failure),
    };
    told.or_else(|failure| once::refuse(failure, form)).map(|status| status.max(least))
}

/// Sweeps the state folder, however long it takes.
fn sweep(dormouse: &Dormouse, form: Form) -> std::result::Result<u8, Failure> {
    let swept = once::wait(async {
        let sandboxes = dormouse.sandboxes()?;
        let swept = sandboxes.sweep().await;
        // What providers remove in the background is removed then.
        sandboxes.close().await.and(swept)
    })?;
    if form == Form::Json {
        let told = json!({"chunks": swept.chunks, "bytes": swept.bytes, "whole": swept.whole, "error": null});
        print::out(&format!("{told}\n"))?;
    } else if swept.whole {
        print::out(&format!("{} given back\n", print::size(swept.bytes)))?;
    } else {
        print::out("another process is sweeping\n")?;
    }
    Ok(0)
}

fn eval(
    (dormouse, connectors): (&Dormouse, Option<&Connectors>),
    name: &str,
    code: String,
    (language, timeout, show_null): (&str, Option<&str>, bool),
    form: Form,
) -> std::result::Result<Answer, Failure> {
    let code = if code == "-" { settings::source::standard_input(true)? } else { code };
    let language = Language::parse(language)?;
    let null = Some(Null::of(&language, show_null));
    let mut request = EvalRequest::new(language, code.clone());
    if let Some(connectors) = connectors {
        let caller = settings::connect::caller(Some(&request.language), &request.context.taint);
        request.context.callbacks.set_catalog(connectors.catalog(&caller));
    }
    if let Some(text) = timeout {
        request.context.limits.wall = settings::duration("--timeout", text)?;
    }
    let live = form.live();
    request.context.output = live.clone().map(|live| live as std::sync::Arc<dyn dormouse::OutputSink>);
    let run = async {
        let (sandboxes, handle) = (dormouse.sandboxes()?, Handle::IdOrName(name));
        sandboxes.eval(&Owner::local(), &handle, request).await
    };
    if form == Form::Json {
        let (id, outcome) = once::wait(run)?;
        let status = u8::try_from(outcome.exit_code()).unwrap_or(1);
        return Ok(Answer::Json(encode::outcome_in(&outcome, &id), status));
    }
    let elsewhere = made_elsewhere(dormouse, name);
    let run = async { Ok(run.await?.1) };
    let outcome = once::wait(once::watch(run, live.as_deref()));
    Ok(Answer::words(move || {
        let lasting = Some(Lasting::Interpreter);
        let view = View { null, lasting, ..View::new("<snippet>", &code) };
        let status = once::show(outcome, form, live.as_deref(), view)?;
        if let Some(note) = elsewhere {
            print::note(&note)?;
        }
        Ok(status)
    }))
}

/// What is said of a sandbox that was made by another provider than was asked for, each time that it runs something.
fn made_elsewhere(dormouse: &Dormouse, name: &str) -> Option<String> {
    let view = dormouse.sandboxes().ok()?.get(&Owner::local(), &Handle::IdOrName(name)).ok()?;
    let spec = view.sandbox.spec;
    let wanted = spec.fallback_from?;
    Some(format!("the sandbox is on {} and not on {}", spec.provider.as_str(), wanted.as_str()))
}

/// The tool of a command, and its arguments.
fn meant(command: SandboxCommand, given: Option<&GivenArgs>) -> (&'static str, Json) {
    match command {
        SandboxCommand::Create { name, session_key, repo, branch, image, fallback, durability, asked } => {
            let arguments = json!({
                "name": name, "session_key": session_key, "repo": repo, "branch": branch, "image": image,
                "fallback": fallback.then_some(true), "durability": durability,
                "memory_bytes": asked.memory, "disk_bytes": asked.disk, "env": (!asked.env.is_empty()).then_some(&asked.env),
                "files": asked.files, "cpu_millis": asked.cpu, "processes": asked.processes, "persistence": asked.persistence,
                "idle_timeout_ms": asked.idle, "retention_ms": asked.retention,
                "allow_writes": given.is_some_and(|given| given.allow_writes).then_some(true),
            });
            ("sandbox_create", arguments)
        }
        SandboxCommand::List => ("sandbox_list", json!({"limit": PAGE})),
        SandboxCommand::Show { name } => ("sandbox_get", json!({"sandbox": name})),
        SandboxCommand::Exec(ExecArgs { name, .. }) => ("sandbox_exec", json!({"sandbox": name})),
        SandboxCommand::Files { name, path, recursive } => {
            ("sandbox_files", json!({"sandbox": name, "path": path, "recursive": recursive}))
        }
        SandboxCommand::Mkdir { name, path } => {
            ("sandbox_make_folder", json!({"sandbox": name, "path": path}))
        }
        SandboxCommand::Mv { name, path, to, replace } => {
            ("sandbox_rename_file", json!({"sandbox": name, "path": path, "to": to, "replace": replace}))
        }
        SandboxCommand::RmFile { name, path, recursive } => {
            ("sandbox_remove_file", json!({"sandbox": name, "path": path, "recursive": recursive}))
        }
        SandboxCommand::Checkpoint { name, label, note } => {
            ("sandbox_checkpoint", json!({"sandbox": name, "name": label, "note": note}))
        }
        SandboxCommand::DescribeCheckpoint { name, checkpoint, label, note } => {
            let arguments =
                json!({"sandbox": name, "checkpoint_id": checkpoint, "name": label, "note": note});
            ("sandbox_describe_checkpoint", arguments)
        }
        SandboxCommand::Checkpoints { name } => ("sandbox_list_checkpoints", json!({"sandbox": name})),
        SandboxCommand::RmCheckpoint { name, checkpoint } => {
            ("sandbox_remove_checkpoint", json!({"sandbox": name, "checkpoint_id": checkpoint}))
        }
        SandboxCommand::Restore { name, checkpoint } => {
            ("sandbox_restore", json!({"sandbox": name, "checkpoint_id": checkpoint}))
        }
        SandboxCommand::Fork { name, count, checkpoint } => {
            ("sandbox_fork", json!({"sandbox": name, "count": count, "checkpoint_id": checkpoint}))
        }
        SandboxCommand::Vars { name, language } => {
            ("sandbox_vars", json!({"sandbox": name, "language": language}))
        }
        SandboxCommand::Reset { name } => ("sandbox_reset", json!({"sandbox": name})),
        SandboxCommand::Stop { name } => ("sandbox_stop", json!({"sandbox": name})),
        SandboxCommand::Resume { name } => ("sandbox_resume", json!({"sandbox": name})),
        SandboxCommand::Rm { name } => ("sandbox_destroy", json!({"sandbox": name})),
        SandboxCommand::Eval { name, code, .. } => ("sandbox_eval", json!({"sandbox": name, "code": code})),
        SandboxCommand::Cp { .. } => ("sandbox_download", json!({})),
        SandboxCommand::Sweep => ("sandbox_capabilities", json!({})),
    }
}

/// One call of a tool, and its answer. What it makes is given what `given` says.
pub(super) fn call(
    dormouse: &Dormouse,
    command: SandboxCommand,
    given: Option<&GivenArgs>,
    as_json: bool,
) -> std::result::Result<Answer, Failure> {
    let (grants, skills) = match given.map(settings::given).transpose()? {
        Some(Given { grants, skills, .. }) => (grants, skills),
        None => (Grants::default(), Skills::default()),
    };
    let surface = Surface::new(dormouse.runtime().clone())
        .with_grants(&grants)
        .with_skills(skills)
        .with_tools(Toolset::All)?;
    let whole = matches!(command, SandboxCommand::Show { .. });
    let (tool, arguments) = meant(command, given);
    // What was not said is not sent.
    let arguments: Map<String, Json> = match arguments {
        Json::Object(all) => all.into_iter().filter(|(_, value)| !value.is_null()).collect(),
        _ => Map::new(),
    };
    let mut reply = ask(&surface, tool, arguments)?;
    for text in ["message", "hint"] {
        if let Some(Json::String(text)) = reply.structured.pointer_mut(&format!("/error/{text}")) {
            *text = words::in_options(tool, text);
        }
    }
    let text = |field: &str| reply.structured["error"][field].as_str().map(str::to_owned);
    let code = ErrorCode::ALL.iter().find(|code| Some(code.as_str().to_owned()) == text("code"));
    let code = code.copied().unwrap_or(ErrorCode::Internal);
    if as_json {
        // The same status as without `--json`.
        let status = if reply.is_error { code.exit_status() } else { 0 };
        return Ok(Answer::Json(reply.structured, status));
    }
    if reply.is_error {
        let error = Error::new(code, text("message").unwrap_or_default());
        return Err(match text("hint") {
            Some(hint) => error.with_hint(hint).into(),
            None => error.into(),
        });
    }
    let (text, notes) = (print::visible(&answer::lines(&reply.structured, whole)), notes(&reply.structured));
    Ok(Answer::words(move || {
        print::out(&text)?;
        print::err(&notes)?;
        Ok(0)
    }))
}

/// What an answer says besides: what was lost, and what was asked for and not taken.
fn notes(answer: &Json) -> String {
    let mut notes = String::new();
    if let Some(recovery) = answer["recovery"].as_str() {
        notes += &print::recovered("the interpreter", recovery, answer["recovery_reason"].as_str());
    }
    let ignored: Vec<&str> =
        answer["ignored"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
    if !ignored.is_empty() {
        let options: Vec<&str> =
            ignored.into_iter().map(|name| words::option("sandbox_create", name).unwrap_or(name)).collect();
        let options = options.join("`, `");
        notes += &format!(
            "note: the session key already has a sandbox, which stays as it is; ignored: `{options}`\n"
        );
    }
    notes
}

/// The answer of a tool; of a listing, all its pages as one.
fn ask(surface: &Surface, tool: &str, mut arguments: Map<String, Json>) -> Result<Reply> {
    let call = |arguments| once::finish(surface.call(tool, arguments, CallContext::default()));
    let mut reply = call(arguments.clone())?;
    while let Some(cursor) = reply.structured.get("next_cursor").filter(|cursor| cursor.is_string()) {
        arguments.insert("cursor".into(), cursor.clone());
        let mut next = call(arguments.clone())?;
        if next.is_error {
            return Ok(next);
        }
        for (field, value) in next.structured.as_object_mut().into_iter().flatten() {
            match (reply.structured[field.as_str()].as_array_mut(), value.as_array_mut()) {
                (Some(all), Some(more)) => all.append(more),
                _ => reply.structured[field.as_str()] = value.take(),
            }
        }
        if next.structured.get("next_cursor").is_none() {
            reply.structured.as_object_mut().map(|fields| fields.remove("next_cursor"));
        }
    }
    Ok(reply)
}
