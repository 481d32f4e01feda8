//! The tools, one file each.

mod capabilities;
mod eval;
mod framework_eval;

#[cfg(test)]
pub(crate) use eval::fields as eval_fields;

use async_trait::async_trait;
use dormouse_core::{Error, Grants, Manager};
use serde_json::{Map, Value as Json};

use crate::schema::{self, Object};
use crate::surface::{CallContext, Profile, Reply, ToolSpec};

/// One tool.
#[async_trait]
pub(crate) trait Tool: Send + Sync {
    /// How it is listed. Always the same.
    fn spec(&self) -> &ToolSpec;

    /// Decodes, runs, encodes. Dropping the future cancels the run.
    async fn call(&self, arguments: Map<String, Json>, context: CallContext) -> Reply;

    /// The answer when something else kept it from running. Fulfils the output schema.
    fn refuse(&self, error: &Error) -> Reply;
}

/// The tools of a profile, sorted by name.
pub(crate) fn all(manager: &Manager, profile: Profile, grants: &Grants) -> Vec<Box<dyn Tool>> {
    let (manager, grants) = (manager.clone(), grants.clone());
    let mut tools: Vec<Box<dyn Tool>> = match profile {
        Profile::Sandbox => vec![
            Box::new(capabilities::Capabilities::new(manager.clone(), grants.clone())),
            Box::new(eval::Eval::new(manager, grants)),
        ],
        Profile::Eval => vec![Box::new(framework_eval::FrameworkEval::new(manager, grants))],
    };
    tools.sort_by_key(|tool| tool.spec().name);
    tools
}

/// The schema of an answer's `error`: an object, or null.
fn error_schema(description: &'static str) -> Json {
    Object::new()
        .description(description)
        .required("code", schema::text("Stable name, such as limit_time, limit_memory, args_invalid, busy."))
        .required("message", schema::text("What happened, with the limit and the value."))
        .required("hint", schema::text("What to do about it; may be empty."))
        .or_null()
}
