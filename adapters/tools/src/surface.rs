//! Which tools there are, and how one is called.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use dormouse_core::{Error, ErrorCode, Grants, Manager, OutputSink, Result};
use futures::FutureExt;
use serde_json::{Map, Value as Json};

use crate::decode::nearest;
use crate::tool::{self, Tool};

/// What a client may assume about a tool, decided once at start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Annotations {
    /// It changes nothing outside the sandbox.
    pub read_only: bool,
    /// It can remove or overwrite something outside the sandbox.
    pub destructive: bool,
    /// Calling it twice is as calling it once.
    pub idempotent: bool,
    /// It reaches the network.
    pub open_world: bool,
}

/// One tool, as it is listed. It never changes while the process lives.
#[derive(Clone, Debug)]
pub struct ToolSpec {
    /// Its name: `[a-z][a-z0-9_]*`, at most 32 characters.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// What it does and when to use it, for a model.
    pub description: String,
    /// JSON Schema of its arguments object (see [`schema`](crate::schema)).
    pub input_schema: Json,
    /// JSON Schema that every answer's `structured` fulfils, errors too.
    pub output_schema: Json,
    /// What a client may assume.
    pub annotations: Annotations,
}

/// The answer to a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// One JSON object that fulfils the tool's output schema.
    pub structured: Json,
    /// The same for readers of text: the JSON, or `Error: <message>` with a hint. At most 256 KiB.
    pub text: String,
    /// Whether the call was refused, or its run ended by a limit or a crash. An exception or an exit is no error.
    pub is_error: bool,
}

/// A set of tool names over the same work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// `sandbox_eval` and its siblings.
    #[default]
    Sandbox,
    /// `framework__eval`: PHP in the operator's project, in the form of requirements S1.
    Eval,
}

impl Profile {
    /// Every profile by its name.
    pub const ALL: [(&'static str, Self); 2] = [("sandbox", Self::Sandbox), ("eval", Self::Eval)];
}

/// Who calls, and where output goes meanwhile.
#[derive(Clone, Default)]
pub struct CallContext {
    /// Who pays; goes to the log.
    pub owner: String,
    /// Receives output while the call runs. Default none.
    pub output: Option<Arc<dyn OutputSink>>,
}

/// The tools over one manager. Making one starts nothing.
pub struct Surface {
    manager: Manager,
    profile: Profile,
    grants: Grants,
    tools: Vec<Box<dyn Tool>>,
}

impl Surface {
    /// The default profile's tools, without grants.
    pub fn new(manager: Manager) -> Self {
        let (profile, grants) = (Profile::default(), Grants::default());
        Self { tools: tool::all(&manager, profile, &grants), manager, profile, grants }
    }

    /// The tools of another profile.
    #[must_use]
    pub fn with_profile(mut self, profile: Profile) -> Self {
        self.profile = profile;
        self.remade()
    }

    /// The same with what the operator grants every run. Folders and the project are read-only, unless they are granted
    /// for writing, the operator allows writes, and the call asks for them (S1-22). Standard input and the seed are each
    /// call's own.
    #[must_use]
    pub fn with_grants(mut self, grants: &Grants) -> Self {
        self.grants = grants.clone();
        self.remade()
    }

    fn remade(mut self) -> Self {
        self.tools = tool::all(&self.manager, self.profile, &self.grants);
        self
    }

    /// The tools, sorted by name; the same at every call. Starts nothing (S3-02).
    pub fn list(&self) -> Vec<ToolSpec> {
        self.tools.iter().map(|tool| tool.spec().clone()).collect()
    }

    /// The tool of that name.
    pub fn get(&self, name: &str) -> Option<&ToolSpec> {
        self.tools.iter().map(|tool| tool.spec()).find(|spec| spec.name == name)
    }

    /// Calls a tool. Dropping the future cancels what it runs. Arguments that do not fit are an answer with `is_error`.
    ///
    /// # Errors
    /// `not_found` when there is no such tool, and nothing else.
    pub async fn call(
        &self,
        name: &str,
        arguments: Map<String, Json>,
        context: CallContext,
    ) -> Result<Reply> {
        let tool = self.tool(name)?;
        let begin = Instant::now();
        let owner = context.owner.clone();
        // A panic below must not take the answer with it: the caller would wait for ever.
        let reply = match AssertUnwindSafe(tool.call(arguments, context)).catch_unwind().await {
            Ok(reply) => reply,
            Err(_) => tool.refuse(&Error::new(ErrorCode::Internal, format!("the tool `{name}` crashed"))),
        };
        let ms = begin.elapsed().as_millis();
        tracing::info!(tool = name, owner, is_error = reply.is_error, code = code(&reply), ms, "called");
        Ok(reply)
    }

    /// The answer of a tool that is not even tried, such as `busy`.
    ///
    /// # Errors
    /// `not_found` when there is no such tool.
    pub fn refuse(&self, name: &str, error: &Error) -> Result<Reply> {
        Ok(self.tool(name)?.refuse(error))
    }

    fn tool(&self, name: &str) -> Result<&dyn Tool> {
        if let Some(tool) = self.tools.iter().find(|tool| tool.spec().name == name) {
            return Ok(tool.as_ref());
        }
        let names = self.tools.iter().map(|tool| tool.spec().name);
        let hint = match nearest(name, names.clone()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the tools are `{}`", names.collect::<Vec<_>>().join("`, `")),
        };
        let shown: String = name.escape_debug().take(64).collect();
        Err(Error::new(ErrorCode::NotFound, format!("there is no tool `{shown}`")).with_hint(hint))
    }
}

/// The stable code of an answer, for the log.
fn code(reply: &Reply) -> &str {
    reply.structured["error"]["code"].as_str().unwrap_or("ok")
}

#[cfg(test)]
#[path = "surface_tests.rs"]
mod tests;
