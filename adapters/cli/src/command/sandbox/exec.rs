//! `dormouse sandbox exec`: a command line, with our own streams and its exit status.

use std::io::{self, IsTerminal as _, Read as _};
use std::sync::Arc;

use dormouse::sandbox::{Handle, Owner};
use dormouse::sandboxes::CommandLine;
use dormouse::{Connections as _, Dormouse, Error, ErrorCode, GuestPath, OutputSink, Status};
use dormouse_connect::Connectors;
use dormouse_tools::encode;
use rustix::io::ioctl_fionread;
use serde_json::json;

use super::super::once::{self, Form};
use super::Answer;
use crate::args::{ExecArgs, PlaceArgs};
use crate::exit::Failure;
use crate::print::{self, Lasting, View};
use crate::settings;
use crate::words::in_commands;

/// Largest standard input that is passed on, in bytes (8 MiB).
const MAX_STDIN: u64 = 8 << 20;

/// Options that follow a quoted command line by mistake; a program whose name has a space takes others.
const OURS: [&str; 7] = ["--state-dir", "--json", "--timeout", "-t", "--cwd", "--stdin", "-i"];

/// Runs it; what is to be told. As JSON that is what the tool `sandbox_exec` answers, also when it is refused.
pub(super) fn run(
    reached: (&Dormouse, Option<&Connectors>),
    place: &PlaceArgs,
    arguments: &ExecArgs,
    form: Form,
) -> Result<Answer, Failure> {
    match (ran(reached, place, arguments, form), form) {
        (Err(Failure::Refused(error)), Form::Json) => {
            Ok(Answer::Json(json!({"error": encode::error(&error)}), error.code().exit_status()))
        }
        (ran, _) => ran,
    }
}

fn ran(
    (dormouse, connectors): (&Dormouse, Option<&Connectors>),
    place: &PlaceArgs,
    arguments: &ExecArgs,
    form: Form,
) -> Result<Answer, Failure> {
    let mut line = line(arguments)?;
    let caller = settings::connect::caller(None, &line.taint);
    line.further = connectors.map(|connectors| connectors.programs(&caller));
    settings::packages::offer(dormouse, settings::packages::indexes(&arguments.packages, place, None)?)?;
    let live = form.live();
    line.sink = live.clone().map(|live| live as Arc<dyn OutputSink>);
    let starts = CommandLine::starts_others(&line.text);
    let run = async {
        let (sandboxes, handle) = (dormouse.sandboxes()?, Handle::IdOrName(&arguments.name));
        let (id, mut executed) = sandboxes.exec(&Owner::local(), &handle, line).await?;
        if starts && let Status::Stopped(error) = executed.outcome.status {
            executed.outcome.status = Status::Stopped(waited_for(error));
        }
        Ok::<_, Error>((id, executed))
    };
    if form == Form::Json {
        let (id, executed) = once::wait(run)?;
        let status = u8::try_from(executed.outcome.exit_code()).unwrap_or(1);
        tell_unread(arguments.stdin)?;
        return Ok(Answer::Json(dormouse_tools::executed(executed, &id), status));
    }
    let elsewhere = super::made_elsewhere(dormouse, &arguments.name);
    let mut missing = None;
    let run = async {
        let executed = run.await?.1;
        missing = dormouse_tools::missing(&executed);
        Ok(executed.outcome)
    };
    let outcome = once::wait(once::watch(run, live.as_deref()));
    let reads = arguments.stdin;
    Ok(Answer::words(move || {
        let view = View { lasting: Some(Lasting::Shell), ..View::new("bash", "") };
        let status = once::show(outcome, form, live.as_deref(), view)?;
        if let Some(error) = &missing {
            let hint = in_commands(error.hint().unwrap_or_default());
            print::note(&format!("{}; {hint}", error.message()))?;
        }
        if let Some(note) = elsewhere {
            print::note(&note)?;
        }
        tell_unread(reads)?;
        Ok(status)
    }))
}

/// Says that something was handed over and not read. It is looked for at the end, when whoever writes it has begun; that it is
/// not read without the option is what other programs of this kind do, so that a loop over lines keeps its own input.
fn tell_unread(reads: bool) -> io::Result<()> {
    let input = io::stdin();
    let waits = !reads && !input.is_terminal() && ioctl_fionread(&input).is_ok_and(|bytes| bytes > 0);
    if waits { print::note("standard input was not read; `-i` passes it on") } else { Ok(()) }
}

/// This process ends with its command, and so does what a line starts with `&`.
fn waited_for(error: Error) -> Error {
    if error.code() != ErrorCode::LimitTime {
        return error;
    }
    error.with_hint(
        "the line waits for what `&` starts, and ends it; on a server (`dormouse mcp`, `dormouse serve`) it would continue",
    )
}

fn line(arguments: &ExecArgs) -> Result<CommandLine, Error> {
    let text = match arguments.command.as_slice() {
        [line] => line.clone(),
        [line, option, ..] if line.contains(' ') && OURS.contains(&option.as_str()) => {
            return Err(Error::args_invalid(format!(
                "`{option}` comes after the command line, as if it were an argument of it"
            ))
            .with_hint(
                "put options before the sandbox's name: `dormouse sandbox exec OPTIONS NAME COMMAND`",
            ));
        }
        // Several words are a program and its arguments, as a shell of the caller's has split them.
        words => shlex::try_join(words.iter().map(String::as_str))
            .map_err(|_| Error::args_invalid("an argument of the command holds a NUL byte"))?,
    };
    let mut line = CommandLine::new(text);
    if let Some(text) = &arguments.timeout {
        line.wall = settings::duration("--timeout", text)?;
    }
    line.directory = arguments.cwd.as_deref().map(GuestPath::parse).transpose()?;
    if arguments.stdin {
        let unread = |error| Error::internal("standard input cannot be read", error);
        io::stdin().take(MAX_STDIN + 1).read_to_end(&mut line.stdin).map_err(unread)?;
        if line.stdin.len() as u64 > MAX_STDIN {
            return Err(Error::new(
                ErrorCode::TooLarge,
                format!("standard input has more than {MAX_STDIN} bytes"),
            )
            .with_hint("copy it into a file of the sandbox with `dormouse sandbox cp`"));
        }
    }
    Ok(line)
}
