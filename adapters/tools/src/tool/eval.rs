//! `sandbox_eval`: one snippet, in a fresh sandbox or in one that lasts (requirements S1).

mod shape;

#[cfg(test)]
pub(crate) use shape::fields;
pub(crate) use shape::{CLOSED_FILES, exception, result};

use async_trait::async_trait;
use dormouse_core::sandbox::SandboxId;
use dormouse_core::{
    Access, Bounds, Error, ErrorCode, EvalRequest, Grants, Limits, Manager, Outcome, Result,
};
use serde_json::{Map, Value as Json};
use std::sync::Arc;
use std::time::Duration;

use super::Tool;
use super::verb::{self, Kept, by_id};
use crate::decode::{Arguments, decode};
use crate::encode;
use crate::field::Field;
use crate::fit::fit;
use crate::models::{self, Models};
use crate::surface::{CallContext, Reply, ToolSpec};

/// Bytes of the value's JSON that the guest may send (64 KiB), so that an answer stays readable for a model.
const VALUE_BYTES: u32 = 64 << 10;

/// What the description says when there is a language model.
const ASKS: &str = " In Python `llm_query(prompt)` asks a language model and `llm_query_batched(prompts)` asks it about several \
texts; other languages call the tool `llm_query`.";

pub(crate) struct Eval {
    manager: Manager,
    granted: Grants,
    /// Sandboxes that last, if there are any.
    kept: Option<Arc<Kept>>,
    models: Models,
    fields: Vec<Field>,
    spec: ToolSpec,
}

impl Eval {
    pub(crate) fn new(manager: Manager, granted: Grants, kept: Option<Arc<Kept>>, models: Models) -> Self {
        let mut fields = shape::fields(manager.policy());
        if kept.is_some() {
            fields.extend(shape::naming_fields());
        }
        let mut spec = shape::spec(&fields, manager.policy(), &granted, kept.is_some());
        if models.is_configured() {
            spec.description += ASKS;
        }
        Self { manager, granted, kept, models, fields, spec }
    }

    async fn run(
        &self,
        arguments: Map<String, Json>,
        context: CallContext,
    ) -> Result<(Option<SandboxId>, Outcome)> {
        let named = ["sandbox", "session_key"].into_iter().find(|name| arguments.contains_key(*name));
        if let (Some(name), None) = (named, &self.kept) {
            return Err(Error::args_invalid(format!("there is no field \"{name}\": no sandbox lasts here"))
                .with_hint(format!(
                    "leave `{name}` out, or have the server started with `--state-dir DIR`"
                )));
        }
        let mut arguments = decode(&self.fields, arguments)?;
        let lasting = arguments.is_given("sandbox") || arguments.is_given("session_key");
        let (Some(kept), true) = (&self.kept, lasting) else {
            let mut request = self.request(&mut arguments)?;
            self.offer(&mut request, &context)?;
            request.output.clone_from(&context.output);
            return Ok((None, self.manager.eval_for(&verb::owner(&context)?, request).await?));
        };
        let owner = verb::owner(&context)?;
        settled(&arguments)?;
        let mut request = self.request(&mut arguments)?;
        let Grants { stdin, seed, .. } = request.grants;
        request.grants = Grants { stdin, seed, ..Grants::default() };
        self.offer(&mut request, &context)?;
        request.output = context.output;
        let id = kept.there_or_new(&mut arguments, &owner).await?;
        let (id, outcome) = kept.sandboxes.eval(&owner, &by_id(&id), request).await?;
        Ok((Some(id), outcome))
    }

    /// Lets a snippet ask the model, where there is one.
    fn offer(&self, request: &mut EvalRequest, context: &CallContext) -> Result<()> {
        match self.models.of_call(context) {
            Some(model) => models::offer(Some(model), &mut request.callbacks),
            None => Ok(()),
        }
    }

    fn request(&self, arguments: &mut Arguments) -> Result<EvalRequest> {
        if arguments.flag("allow_network") {
            let error = Error::new(ErrorCode::NetworkDenied, "network access is not offered here");
            return Err(error.with_hint("leave `allow_network` out and pass the data in `code` or `stdin`"));
        }
        if arguments.flag("allow_eval") && !self.manager.policy().allow_eval {
            let error =
                Error::new(ErrorCode::CapabilityUnavailable, "code made from text is not allowed here");
            return Err(error.with_hint("leave `allow_eval` out"));
        }
        let code = arguments.take_text("code").unwrap_or_default();
        let mut request = EvalRequest::new(verb::language(arguments)?, code);
        if let Some(name) = arguments.take_text("name") {
            request.name = name;
        }
        request.allow_eval = arguments.flag("allow_eval");
        request.limits = self.limits(arguments);
        request.bounds = bounds(arguments);
        request.grants = Grants {
            stdin: arguments.take_text("stdin").unwrap_or_default().into_bytes(),
            seed: arguments.integer("seed"),
            ..self.grants(arguments.flag("allow_writes"))?
        };
        Ok(request)
    }

    fn limits(&self, arguments: &Arguments) -> Limits {
        let defaults = &self.manager.policy().defaults;
        Limits {
            wall: arguments.integer("timeout_ms").map_or(defaults.wall, Duration::from_millis),
            memory: arguments.integer("memory_bytes").unwrap_or(defaults.memory),
            output: arguments.integer("output_bytes").unwrap_or(defaults.output),
            fuel: arguments.integer("fuel").or(defaults.fuel),
            disk: defaults.disk,
            files: defaults.files,
        }
    }

    /// What the operator grants. A call can only lower what it gets (S1-22).
    fn grants(&self, writes: bool) -> Result<Grants> {
        if writes && !self.manager.policy().allow_writes {
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
}

/// What was decided when a sandbox was made cannot be asked of one of its runs.
fn settled(arguments: &Arguments) -> Result<()> {
    let asked = |name: &&str| arguments.is_given(name) && (*name != "allow_writes" || arguments.flag(name));
    match ["memory_bytes", "fuel", "allow_writes"].into_iter().find(asked) {
        Some(name) => {
            Err(Error::args_invalid(format!("the field `{name}` does not go with a sandbox that lasts"))
                .with_hint(format!("leave `{name}` out; it was decided when the sandbox was made")))
        }
        None => Ok(()),
    }
}

pub(crate) fn bounds(arguments: &Arguments) -> Bounds {
    let defaults = Bounds::default();
    let number = |name: &str, default: u32| {
        arguments.integer(name).and_then(|number| u32::try_from(number).ok()).unwrap_or(default)
    };
    Bounds {
        items: number("preview_items", defaults.items),
        offset: number("preview_offset", defaults.offset),
        total_bytes: VALUE_BYTES,
        ..defaults
    }
}

#[async_trait]
impl Tool for Eval {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, arguments: Map<String, Json>, context: CallContext) -> Reply {
        match self.run(arguments, context).await {
            Ok((sandbox, outcome)) => encode::reply_in(&fit(outcome), sandbox.as_ref()),
            Err(error) => self.refuse(&error),
        }
    }

    fn refuse(&self, error: &Error) -> Reply {
        encode::refusal(error)
    }
}
