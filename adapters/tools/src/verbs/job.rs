//! `sandbox_job`: what became of a command line in the background, its output, and its end.

use std::time::Duration;

use dormouse_core::sandbox::{Executed, SandboxId, Timestamp};
use dormouse_core::sandboxes::Job;
use dormouse_core::{Error, Result, Stream};

use super::{Verb, exec};
use crate::call::fit;
use crate::call::{Answer, Caller, encode};
use crate::network::{self, UsedShown};
use crate::services::{Services, Target};
use crate::spec::{
    CHANGES, ErrorFields, Flat, Inline, Nested, Order, Role, answer, arguments, choice, integer, list_of,
    text, words,
};

/// How long the end of a job that was cancelled is waited for.
const CANCEL: Duration = Duration::from_secs(5);
/// Characters of a command line that are shown.
const SHOWN: usize = 200;
/// Largest offset in a job's output, in bytes.
const MAX_OFFSET: u64 = (1 << 53) - 1;

words! {
    /// What can be done with a job.
    pub(crate) enum Action {
        /// To say whether it runs.
        Get = "get",
        /// To show what it has written.
        Output = "output",
        /// To wait for its end.
        Wait = "wait",
        /// To end it.
        Cancel = "cancel",
        /// To name those that there are.
        List = "list",
    }
}

arguments! {
    /// What `sandbox_job` is asked.
    pub(crate) struct Ask {
        target: Target = Target::table(),
        job: Option<String> = text(64, "The job's id, as sandbox_exec told it. Not for `list`.").optional(),
        action: Action = choice("What to do: `get` (default), `output`, `wait`, `cancel` or `list`."),
        stdout_offset: u64 = integer(
            (0, MAX_OFFSET),
            "Where `output` begins in standard output, in bytes. Default 0.",
        ).or(0),
        stderr_offset: u64 = integer(
            (0, MAX_OFFSET),
            "Where `output` begins in standard error, in bytes. Default 0.",
        ).or(0),
        timeout_ms: u64 = integer(
            (0, 600_000),
            "How long `wait` waits, in milliseconds. Default 30000. The job continues afterwards.",
        ).role(Role::TimeLimit).or(30_000),
    }
}

answer! {
    /// A job.
    pub(crate) struct JobShown = "A job." {
        job_id: String = "Its id.",
        command: String = "The beginning of its command line.",
        state: &'static str = "`running`, `ended`, `cancelled` or `stopped` (by a limit).",
        started_at: Timestamp = "When it was started.",
        ended_at: Option<Timestamp> = "When it ended; only when it has.",
        exit_code: Option<i32> = "Exit status; only when it has ended.",
        duration_ms: Option<f64> = "Wall-clock time in milliseconds; only when it has ended.",
        timed_out: Option<bool> = "Whether the time limit ended it; only when it has ended.",
        missing: Option<Vec<String>> = list_of("Its name.", exec::MISSING),
        unavailable: Option<ErrorFields> = "What would provide the missing commands; only if there are any.",
        provider: Option<&'static str> = "Who ran it; only when it has ended.",
        fallback_from: Option<&'static str> = "The provider that could not run all of it; only if another one did.",
        elsewhere: Option<Vec<String>> = list_of("Its name.", exec::ELSEWHERE),
        cause: Option<ErrorFields> = "What ended it: a limit or a cancellation.",
        network: Option<Nested<UsedShown>> = "What it did with the network; only when it has ended, and has one.",
    }
}

answer! {
    /// What a job has written.
    pub(crate) struct Output {
        stdout: String = "What it wrote to standard output, from the offset on.",
        stderr: String = "What it wrote to standard error, from the offset on.",
        stdout_offset: u64 = "Where `stdout` begins; later than asked when that is no longer kept.",
        stderr_offset: u64 = "Where `stderr` begins; later than asked when that is no longer kept.",
        stdout_next: u64 = "Where the next part of standard output begins.",
        stderr_next: u64 = "Where the next part of standard error begins.",
    }
}

answer! {
    /// What `sandbox_job` answers: one job, or all of them.
    pub(crate) struct Told {
        job: Option<Flat<JobShown>> = Inline,
        sandbox_id: SandboxId = "The sandbox.",
        output: Option<Flat<Output>> = Inline,
        jobs: Option<Vec<JobShown>> = "Those that there are, oldest first.",
    }
}

pub(crate) fn job() -> Verb<Ask, Told> {
    Verb {
        name: "sandbox_job",
        title: "Look after a job",
        description: "Looks after command lines that sandbox_exec started with `background`, or with `&`: `get` says whether one still \
            runs, `output` gives what it has written from an offset on, `wait` waits for its end, `cancel` ends it, `list` \
            lists all jobs. Poll with `output` and the `stdout_next` of the answer before. The last 64 KiB of \
            each stream are kept; jobs end when their sandbox is stopped, restored or destroyed; only the server that \
            started a job knows it.",
        arguments: Ask::table(),
        annotations: CHANGES,
        order: Order::Waits,
        run: |services, caller, asked| Box::pin(run(services, caller, asked)),
    }
}

async fn run(services: &Services, caller: &Caller, asked: Ask) -> Result<Answer<Told>> {
    let (sandboxes, owner) = (&services.sandboxes, &caller.owner);
    let handle = asked.target.handle()?;
    if asked.action == Action::List {
        let (sandbox_id, jobs) = sandboxes.jobs(owner, &handle)?;
        let jobs = jobs.iter().map(|job| JobShown::from(job.as_ref())).collect();
        return Ok(Told { job: None, sandbox_id, output: None, jobs: Some(jobs) }.into());
    }
    let Some(name) = asked.job else {
        services.there(&asked.target, owner)?;
        return Err(Error::args_invalid("no job is named").with_hint("give `job`, or `action` `list`"));
    };
    let (sandbox_id, job) = sandboxes.job(owner, &handle, &name)?;
    let most = match asked.action {
        Action::Cancel => {
            job.cancel();
            CANCEL
        }
        Action::Wait => Duration::from_millis(asked.timeout_ms),
        Action::Get | Action::Output | Action::List => Duration::ZERO,
    };
    if !most.is_zero() {
        let _ = tokio::time::timeout(most, job.wait()).await;
    }
    let part = |stream, offset| job.output(stream, offset);
    let output = (asked.action != Action::Get).then(|| {
        let stdout = part(Stream::Stdout, asked.stdout_offset);
        let stderr = part(Stream::Stderr, asked.stderr_offset);
        Flat(Output {
            stdout: fit::cut(&stdout.text, fit::STREAM).to_owned(),
            stderr: fit::cut(&stderr.text, fit::STREAM).to_owned(),
            stdout_offset: stdout.offset,
            stderr_offset: stderr.offset,
            stdout_next: stdout.total_bytes,
            stderr_next: stderr.total_bytes,
        })
    });
    let job = Some(Flat(JobShown::from(job.as_ref())));
    Ok(Told { job, sandbox_id, output, jobs: None }.into())
}

impl From<&Job> for JobShown {
    fn from(job: &Job) -> Self {
        let ended = job.ended();
        let done = ended.as_ref().map(|(done, _)| done.as_ref());
        let executed: Option<&Executed> = done.and_then(|done| done.as_ref().ok());
        let outcome = executed.map(|executed| &executed.outcome);
        let stopped = outcome.and_then(|outcome| outcome.stopped());
        let state = match (&done, stopped) {
            (None, _) => "running",
            (Some(Err(_)), _) => "cancelled",
            (Some(Ok(_)), Some(_)) => "stopped",
            (Some(Ok(_)), None) => "ended",
        };
        let cause = match &done {
            Some(Err(error)) => Some(ErrorFields::of(error)),
            _ => stopped.map(ErrorFields::of),
        };
        let named = |names: Vec<String>| Some(names).filter(|names| !names.is_empty());
        let elsewhere =
            |executed: &Executed| executed.elsewhere.iter().map(|(name, _)| name.clone()).collect();
        Self {
            job_id: job.id().as_str().to_owned(),
            command: job.command().chars().take(SHOWN).collect(),
            state,
            started_at: job.started_at(),
            ended_at: ended.as_ref().map(|(_, at)| *at),
            exit_code: outcome.map(|outcome| outcome.exit_code()),
            duration_ms: outcome.map(|outcome| encode::milliseconds(outcome.usage.wall)),
            timed_out: outcome.map(|outcome| outcome.timed_out()),
            missing: executed.and_then(|executed| named(executed.missing.clone())),
            unavailable: executed.and_then(exec::missing).as_ref().map(ErrorFields::of),
            provider: outcome.map(|outcome| outcome.provider),
            fallback_from: outcome.and_then(|outcome| outcome.fallback_from),
            elsewhere: executed.and_then(|executed| named(elsewhere(executed))),
            cause,
            network: network::used(outcome.and_then(|outcome| outcome.network.as_ref())),
        }
    }
}
