//! `sandbox_job`: what became of a command line in the background, its output, and its end.

use std::time::Duration;

use dormouse_core::sandboxes::Job;
use dormouse_core::{Error, Result, Stream};
use serde_json::{Map, Value as Json, json};

use super::super::verb::{Answer, CHANGES, Caller, Kept, Verb, by_id, naming};
use super::shape;
use crate::decode::Arguments;
use crate::encode;
use crate::field::{Absent, Field};
use crate::schema::{self, Object};
use crate::time::iso8601;
use crate::tool::error_schema;

/// What can be done with a job.
const ACTIONS: &[&str] = &["get", "output", "wait", "cancel", "list"];

/// How long the end of a job that was cancelled is waited for.
const CANCEL: Duration = Duration::from_secs(5);

pub(crate) fn job() -> Verb {
    let summary = job_fields(Object::new()).description("A job.").build();
    Verb {
        name: "sandbox_job",
        title: "Look after a job",
        description: "Looks after command lines that sandbox_exec started with `background`, or with `&`: `get` says whether one still \
            runs, `output` gives what it has written from an offset on, `wait` waits for its end, `cancel` ends it, `list` \
            names those that there are. Poll with `output` and the `stdout_next` of the answer before. The last 64 KiB of \
            each stream are kept; jobs end with their sandbox's stop, restore or destruction, and are known to the server \
            that started them.",
        fields: naming([
            Field::text("job", 64, Absent::None, "The job's id, as sandbox_exec told it. Not for `list`."),
            Field::choice(
                "action",
                ACTIONS,
                "What to do: `get` (default), `output`, `wait`, `cancel` or `list`.",
            ),
            Field::integer(
                "stdout_offset",
                (0, (1 << 53) - 1),
                Absent::Default(0),
                "Where `output` begins in standard output, in bytes. Default 0.",
            ),
            Field::integer(
                "stderr_offset",
                (0, (1 << 53) - 1),
                Absent::Default(0),
                "Where `output` begins in standard error, in bytes. Default 0.",
            ),
            Field::integer(
                "timeout_ms",
                (0, 600_000),
                Absent::Default(30_000),
                "How long `wait` waits, in milliseconds. Default 30000. The job goes on when that is over.",
            ),
        ]),
        output: job_fields(Object::new())
            .optional("sandbox_id", schema::text("The sandbox."))
            .optional("stdout", schema::text("What it wrote to standard output, from the offset on."))
            .optional("stderr", schema::text("What it wrote to standard error, from the offset on."))
            .optional(
                "stdout_offset",
                schema::integer(0, "Where `stdout` begins; later than asked when that is no longer kept."),
            )
            .optional(
                "stderr_offset",
                schema::integer(0, "Where `stderr` begins; later than asked when that is no longer kept."),
            )
            .optional("stdout_next", schema::integer(0, "Where the next part of standard output begins."))
            .optional("stderr_next", schema::integer(0, "Where the next part of standard error begins."))
            .optional("jobs", schema::list(&summary, "Those that there are, oldest first.")),
        annotations: CHANGES,
        run: |kept, arguments, caller| Box::pin(run(kept, arguments, caller)),
    }
}

fn job_fields(object: Object) -> Object {
    object
        .optional("job_id", schema::text("Its id."))
        .optional("command", schema::text("The beginning of its command line."))
        .optional("state", schema::text("`running`, `ended`, `cancelled` or `stopped` (by a limit)."))
        .optional("started_at", schema::text("When it was started."))
        .optional("ended_at", schema::text("When it ended; only when it has."))
        .optional("exit_code", schema::integer(0, "Exit status; only when it has ended."))
        .optional("duration_ms", schema::number("Wall-clock time in milliseconds; only when it has ended."))
        .optional("timed_out", schema::flag("Whether the time limit ended it; only when it has ended."))
        .optional(
            "missing",
            schema::list(
                &schema::text("Its name."),
                "Commands that it called and that are not here; only when there are any.",
            ),
        )
        .optional(
            "unavailable",
            error_schema("What would have the missing commands; only when there are any."),
        )
        .optional("provider", schema::text("Who ran it; only when it has ended."))
        .optional("fallback_from", schema::text("Who could not run all of it; only when somebody else did."))
        .optional(
            "elsewhere",
            schema::list(
                &schema::text("Its name."),
                "Commands that another provider ran; only when there are any.",
            ),
        )
        .optional("cause", error_schema("What ended it, if a limit or somebody did."))
}

async fn run(kept: &Kept, mut arguments: Arguments, caller: &Caller) -> Result<Answer> {
    let owner = &caller.owner;
    let id = kept.there(&mut arguments, owner)?;
    let action = arguments.take_text("action").unwrap_or_default();
    if action == "list" {
        let (id, jobs) = kept.sandboxes.jobs(owner, &by_id(&id))?;
        let jobs: Vec<Json> = jobs.iter().map(|job| Json::Object(shown(job))).collect();
        return Ok(json!({"sandbox_id": id.as_str(), "jobs": jobs}).into());
    }
    let Some(name) = arguments.take_text("job") else {
        return Err(Error::args_invalid("no job is named").with_hint("give `job`, or `action` `list`"));
    };
    let (id, job) = kept.sandboxes.job(owner, &by_id(&id), &name)?;
    match action.as_str() {
        "cancel" => {
            job.cancel();
            let _ = tokio::time::timeout(CANCEL, job.wait()).await;
        }
        "wait" => {
            let most = Duration::from_millis(arguments.integer("timeout_ms").unwrap_or_default());
            let _ = tokio::time::timeout(most, job.wait()).await;
        }
        _ => {}
    }
    let mut fields = shown(&job);
    fields.insert("sandbox_id".into(), id.as_str().into());
    if action != "get" {
        for (name, stream) in [("stdout", Stream::Stdout), ("stderr", Stream::Stderr)] {
            let part = job.output(stream, arguments.integer(&format!("{name}_offset")).unwrap_or_default());
            fields.insert(format!("{name}_offset"), part.offset.into());
            fields.insert(format!("{name}_next"), part.total_bytes.into());
            fields.insert(name.into(), crate::fit::cut(&part.text, crate::fit::STREAM).into());
        }
    }
    Ok(Json::Object(fields).into())
}

fn shown(job: &Job) -> Map<String, Json> {
    let mut fields = Map::new();
    let ended = job.ended();
    let done = ended.as_ref().map(|(done, _)| done.as_ref());
    let state = match done {
        None => "running",
        Some(Ok(executed)) if executed.outcome.stopped().is_some() => "stopped",
        Some(Ok(_)) => "ended",
        Some(Err(_)) => "cancelled",
    };
    fields.insert("job_id".into(), job.id().as_str().into());
    fields.insert("command".into(), job.command().chars().take(200).collect::<String>().into());
    fields.insert("state".into(), state.into());
    fields.insert("started_at".into(), iso8601(job.started_at()).into());
    if let Some((_, at)) = &ended {
        fields.insert("ended_at".into(), iso8601(*at).into());
    }
    match done {
        Some(Ok(executed)) => {
            let mut more = shape::executed(executed);
            let cause = more.remove("error").filter(|cause| !cause.is_null());
            more.remove("recovery");
            more.remove("recovery_reason");
            fields.append(&mut more);
            fields.extend(cause.map(|cause| ("cause".to_owned(), cause)));
        }
        Some(Err(error)) => drop(fields.insert("cause".into(), encode::error(error))),
        None => {}
    }
    fields
}
