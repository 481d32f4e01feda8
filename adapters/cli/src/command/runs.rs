//! `dormouse runs`: programs that outlive the command that started them.

use std::sync::Arc;
use std::time::Duration;

use dormouse::connections::Decision;
use dormouse::sandbox::{Handle, Owner, Run, RunCall, RunLimits};
use dormouse::{Dormouse, Error, ErrorCode, EvalRequest, Language, Result};
use dormouse_tools::run_shown;
use serde_json::{Value as Json, json};

use super::once;
use crate::args::{AnswerArgs, PlaceArgs, RunsCommand, StartArgs, StateArgs};
use crate::audit;
use crate::exit::Failure;
use crate::print;
use crate::settings;

/// Runs that a list shows.
const LISTED: usize = 1_000;
/// How often a run that is followed is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// Does it; the exit status.
pub(crate) fn run(
    place: &PlaceArgs,
    state: &StateArgs,
    command: RunsCommand,
) -> std::result::Result<u8, Failure> {
    let dormouse = settings::kept(place, state)?;
    audit::note("runs", &settings::exceptions::of_state(state, None))?;
    let json = state.json;
    let gate = once::wait(settings::network::offer(&dormouse, state))?;
    let connectors = settings::connect::here(&state.connect, gate.clone())?;
    if let Some(connectors) = &connectors {
        dormouse.sandboxes()?.serve_runs(Arc::new(settings::connect::ForRuns(connectors.clone())));
    }
    let done = match command {
        RunsCommand::Start(asked) => start(&dormouse, &asked, json),
        RunsCommand::List => list(&dormouse, json),
        RunsCommand::Show { run } => show(&dormouse, &run, json),
        RunsCommand::Approve(answer) => decide(&dormouse, &answer, Decision::Approved, json),
        RunsCommand::Deny(answer) => {
            let denied = Decision::Denied(answer.reason.clone());
            decide(&dormouse, &answer, denied, json)
        }
        RunsCommand::Cancel { run } => cancel(&dormouse, &run, json),
        RunsCommand::Logs { run } => logs(&dormouse, &run),
        RunsCommand::Resume { run } => resume(&dormouse, &run, json),
    };
    // Runs are let go of before the servers that they use are ended.
    let closed = once::to_end(async { dormouse.sandboxes()?.close().await });
    once::close(connectors);
    let least = once::settle(gate.as_deref());
    let status = done?;
    closed?;
    Ok(status.max(least))
}

fn owner() -> Owner {
    Owner::local()
}

fn start(dormouse: &Dormouse, asked: &StartArgs, json: bool) -> std::result::Result<u8, Failure> {
    let code = match (&asked.file, asked.code.as_deref()) {
        (Some(file), _) => settings::source::file(file)?,
        (None, Some("-")) => settings::source::standard_input(true)?,
        (None, code) => code.unwrap_or_default().to_owned(),
    };
    let mut request = EvalRequest::new(Language::parse(&asked.language)?, code);
    if let Some(text) = &asked.timeout {
        request.context.limits.wall = settings::duration("--timeout", text)?;
    }
    if let Some(name) = asked.file.as_ref().and_then(|file| file.file_name()) {
        request.name = name.to_string_lossy().into_owned();
    }
    let limits = RunLimits {
        running: settings::duration("--running", &asked.running)?,
        lifetime: settings::duration("--lifetime", &asked.lifetime)?,
        approval: settings::duration("--approval", &asked.approval)?,
        calls: asked.calls,
        ..RunLimits::default()
    };
    let run = once::wait(async {
        // Made if it is not there.
        let kept = dormouse.sandbox(&asked.sandbox).await?;
        let handle = Handle::IdOrName(kept.id().as_str());
        dormouse.sandboxes()?.start_run(&owner(), &handle, request, limits).await
    })?;
    follow(dormouse, &run, json)
}

fn resume(dormouse: &Dormouse, id: &str, json: bool) -> std::result::Result<u8, Failure> {
    let run = once::wait(async {
        let sandboxes = dormouse.sandboxes()?;
        let run = sandboxes.run(&owner(), id)?;
        sandboxes.take_over_run(&run)?;
        Ok(run)
    })?;
    follow(dormouse, &run, json)
}

fn decide(
    dormouse: &Dormouse,
    answer: &AnswerArgs,
    decision: Decision,
    json: bool,
) -> std::result::Result<u8, Failure> {
    let run = once::wait(async {
        let sandboxes = dormouse.sandboxes()?;
        let number = match answer.call {
            Some(number) => number,
            None => the_only_question(&sandboxes.run_questions(&owner(), &answer.run)?, &answer.run)?,
        };
        sandboxes.decide(&owner(), &answer.run, number, decision)
    })?;
    if answer.no_wait {
        if !json {
            print::note(&format!(
                "it is answered: `dormouse runs show {}` tells what becomes of it",
                run.id
            ))?;
        }
        return Ok(0);
    }
    if let Err(error) = once::wait(async { dormouse.sandboxes()?.take_over_run(&run) }) {
        print::note(&format!(
            "it is answered, and the run goes on where its servers are connected: {error}"
        ))?;
        return Ok(0);
    }
    follow(dormouse, &run, json)
}

fn the_only_question(asked: &[RunCall], run: &str) -> Result<u32> {
    match asked {
        [call] => Ok(call.number),
        [] => Err(Error::new(ErrorCode::NotFound, "the run asks nothing just now")
            .with_hint(format!("look at it with `dormouse runs show {run}`"))),
        _ => Err(Error::args_invalid("the run asks about more than one call")
            .with_hint(format!("name one: `dormouse runs show {run}` numbers them"))),
    }
}

fn cancel(dormouse: &Dormouse, id: &str, json: bool) -> std::result::Result<u8, Failure> {
    let run =
        once::wait(async { dormouse.sandboxes()?.cancel_run(&owner(), id, "somebody cancelled it").await })?;
    tell_end(&run, json)?;
    Ok(0)
}

/// Follows a run to its end, and tells its questions.
fn follow(dormouse: &Dormouse, run: &Run, json: bool) -> std::result::Result<u8, Failure> {
    if !json && run.state.is_open() {
        print::note(&format!(
            "{}: Ctrl-C leaves it where it waits, `dormouse runs resume` goes on with it, given the same servers and network",
            run.id
        ))?;
    }
    let (mut told, mut shown) = (None, 0);
    loop {
        let now = once::wait(async {
            let sandboxes = dormouse.sandboxes()?;
            let run = sandboxes.wait_for_run(&owner(), run.id.as_str(), LOOK).await?;
            let asking = sandboxes.run_questions(&owner(), run.id.as_str())?;
            Ok((run, asking))
        });
        let (run, asking) = now.inspect_err(|error| {
            if error.code() == ErrorCode::Cancelled && !json {
                let _ = print::note(&format!("the run {} is left where it waits", run.id));
            }
        })?;
        if !json {
            shown = print_output(&run, shown)?;
        }
        if !run.state.is_open() {
            tell_end(&run, json)?;
            return Ok(status(&run));
        }
        let first = asking.first().map(|call| call.number);
        if first.is_some() && told != first {
            told = first;
            for call in &asking {
                print::note(&question(&run, call))?;
            }
        }
        // Whoever answers does so from elsewhere; the run is looked at until then.
        once::wait(async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            Ok(())
        })?;
    }
}

/// Prints what was written since it was printed last; how many bytes there have been.
fn print_output(run: &Run, shown: u64) -> std::result::Result<u64, Failure> {
    let fresh = run.stdout.total_bytes.saturating_sub(shown);
    let from = run.stdout.text.len().saturating_sub(usize::try_from(fresh).unwrap_or(usize::MAX));
    if fresh > 0 {
        let start = (from..=run.stdout.text.len()).find(|at| run.stdout.text.is_char_boundary(*at));
        print::out(&run.stdout.text[start.unwrap_or(0)..])?;
    }
    Ok(run.stdout.total_bytes)
}

fn question(run: &Run, call: &RunCall) -> String {
    let reason = call.question.as_ref().map(|question| question.reason.as_str()).unwrap_or_default();
    let connect = if run.servers.is_empty() { "" } else { " --connect FILE" };
    format!(
        "call {} of `{}` with {} is to be allowed ({reason}): `dormouse runs approve {} {}{connect}` or `deny`",
        call.number, call.tool, call.arguments, run.id, call.number
    )
}

fn status(run: &Run) -> u8 {
    run.end.as_ref().map_or(1, |end| u8::try_from(end.exit_code & 0xff).unwrap_or(1))
}

fn tell_end(run: &Run, json: bool) -> std::result::Result<(), Failure> {
    if json {
        return print::out(&format!("{}\n", run_shown(run, None))).map_err(Failure::from);
    }
    let Some(end) = &run.end else { return Ok(()) };
    if let Some(cause) = &end.error {
        let error = Error::new(cause.code, cause.message.as_str());
        print::error(&cause.hint.iter().fold(error, |error, hint| error.with_hint(hint.as_str())))?;
    }
    if let Some(exception) = &end.exception {
        print::raised(exception, &run.name)?;
    }
    match &end.value {
        Some(value) if value["type"] != "null" => Ok(print::out(&format!("{}\n", plain(value)))?),
        _ => Ok(()),
    }
}

/// A typed value for people: a text as it is, everything else in JSON notation.
fn plain(value: &Json) -> String {
    match untyped(value) {
        Json::String(text) => text,
        other => other.to_string(),
    }
}

/// The value without its types, as far as it has a form in JSON.
fn untyped(value: &Json) -> Json {
    match &value["value"] {
        Json::Array(items) => items.iter().map(untyped).collect(),
        Json::Object(fields) => fields.iter().map(|(name, field)| (name.clone(), untyped(field))).collect(),
        Json::Null if value["type"] != "null" => value.clone(),
        other => other.clone(),
    }
}

fn list(dormouse: &Dormouse, json: bool) -> std::result::Result<u8, Failure> {
    let runs = once::wait(async { dormouse.sandboxes()?.runs(&owner(), LISTED) })?;
    if json {
        let all: Vec<Json> = runs.iter().map(|run| run_shown(run, None)).collect();
        print::out(&format!("{}\n", json!({"runs": all})))?;
        return Ok(0);
    }
    for run in runs {
        let code = run.beginning.lines().next().unwrap_or_default();
        print::out(&format!(
            "{}  {:9}  {}  {}\n",
            run.id,
            run.state.as_str(),
            run.language,
            print::visible(code)
        ))?;
    }
    Ok(0)
}

fn show(dormouse: &Dormouse, id: &str, json: bool) -> std::result::Result<u8, Failure> {
    let (run, calls, asking) = once::wait(async {
        let (sandboxes, owner) = (dormouse.sandboxes()?, owner());
        let asking = sandboxes.run_questions(&owner, id)?;
        Ok((sandboxes.run(&owner, id)?, sandboxes.run_calls(&owner, id)?, asking))
    })?;
    if json {
        print::out(&format!("{}\n", run_shown(&run, Some(calls))))?;
        return Ok(0);
    }
    print::out(&format!("{}: {} in {}\n", run.id, run.state.as_str(), run.sandbox))?;
    let used = &run.usage;
    print::out(&format!(
        "computed {} ms, waited {} times, {} calls\n",
        used.running.as_millis(),
        used.waits,
        used.calls
    ))?;
    for call in &calls {
        let arguments: String = match call.arguments.char_indices().nth(200) {
            Some((cut, _)) => format!("{}… ({} bytes)", &call.arguments[..cut], call.arguments.len()),
            None => call.arguments.clone(),
        };
        print::out(&format!(
            "{:5}  {:9}  {}  {}{}\n",
            call.number,
            call.state.as_str(),
            print::visible(&call.tool),
            print::visible(&arguments),
            failure(call)
        ))?;
    }
    for call in &asking {
        print::out(&format!("{}\n", print::visible(&question(&run, call))))?;
    }
    tell_end(&run, false)?;
    Ok(0)
}

/// What the program was told of a call that failed or was not made, in one line.
fn failure(call: &RunCall) -> String {
    let Some(Err(why)) = &call.outcome else { return String::new() };
    let line: String = why.lines().next().unwrap_or_default().chars().take(200).collect();
    format!("  failed: {}", print::visible(&line))
}

fn logs(dormouse: &Dormouse, id: &str) -> std::result::Result<u8, Failure> {
    let run = once::wait(async { dormouse.sandboxes()?.run(&owner(), id) })?;
    print::out(&run.stdout.text)?;
    if !run.stderr.text.is_empty() {
        print::err(&print::visible(&run.stderr.text))?;
    }
    Ok(0)
}
