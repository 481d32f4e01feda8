//! `framework__eval` of the profile `eval`: the seed's own tool, a PHP snippet in the operator's project (S1-01).
//!
//! Names, texts and types are the seed's; the work is [`Eval`]'s. `duration_ms` is a whole number here.

use async_trait::async_trait;
use dormouse_core::mistaken::in_other_words;
use dormouse_core::{Error, ErrorCode, EvalRequest, Grants, Manager, Result};
use serde_json::{Map, Value as Json, json};

use super::Tool;
use super::eval::Eval;
use crate::decode::{Arguments, decode};
use crate::field::{Absent, Field, Kind};
use crate::models::Models;
use crate::schema;
use crate::surface::{CallContext, Reply, ToolSpec};

/// The seed's text, to the letter.
const DESCRIPTION: &str = "Execute a PHP snippet against the live container, return structured result";
/// Shortest and longest wall-clock limit and its default, in milliseconds (S1-01).
const TIMEOUT: (u64, u64, u64) = (100, 60_000, 5_000);

pub(crate) struct FrameworkEval {
    eval: Eval,
    fields: Vec<Field>,
    spec: ToolSpec,
}

impl FrameworkEval {
    pub(crate) fn new(manager: Manager, granted: Grants) -> Self {
        let fields = fields(&manager, granted.project.is_some());
        let eval = Eval::new(manager, granted, None, Models::default());
        let mut output_schema = eval.spec().output_schema.clone();
        output_schema["properties"]["duration_ms"] =
            schema::integer(0, "Wall-clock time in milliseconds, rounded.");
        let spec = ToolSpec {
            name: "framework__eval",
            title: "Evaluate a PHP snippet in the project",
            description: DESCRIPTION.into(),
            input_schema: schema::input(&fields),
            output_schema,
            annotations: eval.spec().annotations,
        };
        Self { eval, fields, spec }
    }
}

fn fields(manager: &Manager, has_project: bool) -> Vec<Field> {
    let policy = manager.policy();
    let most = |wall: std::time::Duration| u64::try_from(wall.as_millis()).unwrap_or(TIMEOUT.1);
    let (min, max) = (TIMEOUT.0, TIMEOUT.1.min(most(policy.ceiling.wall)));
    let default = TIMEOUT.2.min(most(policy.defaults.wall)).clamp(min, max);
    let container = match has_project {
        true => "`container($id)` resolves a service of the project.",
        false => "This server has no project, so there is no `container()`.",
    };
    vec![
        Field::new(
            "snippet",
            Kind::Text { min: 1, max: EvalRequest::MAX_CODE, absent: Absent::Refused },
            format!(
                "PHP source, with or without `<?php`. The value of `return`, or of the last expression, is the result. {container}"
            ),
        ),
        Field::new(
            "timeout_ms",
            Kind::Integer { min, max, absent: Absent::Default(default) },
            format!("Wall-clock limit in milliseconds. Default {default}, from {min} to {max}."),
        ),
        Field::new(
            "allow_writes",
            Kind::Flag { default: false },
            "Asks for writes to the project. Default false; the server's own flag is the ceiling.",
        ),
        Field::new(
            "allow_network",
            Kind::Flag { default: false },
            "Asks for outbound network access. Default false; refused by this server.",
        ),
        Field::new(
            "preview_offset",
            Kind::Integer { min: 0, max: u32::MAX.into(), absent: Absent::Default(0) },
            "Items of the outermost container of the result to skip, to page through it. Default 0.",
        ),
    ]
}

/// Refuses what the server never gives, in the words of this tool's own fields.
fn check(arguments: &Arguments) -> Result<()> {
    match arguments.flag("allow_network") {
        true => Err(Error::new(ErrorCode::NetworkDenied, "network access is not offered here").with_hint(
            "leave `allow_network` out and put the data into `snippet`, or into a file of the project",
        )),
        false => Ok(()),
    }
}

/// The same call in the words of `sandbox_eval`. The snippet has no `eval` (S1-24).
fn canonical(mut arguments: Arguments) -> Map<String, Json> {
    let call = json!({
        "code": arguments.take_text("snippet"),
        "language": "php",
        "timeout_ms": arguments.integer("timeout_ms"),
        "allow_writes": arguments.flag("allow_writes"),
        "preview_offset": arguments.integer("preview_offset"),
        "allow_eval": false,
    });
    match call {
        Json::Object(call) => call,
        _ => Map::new(),
    }
}

/// The same answer with a whole number of milliseconds, and hints of a tool that has one language.
fn rounded(mut reply: Reply) -> Reply {
    let rendered = reply.structured.to_string();
    let whole = reply.text == rendered;
    let duration = reply.structured["duration_ms"].as_f64().unwrap_or_default().round();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a wall clock's milliseconds"
    )]
    let duration = duration as u64;
    reply.structured["duration_ms"] = duration.into();
    if let Some(hint) = reply.structured["exception"]["hint"].as_str() {
        let hint = in_other_words(hint, |_| "this tool runs PHP alone".into());
        reply.structured["exception"]["hint"] = hint.into();
    }
    if whole {
        reply.text = reply.structured.to_string();
    }
    reply
}

#[async_trait]
impl Tool for FrameworkEval {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, arguments: Map<String, Json>, context: CallContext) -> Reply {
        match decode(&self.fields, arguments).and_then(|arguments| check(&arguments).map(|()| arguments)) {
            Ok(arguments) => rounded(self.eval.call(canonical(arguments), context).await),
            Err(error) => self.refuse(&error),
        }
    }

    fn refuse(&self, error: &Error) -> Reply {
        rounded(self.eval.refuse(error))
    }
}
