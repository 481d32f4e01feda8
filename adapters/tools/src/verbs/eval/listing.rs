//! How `sandbox_eval` is listed: its table of arguments, its texts and its output schema.

use dormouse_core::connections::Server;
use dormouse_core::sandbox::{Name, SessionKey};
use dormouse_core::{Access, EvalRequest, Grants, Language, Limits, Mount, Policy, Project};

use crate::call::encode::Ran;
use crate::services::{MAX_HANDLE, Target};
use crate::spec::schema;
use crate::spec::{
    Annotations, Answered as _, CHANGES, Field, Given, Role, ToolSpec, any_text, arguments, flag, integer,
    limit, text,
};

/// Shortest wall-clock limit that a call can ask for, in milliseconds (S1-01).
const MIN_TIMEOUT: u64 = 100;
/// Most bytes kept of each stream in one answer (48 KiB); the ceiling of the operator may be lower.
pub(crate) const MAX_OUTPUT: u64 = 48 << 10;
/// Largest standard input, in bytes (8 MiB).
const MAX_STDIN: usize = 8 << 20;
/// Largest whole number that JSON carries exactly.
const MAX_EXACT: u64 = (1 << 53) - 1;

const DESCRIPTION: &str = "Runs a Python, JavaScript, TypeScript or PHP snippet in a fresh, isolated sandbox and returns \
the typed value of its last expression, its standard output and standard error, and the exception if it raised one. \
Use it to compute, parse, transform or verify something exactly instead of guessing; a call starts in milliseconds and \
nothing is kept from one call to the next. The language's standard library is there; there is no network but what the operator allows, no \
subprocess, no package installer, and no file of the host other than mounted folders (`/tmp` is a scratch folder that \
vanishes). An exception or a non-zero exit is a normal answer; a run that passes its time, memory or fuel limit is \
stopped and `error` names the limit and what to change. Long values and output are cut and say so: page through a \
container with `preview_offset` and `preview_items`, or print less.";

/// What the description says when there are no sandboxes that last, and when there are.
const FRESH: &str = "a call starts in milliseconds and nothing is kept from one call to the next";
const LASTING: &str = "a call starts in milliseconds, and variables and files are kept for later calls only in a sandbox \
that `sandbox` or `session_key` names";

arguments! {
    /// The two ways to name a sandbox that lasts, for a run that may have none.
    pub(crate) struct Place {
        sandbox: Option<String> = text(
            MAX_HANDLE,
            "Id or name of the persistent sandbox to run in. Default: a fresh one that is discarded afterwards.",
        ).characters(Name::MAX_CHARS).role(Role::Sandbox).optional(),
        session_key: Option<String> = text(
            MAX_HANDLE,
            "A key that you choose, instead of `sandbox`: the same key runs in the same sandbox, which is created if \
                it does not exist.",
        ).characters(SessionKey::MAX_CHARS).role(Role::SessionKey).optional(),
    }
}

impl Place {
    /// The sandbox that is named, if one is.
    pub(super) fn target(self) -> Option<Target> {
        let named = self.sandbox.is_some() || self.session_key.is_some();
        named.then(|| Target::new(self.sandbox, self.session_key))
    }
}

arguments! {
    /// What `sandbox_eval` is asked without sandboxes that last, under the operator's policy.
    pub(crate) struct Snippet (policy: &Policy) {
        code: String = text(
            EvalRequest::MAX_CODE,
            "The source text, at most 32 MiB. The value of its last expression is the result; no `return` or `print` is \
             needed. Example: `import json; json.loads('[1, 2]')`.",
        ),
        language: Language = text(
            Language::MAX_BYTES,
            "`python` (default), `javascript`, `typescript` or `php`; `sandbox_capabilities` lists what is installed.",
        ).or("python"),
        name: String = text(
            EvalRequest::MAX_NAME,
            "The file name that traces show, at most 256 bytes. Default `<snippet>`.",
        ).or("<snippet>"),
        stdin: Option<String> =
            any_text(MAX_STDIN, "Standard input, at most 8 MiB. Default empty.").optional(),
        timeout_ms: u64 = limit(
            (MIN_TIMEOUT, milliseconds(&policy.ceiling)),
            milliseconds(&policy.defaults),
            "Wall-clock limit of the run in milliseconds",
        ).role(Role::TimeLimit),
        memory_bytes: Given<u64> = limit::<u64>(
            (Limits::MIN_MEMORY, policy.ceiling.memory),
            policy.defaults.memory,
            "Memory limit of the run in bytes, interpreter included",
        ).given(),
        output_bytes: u64 = limit(
            (0, policy.ceiling.output.min(MAX_OUTPUT)),
            policy.defaults.output,
            "Bytes kept of each of standard output and standard error; the rest is counted and dropped",
        ),
        fuel: Given<Option<u64>> = integer::<u64>(
            (1, policy.ceiling.fuel.unwrap_or(MAX_EXACT).min(MAX_EXACT)),
            "Limit on executed operations, which is deterministic; the run is then slower. Default: off.",
        ).or_maybe(policy.defaults.fuel).given(),
        allow_writes: bool = flag(format!(
            "Requests write access to folders that are mounted for writing. Default false; {}.",
            if policy.allow_writes { "granted when asked" } else { "refused by this server" }
        )),
        allow_network: bool =
            flag("Whether it may reach the network `default` of sandbox_capabilities. Default false; in a sandbox that lasts it was decided when it was made."),
        allow_eval: bool = flag(format!(
            "Whether the snippet may evaluate text as code (`eval`, `exec`, `compile`, `new Function`). Default {}; {}.",
            policy.allow_eval,
            if policy.allow_eval { "false makes them raise" } else { "this server never allows it" }
        )).or(policy.allow_eval),
        seed: Option<u64> = integer::<u64>(
            (0, MAX_EXACT),
            "Fixes all randomness: the same seed and input give the same answer. From 0 to 2^53 - 1. Default: random.",
        ).optional(),
        preview_offset: u32 = integer::<u32>(
            (0, u32::MAX.into()),
            "Items of the outermost container of the result to skip, to page through it. Default 0.",
        ).or(0),
        preview_items: u32 = integer::<u32>(
            (1, 10_000),
            "Items shown of each container of the result. Default 50, from 1 to 10000.",
        ).or(50),
    }
}

arguments! {
    /// The same where sandboxes last.
    pub(crate) struct Placed (policy: &Policy) {
        snippet: Snippet = Snippet::table(policy),
        place: Place = Place::table(),
        background: bool = flag(
            "Let it go on by itself and answer at once with `run_id`: for programs that wait for tools, for approval or for a long \
             time (`await`). Ask sandbox_run for its end. Needs a persistent sandbox. Default false.",
        ),
    }
}

/// Servers that a description names.
const NAMED: usize = 20;

/// The names of connected servers, each with the count of its tools where that is known.
fn named(servers: &[Server]) -> String {
    let shown = |server: &Server| match server.tools {
        Some(tools) => format!("{} ({tools})", server.name),
        None => server.name.clone(),
    };
    let mut names: Vec<String> = servers.iter().take(NAMED).map(shown).collect();
    if servers.len() > NAMED {
        names.push(format!("and {} more", servers.len() - NAMED));
    }
    names.join(", ")
}

/// What the description says of connected servers.
pub(super) fn connected(servers: &[Server]) -> String {
    if servers.is_empty() {
        return String::new();
    }
    format!(
        " Snippets can call tools of these servers: {}. Write `from dormouse import tools` and `await tools.SERVER.TOOL(argument=value)` \
         in Python, `await tools.SERVER.TOOL({{argument: value}})` in JavaScript, `tools()->SERVER->TOOL(argument: value)` in PHP; \
         `await tools.search(\"words\")` finds tools and `await tools.describe(\"server.tool\")` shows how one is called.",
        named(servers)
    )
}

/// The same where a list is to be short.
pub(crate) fn briefly(servers: &[Server]) -> String {
    if servers.is_empty() {
        return String::new();
    }
    format!(
        " Tools of {}: `from dormouse import tools; await tools.SERVER.TOOL(arg=value)`; JavaScript `await tools.SERVER.TOOL({{arg: value}})`, \
         PHP `tools()->SERVER->TOOL(arg: value)`; `await tools.describe(\"server.tool\")` shows how.",
        named(servers)
    )
}

fn milliseconds(limits: &Limits) -> u64 {
    u64::try_from(limits.wall.as_millis()).unwrap_or(MAX_EXACT)
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
                "writable on request; otherwise changes are visible to the run only"
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
        output_schema: Ran::schema().build(),
        answered: Ran::always(),
        annotations: annotations(policy, granted),
    }
}

/// What a client may assume of a run: one that may write to a folder of the host can destroy something there.
pub(crate) fn annotations(policy: &Policy, granted: &Grants) -> Annotations {
    let access = granted.mounts.iter().map(|mount| mount.access);
    let writable = access
        .chain(granted.project.as_ref().map(|project| project.access))
        .any(|access| policy.allow_writes && access == Access::ReadWrite);
    Annotations { destructive: writable, ..CHANGES }
}
