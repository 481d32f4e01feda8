//! `sandbox_eval`: one snippet in a fresh sandbox (requirements S1, D3).

mod shape;

#[cfg(test)]
pub(crate) use shape::fields;

use async_trait::async_trait;
use dormouse_core::{
    Access, Bounds, Error, ErrorCode, EvalRequest, Grants, Language, Limits, Manager, Outcome, Result,
};
use serde_json::{Map, Value as Json};
use std::time::Duration;

use super::Tool;
use crate::decode::{Arguments, decode};
use crate::encode;
use crate::field::Field;
use crate::fit::fit;
use crate::surface::{CallContext, Reply, ToolSpec};

/// Bytes of the value's JSON that the guest may send (64 KiB), so that an answer stays readable for a model.
const VALUE_BYTES: u32 = 64 << 10;

pub(crate) struct Eval {
    manager: Manager,
    granted: Grants,
    fields: Vec<Field>,
    spec: ToolSpec,
}

impl Eval {
    pub(crate) fn new(manager: Manager, granted: Grants) -> Self {
        let fields = shape::fields(manager.policy());
        let spec = shape::spec(&fields, manager.policy(), &granted);
        Self { manager, granted, fields, spec }
    }

    async fn run(&self, arguments: Map<String, Json>, context: CallContext) -> Result<Outcome> {
        let mut request = self.request(decode(&self.fields, arguments)?)?;
        request.output = context.output;
        self.manager.eval(request).await
    }

    fn request(&self, mut arguments: Arguments) -> Result<EvalRequest> {
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
        let mut request = EvalRequest::new(language(&mut arguments)?, code);
        if let Some(name) = arguments.take_text("name") {
            request.name = name;
        }
        request.allow_eval = arguments.flag("allow_eval");
        request.limits = self.limits(&arguments);
        request.bounds = bounds(&arguments);
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

fn language(arguments: &mut Arguments) -> Result<Language> {
    let name = arguments.take_text("language").unwrap_or_default();
    Language::parse(&name).map_err(|error| {
        let hint = error.hint().unwrap_or_default().to_owned();
        Error::args_invalid(format!("the field `language` is invalid: {error}")).with_hint(hint)
    })
}

fn bounds(arguments: &Arguments) -> Bounds {
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
            Ok(outcome) => encode::reply(&fit(outcome)),
            Err(error) => self.refuse(&error),
        }
    }

    fn refuse(&self, error: &Error) -> Reply {
        encode::refusal(error)
    }
}
