//! `framework__eval` of the profile `eval`: the seed's own tool, a PHP snippet in the operator's project (S1-01).
//!
//! Names, texts and types are the seed's; the work is that of `sandbox_eval`. `duration_ms` is a whole number here.

use std::time::Duration;

use async_trait::async_trait;
use dormouse_core::mistaken::in_other_words;
use dormouse_core::{Error, EvalRequest, Grants, Language, Limits, Outcome, Policy, Result, Runtime, Status};
use serde_json::{Map, Value as Json};

use crate::call::encode::{self, Head, Tail};
use crate::call::fit::fit;
use crate::call::{CallContext, Reply};
use crate::spec::{
    Answered as _, Field, Flat, Inline, Order, Role, Table, ToolSpec, answer, arguments, flag, integer,
    limit, schema, text,
};
use crate::tool::Tool;
use crate::verbs::eval::{Asked, Runs, bounds, listing};

/// The seed's text, to the letter.
const DESCRIPTION: &str = "Execute a PHP snippet against the live container, return structured result";
/// Shortest and longest wall-clock limit and its default, in milliseconds (S1-01).
const TIMEOUT: (u64, u64, u64) = (100, 60_000, 5_000);

arguments! {
    /// What `framework__eval` is asked.
    pub(crate) struct Snippet (policy: &Policy, has_project: bool) {
        snippet: String = text(
            EvalRequest::MAX_CODE,
            format!(
                "PHP source, with or without `<?php`. The value of `return`, or of the last expression, is the result. {}",
                match has_project {
                    true => "`container($id)` resolves a service of the project.",
                    false => "This server has no project, so there is no `container()`.",
                }
            ),
        ),
        timeout_ms: u64 = timeout(policy),
        allow_writes: bool =
            flag("Asks for writes to the project. Default false; the server's own flag is the ceiling."),
        allow_network: bool = flag("Asks for outbound network access, as far as the operator allows it. Default false."),
        preview_offset: u32 = integer::<u32>(
            (0, u32::MAX.into()),
            "Items of the outermost container of the result to skip, to page through it. Default 0.",
        ).or(0),
    }
}

fn timeout(policy: &Policy) -> crate::spec::Row<u64> {
    let most = |wall: Duration| u64::try_from(wall.as_millis()).unwrap_or(TIMEOUT.1);
    let max = TIMEOUT.1.min(most(policy.ceiling.wall));
    let default = TIMEOUT.2.min(most(policy.defaults.wall));
    limit((TIMEOUT.0, max), default, "Wall-clock limit in milliseconds").role(Role::TimeLimit)
}

answer! {
    /// The answer of `sandbox_eval`, with the time in whole milliseconds.
    struct Rounded {
        head: Flat<Head> = Inline,
        duration_ms: u64 = "Wall-clock time in milliseconds, rounded.",
        tail: Flat<Tail> = Inline,
    }
}

pub(crate) struct FrameworkEval {
    runs: Runs,
    table: Table<Snippet>,
    spec: ToolSpec,
}

impl FrameworkEval {
    pub(crate) fn new(runtime: Runtime, granted: Grants) -> Self {
        let table = Snippet::table(runtime.policy(), granted.project.is_some());
        let spec = ToolSpec {
            name: "framework__eval",
            title: "Evaluate a PHP snippet in the project",
            description: DESCRIPTION.into(),
            input_schema: schema::input(table.fields()),
            output_schema: Rounded::schema().build(),
            answered: Rounded::always(),
            annotations: listing::annotations(runtime.policy(), &granted),
        };
        Self { runs: Runs::new(runtime, granted), table, spec }
    }

    async fn run(&self, arguments: Map<String, Json>, context: CallContext) -> Result<Outcome> {
        let snippet = self.table.decode(arguments)?;
        let defaults = &self.runs.runtime().policy().defaults;
        let asked = Asked {
            code: snippet.snippet,
            language: Language::php(),
            name: None,
            stdin: String::new(),
            seed: None,
            limits: Limits { wall: Duration::from_millis(snippet.timeout_ms), ..defaults.clone() },
            bounds: bounds(snippet.preview_offset, None),
            writes: snippet.allow_writes,
            network: snippet.allow_network,
            // The snippet has no `eval` (S1-24).
            makes_code: false,
        };
        self.runs.fresh(asked, context).await
    }
}

/// An outcome with hints of a tool that has one language.
fn of_php(mut outcome: Outcome) -> Outcome {
    if let Status::Raised(exception) = &mut outcome.status
        && let Some(hint) = &mut exception.hint
    {
        *hint = in_other_words(hint, |_| "this tool runs PHP alone".into());
    }
    outcome
}

fn reply(outcome: &Outcome) -> Reply {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a wall clock's milliseconds"
    )]
    let duration_ms = encode::milliseconds(outcome.usage.wall).round() as u64;
    let rounded = Rounded { head: Flat(Head::of(outcome)), duration_ms, tail: Flat(Tail::of(outcome, None)) };
    let structured = Json::Object(rounded.into_fields());
    match encode::stopped_text(outcome, None) {
        Some(text) => Reply { structured, text, is_error: true },
        None => Reply { text: structured.to_string(), structured, is_error: false },
    }
}

#[async_trait]
impl Tool for FrameworkEval {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn fields(&self) -> &[Field] {
        self.table.fields()
    }

    fn order(&self) -> Order {
        Order::Apart
    }

    async fn call(&self, arguments: Map<String, Json>, context: CallContext) -> Reply {
        match self.run(arguments, context).await {
            Ok(outcome) => reply(&of_php(fit(outcome))),
            Err(error) => self.refuse(&error),
        }
    }

    fn refuse(&self, error: &Error) -> Reply {
        let refused =
            Rounded { head: Flat(Head::refused(error)), duration_ms: 0, tail: Flat(Tail::refused()) };
        let structured = Json::Object(refused.into_fields());
        Reply { structured, text: encode::error_text(error), is_error: true }
    }
}
