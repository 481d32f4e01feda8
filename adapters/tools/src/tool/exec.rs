//! `sandbox_exec` and `sandbox_job`: command lines in a sandbox (requirements S2-25, S4-06).

pub(crate) mod job;
mod shape;

use std::time::Duration;

use dormouse_core::sandbox::{Owner, SandboxId};
use dormouse_core::sandboxes::CommandLine;
use dormouse_core::{GuestPath, Result};
use serde_json::json;

pub(crate) use self::shape::{Shown, fields as output, missing, serial, whole};
use super::verb::{Answer, CHANGES, Caller, Kept, Verb, by_id, naming};
use crate::decode::Arguments;
use crate::field::{Absent, Field};
use crate::schema;

/// Longest wall-clock limit that a call can ask for, in milliseconds; the operator's may be lower.
const MAX_TIMEOUT: u64 = 600_000;
/// Largest standard input, in bytes (8 MiB).
const MAX_STDIN: usize = 8 << 20;

pub(crate) fn exec() -> Verb {
    Verb {
        name: "sandbox_exec",
        title: "Run a shell command in a sandbox",
        description: concat!(
            "Runs a bash command line in a sandbox that lasts and returns its output and exit status. Pipes, \
            redirections, loops, functions, here-documents and the usual commands are there, and `python3`, `node`, `php` \
            and `git` run as programs on the same files; there is no compiler, and no network but what the operator allows. Working folder, variables and \
            functions last for the next call, options and traps do not. A non-zero exit is a normal answer, and a command \
            that is not there is named in `missing`; a command line that passes a limit is stopped with all that it started. \
            Long output is cut in the middle, and the whole of it is in the file that `stdout_file` names; with \
            `background` it runs as a job: ask `sandbox_job` for it; what `&` starts and is not waited for goes on as a job too. Commands besides bash's own: ",
            include_str!("exec/commands.txt"),
            "."
        ),
        fields: naming([
            Field::text(
                "command",
                CommandLine::MAX_TEXT,
                Absent::Refused,
                "The command line; several lines are a script. Example: `ls -la && python3 app.py | grep x > out.txt`.",
            ),
            Field::integer(
                "timeout_ms",
                (100, MAX_TIMEOUT),
                Absent::Default(30_000),
                "Wall-clock limit of all that it starts together, in milliseconds. Default 30000, at most 600000.",
            ),
            Field::text(
                "cwd",
                GuestPath::MAX_BYTES,
                Absent::None,
                "The folder to run it in, for this call alone. Default: where the last one ended, `/workspace` at first.",
            ),
            Field::text(
                "stdin",
                MAX_STDIN,
                Absent::None,
                "What its standard input yields, at most 8 MiB. Default empty.",
            ),
            Field::flag(
                "background",
                "Start it as a job and answer at once with `job_id`. Default false. A job changes files, but neither the \
                 working folder nor the variables of later calls.",
            ),
        ]),
        output: output().optional(
            "job_id",
            schema::text(
                "The job that was started in the background, or that goes on with what `&` has started.",
            ),
        ),
        annotations: CHANGES,
        run: |kept, arguments, caller| Box::pin(run(kept, arguments, caller)),
    }
}

async fn run(kept: &Kept, mut arguments: Arguments, caller: &Caller) -> Result<Answer> {
    let mut line = CommandLine::new(arguments.take_text("command").unwrap_or_default());
    if let Some(ms) = arguments.integer("timeout_ms") {
        line.wall = Duration::from_millis(ms);
    }
    line.directory = arguments.take_text("cwd").map(|path| GuestPath::parse(&path)).transpose()?;
    line.stdin = arguments.take_text("stdin").unwrap_or_default().into_bytes();
    let owner = &caller.owner;
    let id = kept.there_or_new(&mut arguments, owner).await?;
    if arguments.flag("background") {
        let (id, job) = kept.sandboxes.start_job(owner, &by_id(&id), line).await?;
        return Ok(json!({"sandbox_id": id.as_str(), "job_id": job.id().as_str()}).into());
    }
    line.sink = caller.output.clone();
    let ran = kept.sandboxes.exec_going_on(owner, &by_id(&id), line, shape::WHOLE).await?;
    let (_, executed, outputs, job) = ran;
    let shown = shape::shorten(executed, &outputs);
    let mut fields = shown.fields(&id);
    if let Some(job) = job {
        fields["job_id"] = job.id().as_str().into();
    }
    let answer = Answer::from(fields);
    Ok(match shown.stopped_text() {
        Some(text) => answer.with_text(text).failed(),
        None => answer,
    })
}

/// Runs a command line and makes its output short enough to be shown.
pub(crate) async fn run_line(kept: &Kept, owner: &Owner, id: &SandboxId, line: CommandLine) -> Result<Shown> {
    let (_, executed, outputs) = kept.sandboxes.exec_keeping(owner, &by_id(id), line, shape::WHOLE).await?;
    Ok(shape::shorten(executed, &outputs))
}
