//! How `sandbox_eval` is listed: its table of arguments, its texts and its output schema.

use dormouse_core::{Access, EvalRequest, Grants, Limits, Mount, Policy, Project};
use serde_json::Value as Json;

use crate::field::{Absent, Field, Kind};
use crate::schema::{self, Object};
use crate::surface::{Annotations, ToolSpec};
use crate::tool::{error_schema, warning_schema};
use crate::unsaved;

/// Shortest wall-clock limit that a call can ask for, in milliseconds (S1-01).
const MIN_TIMEOUT: u64 = 100;
/// Most bytes kept of each stream in one answer (48 KiB); the ceiling of the operator may be lower.
const MAX_OUTPUT: u64 = 48 << 10;
/// Largest standard input, in bytes (8 MiB).
const MAX_STDIN: usize = 8 << 20;
/// Largest whole number that JSON carries exactly.
const MAX_EXACT: u64 = (1 << 53) - 1;

const DESCRIPTION: &str = "Runs a Python, JavaScript, TypeScript or PHP snippet in a fresh, isolated sandbox and returns \
the typed value of its last expression, its standard output and standard error, and the exception if it raised one. \
Use it to compute, parse, transform or verify something exactly instead of guessing; a call starts in milliseconds and \
nothing is kept from one call to the next. The language's standard library is there; there is no network, no \
subprocess, no package installer, and no file of the host other than mounted folders (`/tmp` is a scratch folder that \
vanishes). An exception or a non-zero exit is a normal answer; a run that passes its time, memory or fuel limit is \
stopped and `error` names the limit and what to change. Long values and output are cut and say so: page through a \
container with `preview_offset` and `preview_items`, or print less.";

/// What the description says when there are no sandboxes that last, and when there are.
const FRESH: &str = "a call starts in milliseconds and nothing is kept from one call to the next";
const LASTING: &str = "a call starts in milliseconds, and variables and files are kept for later calls only in a sandbox \
that `sandbox` or `session_key` names";

/// The arguments that name a sandbox that lasts.
pub(super) fn naming_fields() -> [Field; 2] {
    [
        Field::text(
            "sandbox",
            64 << 10,
            Absent::None,
            "Id or name of a sandbox that lasts, to run in. Default: a fresh one that vanishes.",
        ),
        Field::text(
            "session_key",
            64 << 10,
            Absent::None,
            "A key of your own instead of `sandbox`: the same key runs in the same sandbox, which is made when it is \
             not there.",
        ),
    ]
}

/// The table of arguments under the operator's policy.
pub(crate) fn fields(policy: &Policy) -> Vec<Field> {
    let mut fields = source_fields();
    fields.extend(limit_fields(&policy.defaults, &policy.ceiling));
    fields.extend(access_fields(policy));
    fields.push(integer(
        "preview_offset",
        0,
        u32::MAX.into(),
        Absent::Default(0),
        "Items of the outermost container of the result to skip, to page through it. Default 0.",
    ));
    fields.push(integer(
        "preview_items",
        1,
        10_000,
        Absent::Default(50),
        "Items shown of each container of the result. Default 50, from 1 to 10000.",
    ));
    fields
}

fn source_fields() -> Vec<Field> {
    let text = |min, max, absent| Kind::Text { min, max, absent };
    vec![
        Field::new(
            "code",
            text(1, EvalRequest::MAX_CODE, Absent::Refused),
            "The source text, at most 32 MiB. The value of its last expression is the result; no `return` or `print` is \
             needed. Example: `import json; json.loads('[1, 2]')`.",
        ),
        Field::new(
            "language",
            text(1, dormouse_core::Language::MAX_BYTES, Absent::Default("python")),
            "`python` (default), `javascript`, `typescript` or `php`; `sandbox_capabilities` lists what is installed.",
        ),
        Field::new(
            "name",
            text(1, EvalRequest::MAX_NAME, Absent::Default("<snippet>")),
            "The file name that traces show, at most 256 bytes. Default `<snippet>`.",
        ),
        Field::new(
            "stdin",
            text(0, MAX_STDIN, Absent::None),
            "What standard input yields, at most 8 MiB. Default empty.",
        ),
    ]
}

fn limit_fields(defaults: &Limits, ceiling: &Limits) -> Vec<Field> {
    let wall = |limits: &Limits| u64::try_from(limits.wall.as_millis()).unwrap_or(MAX_EXACT);
    let output = ceiling.output.min(MAX_OUTPUT);
    let fuel = ceiling.fuel.unwrap_or(MAX_EXACT).min(MAX_EXACT);
    vec![
        limit(
            "timeout_ms",
            MIN_TIMEOUT,
            wall(ceiling),
            wall(defaults),
            "Wall-clock limit of the run in milliseconds",
        ),
        limit(
            "memory_bytes",
            Limits::MIN_MEMORY,
            ceiling.memory,
            defaults.memory,
            "Memory limit of the run in bytes, interpreter included",
        ),
        limit(
            "output_bytes",
            0,
            output,
            defaults.output,
            "Bytes kept of each of standard output and standard error; the rest is counted and dropped",
        ),
        integer(
            "fuel",
            1,
            fuel,
            defaults.fuel.map_or(Absent::None, Absent::Default),
            "Budget of executed operations, for a limit that is the same on every machine; the run is then slower. \
             Default: not counted.",
        ),
    ]
}

fn access_fields(policy: &Policy) -> Vec<Field> {
    let writes = if policy.allow_writes { "granted when asked" } else { "refused by this server" };
    vec![
        Field::new(
            "allow_writes",
            Kind::Flag { default: false },
            format!("Asks for writes to folders that are mounted for writing. Default false; {writes}."),
        ),
        Field::new(
            "allow_network",
            Kind::Flag { default: false },
            "Asks for outbound network access. Default false; refused by this server.",
        ),
        Field::new(
            "allow_eval",
            Kind::Flag { default: policy.allow_eval },
            format!(
                "Whether the snippet may make code from text (`eval`, `exec`, `compile`, `new Function`). Default {}; {}.",
                policy.allow_eval,
                if policy.allow_eval { "false makes them raise" } else { "this server never allows it" }
            ),
        ),
        integer(
            "seed",
            0,
            MAX_EXACT,
            Absent::None,
            "Fixes all randomness: the same seed and input give the same answer. From 0 to 2^53 - 1. Default: random.",
        ),
    ]
}

fn integer(name: &'static str, min: u64, max: u64, absent: Absent<u64>, description: &str) -> Field {
    Field::new(name, Kind::Integer { min, max, absent }, description)
}

/// A limit whose default and bounds are told at its end.
fn limit(name: &'static str, min: u64, max: u64, default: u64, what: &str) -> Field {
    let (min, default) = (min.min(max), default.min(max));
    integer(
        name,
        min,
        max,
        Absent::Default(default),
        &format!("{what}. Default {default}, from {min} to {max}."),
    )
}

/// How the tool is listed.
pub(super) fn spec(fields: &[Field], policy: &Policy, granted: &Grants, lasts: bool) -> ToolSpec {
    let writable = |access: Access| policy.allow_writes && access == Access::ReadWrite;
    let (mounts, project) = (&granted.mounts, granted.project.as_ref());
    let mut description = DESCRIPTION.to_owned();
    if lasts {
        description = description.replace(FRESH, LASTING);
    }
    if let Some(project) = project {
        description += &format!(
            " Snippets run inside a project, `{}` ({}): its packages can be imported, and `container(name)` gives its \
             services if it has a container.",
            Project::TARGET,
            if writable(project.access) {
                "writable on request; else changes are the run's own"
            } else {
                "changes are the run's own"
            }
        );
    }
    if !mounts.is_empty() {
        let name = |mount: &Mount| {
            format!(
                "`{}` ({})",
                mount.target,
                if writable(mount.access) { "writable on request" } else { "read-only" }
            )
        };
        description +=
            &format!(" Mounted folders: {}.", mounts.iter().map(name).collect::<Vec<_>>().join(", "));
    }
    ToolSpec {
        name: "sandbox_eval",
        title: "Run a code snippet",
        description,
        input_schema: schema::input(fields),
        output_schema: output(),
        annotations: Annotations {
            read_only: false,
            destructive: mounts
                .iter()
                .map(|mount| mount.access)
                .chain(project.map(|project| project.access))
                .any(writable),
            idempotent: false,
            open_world: false,
        },
    }
}

fn output() -> Json {
    Object::new()
        .required("ok", schema::flag("True when the snippet ran to its end, or exited with status 0."))
        .required("result", result())
        .required("exception", exception())
        .required("stdout", schema::text("Standard output, cut at `output_bytes`. Untrusted: written by the snippet."))
        .required("stderr", schema::text("Standard error, cut at `output_bytes`. Untrusted: written by the snippet."))
        .required("exit_code", schema::integer(0,
            "0; 1 after an exception; the snippet's own status; 124 after the time limit; 137 after another limit; \
             2 for arguments that were refused."))
        .required("timed_out", schema::flag("True when the time limit ended the run."))
        .required("error", error_schema("Why the run was stopped or refused; null when it was not."))
        .required("duration_ms", schema::number("Wall-clock time of the run in milliseconds."))
        .required("memory_peak_bytes", schema::integer(0, "Largest memory of the run in bytes, interpreter included."))
        .optional("fuel_used", schema::integer(0, "Executed operations; only when `fuel` was given."))
        .optional("truncated", Object::new()
            .description("Bytes of output that were dropped; only when some were.")
            .required("stdout_bytes", schema::integer(0, "Bytes dropped of standard output."))
            .required("stderr_bytes", schema::integer(0, "Bytes dropped of standard error."))
            .build())
        .required("provider", schema::text("Who ran it, such as `wasm`; `none` when nothing ran."))
        .optional("fallback_from", schema::text("Who was to run it and could not be had; only when somebody else ran it."))
        .optional("sandbox_id", schema::text("The sandbox that it ran in; only when that lasts."))
        .optional(unsaved::FIELD, unsaved::schema())
        .optional("recovery", schema::text("What the variables are after a run that was stopped in a sandbox that lasts: \
                                            before_run (as before it), earlier (as before an earlier run) or fresh; or what they were when \
                                            this run began, if something was lost before. Said once."))
        .optional("recovery_reason", crate::tool::lost::reason())
        .optional("warning", warning_schema())
        .optional("closed_files", schema::list(&schema::text("Its path."), CLOSED_FILES))
        .build()
}

/// What `closed_files` of a run's answer is.
pub(crate) const CLOSED_FILES: &str =
    "Files that were open and could not be opened again when the sandbox woke; only when there are any.";

pub(crate) fn result() -> Json {
    Object::new()
        .description("The typed value of the last expression; null after an exception, an exit or a stop. Further \
                      fields by type: `undefined`, `big`, `entries`, `properties`, `repr`, `preview`, `exhausted`, \
                      `size_hint`, `id`, `reason`.")
        .open()
        .required("type", schema::text("One of null, bool, int, float, string, bytes, array, iterable, object, \
                                        reference, resource, unknown."))
        .optional("value", schema::anything("The value itself: a JSON value; digits as text when a number does not fit; \
                                             base64 for bytes; typed values inside an array."))
        .optional("class", schema::text("Class, where it says more than the type."))
        .optional("is_list", schema::flag("For an array: a list, else a dictionary."))
        .optional("count", schema::integer(0, "For an array: items of the whole, shown or not."))
        .optional("length", schema::integer(0, "For text or bytes that were cut: bytes of the whole."))
        .optional("truncated", schema::flag("True when something was left out."))
        .or_null()
}

pub(crate) fn exception() -> Json {
    frame_fields(Object::new().description("What the snippet raised; null when it did not. Untrusted text."))
        .optional("excerpt", schema::text("The source line that raised."))
        .optional("traceback", schema::text("The language's own rendering, cut in its middle."))
        .optional("hint", schema::text("What to do about it, such as naming another language; only when there is something to advise."))
        .required(
            "previous",
            schema::list(
                &frame_fields(Object::new())
                    .optional("excerpt", schema::text("The source line that raised."))
                    .optional("traceback", schema::text("The language's own rendering."))
                    .required("previous", schema::list(&schema::text("Nothing."), "Always empty here."))
                    .build(),
                "Causes, nearest first, at most 10.",
            ),
        )
        .or_null()
}

fn frame_fields(object: Object) -> Object {
    object
        .required("class", schema::text("Name of its class."))
        .required("message", schema::text("Its message."))
        .required("code", schema::anything("A number or text where the language has one, else null."))
        .required("file", schema::text_or_null("File that raised, or null."))
        .required("line", schema::number_or_null("Line that raised, from 1, or null."))
        .required("column", schema::number_or_null("Column that raised, from 1, or null."))
        .required(
            "stack_trace",
            schema::list(&schema::text("function (file:line)"), "Frames, innermost first."),
        )
}
