//! `sandbox_exec`: command lines in a sandbox (requirements S2-25, S4-06).

mod shown;

use std::time::Duration;

use dormouse_core::sandbox::{Owner, SandboxId};
use dormouse_core::sandboxes::CommandLine;
use dormouse_core::{GuestPath, Result};
use serde_json::Value as Json;

pub use self::shown::missing;
pub(crate) use self::shown::{ELSEWHERE, Line, MISSING, Shown, serial};
use super::Verb;
use crate::call::{Answer, Caller};
use crate::services::{Services, Target, by_id, found};
use crate::spec::{CHANGES, Flat, Inline, Order, Role, answer, arguments, flag, integer, text};

/// Longest wall-clock limit that a call can ask for, in milliseconds; the operator's may be lower.
const MAX_TIMEOUT: u64 = 600_000;
/// Largest standard input, in bytes (8 MiB).
const MAX_STDIN: usize = 8 << 20;

arguments! {
    /// What `sandbox_exec` is asked.
    pub(crate) struct Exec {
        target: Target = Target::table(),
        command: String = text(
            CommandLine::MAX_TEXT,
            "The command line; several lines are a script. Example: `ls -la && python3 app.py | grep x > out.txt`.",
        ),
        timeout_ms: u64 = integer(
            (100, MAX_TIMEOUT),
            "Wall-clock limit of all that it starts together, in milliseconds. Default 30000, at most 600000.",
        ).role(Role::TimeLimit).or(30_000),
        cwd: Option<GuestPath> = text::<GuestPath>(
            GuestPath::MAX_BYTES,
            "Working directory, for this call only. Default: that of the last call, initially `/workspace`.",
        ).optional(),
        stdin: Option<String> =
            text::<String>(MAX_STDIN, "What its standard input yields, at most 8 MiB. Default empty.").optional(),
        background: bool = flag(
            "Start it as a job and answer at once with `job_id`. Default false. A job changes files, but neither the \
             working folder nor the variables of later calls.",
        ),
    }
}

answer! {
    /// What came of it.
    pub(crate) struct Executed {
        sandbox_id: SandboxId = "The sandbox.",
        line: Option<Flat<Line>> = Inline,
        job_id: Option<String> =
            "The job that was started in the background, or in which commands after `&` continue.",
    }
}

pub(crate) fn exec() -> Verb<Exec, Executed> {
    Verb {
        name: "sandbox_exec",
        title: "Run a shell command in a sandbox",
        description: concat!(
            "Runs a bash command line in a persistent sandbox and returns its output and exit status. Pipes, \
            redirections, loops, functions, here-documents and the usual commands work, and `python3`, `node`, `php` \
            and `git` run as programs on the same files; there is no compiler, and no network but what the operator allows. The \
            working directory, variables and functions are kept for the next call; options and traps are not. A \
            non-zero exit status is a normal answer; a command that does not exist is named in `missing`; a command \
            line that exceeds a limit is stopped with everything that it started. \
            Long output is cut in the middle, and the whole of it is in the file that `stdout_file` names; with \
            `background` it runs as a job: ask `sandbox_job` for it; what `&` starts and is not waited for goes on as a job too. Commands besides bash's own: ",
            include_str!("exec/commands.txt"),
            "."
        ),
        arguments: Exec::table(),
        annotations: CHANGES,
        order: Order::Works,
        run: |services, caller, asked| Box::pin(run(services, caller, asked)),
    }
}

async fn run(services: &Services, caller: &Caller, asked: Exec) -> Result<Answer<Executed>> {
    let Exec { target, command, timeout_ms, cwd, stdin, background } = asked;
    let mut line = CommandLine::new(command);
    line.wall = Duration::from_millis(timeout_ms);
    line.directory = cwd;
    line.stdin = stdin.unwrap_or_default().into_bytes();
    let (sandboxes, owner) = (&services.sandboxes, &caller.owner);
    line.further = services.offered.programs(owner, caller.approver.as_ref(), &line.taint);
    let sandbox = services.get_or_create(&target, owner).await?;
    if background {
        let (sandbox_id, job) = sandboxes.start_job(owner, &found(&sandbox), line).await?;
        let job_id = Some(job.id().as_str().to_owned());
        return Ok(Executed { sandbox_id, line: None, job_id }.into());
    }
    line.sink = caller.output.clone();
    let ran = sandboxes.exec_going_on(owner, &found(&sandbox), line, shown::WHOLE).await?;
    let (sandbox_id, executed, outputs, job) = ran;
    let shown = shown::shorten(executed, &outputs);
    let job_id = job.map(|job| job.id().as_str().to_owned());
    let (stopped, text) = (shown.error(), shown.stopped_text());
    let answer = Answer::from(Executed { sandbox_id, line: Some(Flat(shown.into_line())), job_id });
    Ok(match (stopped, text) {
        (Some(error), Some(text)) => answer.with_text(text).stopped_by(error),
        _ => answer,
    })
}

/// What came of a command line in a sandbox, as `sandbox_exec` answers it, with the whole of its output.
pub fn executed(executed: dormouse_core::sandbox::Executed, sandbox: &SandboxId) -> Json {
    shown::whole(executed).structured(sandbox)
}

/// Runs a command line and makes its output short enough to be shown.
pub(crate) async fn run_line(
    services: &Services,
    owner: &Owner,
    id: &SandboxId,
    line: CommandLine,
) -> Result<Shown> {
    let ran = services.sandboxes.exec_keeping(owner, &by_id(id), line, shown::WHOLE).await?;
    let (_, executed, outputs) = ran;
    Ok(shown::shorten(executed, &outputs))
}
