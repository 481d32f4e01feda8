//! `sandbox_eval`: one snippet, in a fresh sandbox or in one that lasts (requirements S1).

pub(crate) mod listing;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use dormouse_core::network::NetworkGrant;
use dormouse_core::sandbox::{Run, RunLimits, SandboxId};
use dormouse_core::{
    Access, Bounds, Error, ErrorCode, EvalRequest, Grants, Language, Limits, Outcome, Result, Runtime,
};
use serde_json::{Map, Value as Json};

use self::listing::{Placed, Snippet};
use crate::call::fit::fit;
use crate::call::{CallContext, Reply, encode};
use crate::offered::Offered;
use crate::services::{Services, Target, found};
use crate::spec::{Field, Order, Table, ToolSpec};
use crate::tool::Tool;

/// Bytes of the value's JSON that the guest may send (64 KiB), so that an answer stays readable for a model.
const VALUE_BYTES: u32 = 64 << 10;

/// What the description says when there is a language model.
const ASKS: &str = " In Python `llm_query(prompt)` asks a language model and `llm_query_batched(prompts)` asks it about several \
texts; other languages call the tool `llm_query`.";

/// The tool; `services`: where sandboxes last.
pub(crate) fn tool(
    runtime: Runtime,
    granted: Grants,
    services: Option<&Arc<Services>>,
    offered: &Offered,
) -> Box<dyn Tool> {
    let (policy, lasts) = (runtime.policy(), services.is_some());
    let describe = |fields: &[Field]| {
        let mut spec = listing::spec(fields, policy, &granted, lasts);
        if offered.models.is_configured() {
            spec.description += ASKS;
        }
        if let Some(connections) = &offered.connections {
            spec.description += &listing::connected(&connections.servers());
        }
        spec
    };
    let arguments = match services {
        Some(services) => Arguments::Placed(Placed::table(policy), services.clone()),
        None => Arguments::Fresh(Snippet::table(policy)),
    };
    let spec = describe(arguments.fields());
    let runs = Runs { runtime, granted, offered: offered.clone() };
    Box::new(Eval { runs, arguments, spec })
}

/// What runs of snippets share.
pub(crate) struct Runs {
    runtime: Runtime,
    granted: Grants,
    offered: Offered,
}

/// A run, whichever tool asks for it.
pub(crate) struct Asked {
    pub(crate) code: String,
    pub(crate) language: Language,
    pub(crate) name: Option<String>,
    pub(crate) stdin: String,
    pub(crate) seed: Option<u64>,
    pub(crate) limits: Limits,
    pub(crate) bounds: Bounds,
    pub(crate) writes: bool,
    /// Whether it may reach the network `default`.
    pub(crate) network: bool,
    pub(crate) makes_code: bool,
}

impl Runs {
    /// Runs under this runtime, with what the operator grants.
    pub(crate) fn new(runtime: Runtime, granted: Grants) -> Self {
        Self { runtime, granted, offered: Offered::default() }
    }

    /// The runtime.
    pub(crate) fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Runs it in a fresh sandbox.
    ///
    /// # Errors
    /// What keeps it from being run.
    pub(crate) async fn fresh(&self, asked: Asked, context: CallContext) -> Result<Outcome> {
        let request = self.request(asked, &context)?;
        self.runtime.eval_for(&context.owner, request).await
    }

    fn request(&self, asked: Asked, context: &CallContext) -> Result<EvalRequest> {
        let grants = self.grants(asked.writes)?;
        let mut request = EvalRequest::new(asked.language, asked.code);
        if let Some(name) = asked.name {
            request.name = name;
        }
        request.allow_eval = asked.makes_code;
        request.context.limits = asked.limits;
        request.context.bounds = asked.bounds;
        request.context.grants = Grants { stdin: asked.stdin.into_bytes(), seed: asked.seed, ..grants };
        request.context.output.clone_from(&context.output);
        let language = request.language.clone();
        if asked.network {
            if self.runtime.networks().is_empty() {
                let error = Error::new(ErrorCode::NetworkDenied, "there is no network here");
                return Err(error.with_hint(
                    "leave `allow_network` out, or have the operator allow a network: --allow-net HOST",
                ));
            }
            let of = ("eval", language.as_str());
            self.runtime.give_network(&context.owner, &NetworkGrant::default(), of, &mut request.context)?;
        }
        self.offered.offer(context, Some(&language), &mut request.context)?;
        Ok(request)
    }

    /// What the operator grants. A call can only lower what it gets (S1-22).
    fn grants(&self, writes: bool) -> Result<Grants> {
        if writes && !self.runtime.policy().allow_writes {
            let error = Error::new(ErrorCode::WriteDenied, "writes are not allowed here");
            return Err(error.with_hint("leave `allow_writes` out; writing to `/tmp` is always possible"));
        }
        let mut grants = self.granted.clone();
        if !writes {
            grants.mounts.iter_mut().for_each(|mount| mount.access = Access::ReadOnly);
            grants.project.iter_mut().for_each(|project| project.access = Access::ReadOnly);
        }
        Ok(grants)
    }

    /// What is asked for.
    ///
    /// # Errors
    /// `capability_unavailable` for what the server never gives.
    fn asked(&self, snippet: Snippet) -> Result<Asked> {
        let policy = self.runtime.policy();
        if snippet.allow_eval && !policy.allow_eval {
            let error =
                Error::new(ErrorCode::CapabilityUnavailable, "evaluating text as code is not allowed here");
            return Err(error.with_hint("leave `allow_eval` out"));
        }
        Ok(Asked {
            limits: Limits {
                wall: Duration::from_millis(snippet.timeout_ms),
                memory: snippet.memory_bytes.value,
                output: snippet.output_bytes,
                fuel: snippet.fuel.value,
                ..policy.defaults.clone()
            },
            bounds: bounds(snippet.preview_offset, Some(snippet.preview_items)),
            code: snippet.code,
            language: snippet.language,
            name: Some(snippet.name),
            stdin: snippet.stdin.unwrap_or_default(),
            seed: snippet.seed,
            writes: snippet.allow_writes,
            network: snippet.allow_network,
            makes_code: snippet.allow_eval,
        })
    }
}

/// How much of a value an answer shows, from this item of its outermost container on.
pub(crate) fn bounds(offset: u32, items: Option<u32>) -> Bounds {
    let defaults = Bounds::default();
    Bounds { items: items.unwrap_or(defaults.items), offset, total_bytes: VALUE_BYTES, ..defaults }
}

/// What was decided when a sandbox was made cannot be asked of one of its runs.
fn settled(snippet: &Snippet) -> Result<()> {
    let asked = [
        ("memory_bytes", snippet.memory_bytes.given),
        ("fuel", snippet.fuel.given),
        ("allow_writes", snippet.allow_writes),
    ];
    match asked.into_iter().find(|(_, asked)| *asked) {
        Some((name, _)) => {
            Err(Error::args_invalid(format!("the field `{name}` cannot be used with a persistent sandbox"))
                .with_hint(format!("leave `{name}` out; it was decided when the sandbox was created")))
        }
        None => Ok(()),
    }
}

/// What a call may say: whether it can name a sandbox that lasts.
enum Arguments {
    Fresh(Table<Snippet>),
    Placed(Table<Placed>, Arc<Services>),
}

impl Arguments {
    fn fields(&self) -> &[Field] {
        match self {
            Self::Fresh(table) => table.fields(),
            Self::Placed(table, _) => table.fields(),
        }
    }
}

struct Eval {
    runs: Runs,
    arguments: Arguments,
    spec: ToolSpec,
}

impl Eval {
    /// Runs the snippet, or lets it go on by itself.
    async fn run(&self, arguments: Map<String, Json>, context: CallContext) -> Result<Came> {
        let (snippet, target, background) = match &self.arguments {
            Arguments::Fresh(table) => {
                no_sandbox(&arguments)?;
                (table.decode(arguments)?, None, false)
            }
            Arguments::Placed(table, services) => {
                let Placed { snippet, place, background } = table.decode(arguments)?;
                (snippet, place.target().map(|target| (target, services)), background)
            }
        };
        let Some((target, services)) = target else {
            return match background {
                true => Err(Error::args_invalid("`background` needs a persistent sandbox")
                    .with_hint("name one with `sandbox` or `session_key`: the program waits and ends in it")),
                false => Ok(Came::ToItsEnd(
                    None,
                    self.runs.fresh(self.runs.asked(snippet)?, context).await?.into(),
                )),
            };
        };
        settled(&snippet)?;
        let wants_network = snippet.allow_network;
        let asked = Asked { network: false, ..self.runs.asked(snippet)? };
        let mut request = self.runs.request(asked, &context)?;
        let Grants { stdin, seed, .. } = request.context.grants;
        request.context.grants = Grants { stdin, seed, ..Grants::default() };
        let (sandboxes, owner) = (&services.sandboxes, &context.owner);
        let sandbox = match wants_network {
            true => services.get_or_create_with_network(&target, owner).await?,
            false => services.get_or_create(&target, owner).await?,
        };
        if background {
            let run = sandboxes.start_run(owner, &found(&sandbox), request, RunLimits::default()).await?;
            return Ok(Came::ToARun(run.into()));
        }
        let (id, outcome) = sandboxes.eval(owner, &found(&sandbox), request).await?;
        Ok(Came::ToItsEnd(Some(id), outcome.into()))
    }
}

/// What came of a call.
enum Came {
    /// The snippet's end; with the sandbox, if it was one that lasts.
    ToItsEnd(Option<SandboxId>, Box<Outcome>),
    /// A run that goes on.
    ToARun(Box<Run>),
}

/// Refuses the name of a sandbox where none lasts.
fn no_sandbox(arguments: &Map<String, Json>) -> Result<()> {
    match Target::table().fields().iter().find(|field| arguments.contains_key(field.name)) {
        Some(Field { name, .. }) => Err(Error::args_invalid(format!(
            "the field `{name}` is unknown: this server has no persistent sandboxes"
        ))
        .with_hint(format!(
            "leave `{name}` out, or have the operator start the server with `--state-dir DIR`"
        ))),
        None => Ok(()),
    }
}

#[async_trait]
impl Tool for Eval {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn fields(&self) -> &[Field] {
        self.arguments.fields()
    }

    fn order(&self) -> Order {
        Order::Works
    }

    async fn call(&self, arguments: Map<String, Json>, context: CallContext) -> Reply {
        match self.run(arguments, context).await {
            Ok(Came::ToItsEnd(sandbox, outcome)) => encode::reply(&fit(*outcome), sandbox.as_ref()),
            Ok(Came::ToARun(run)) => encode::started(&run),
            Err(error) => self.refuse(&error),
        }
    }

    fn refuse(&self, error: &Error) -> Reply {
        encode::refusal(error)
    }
}
