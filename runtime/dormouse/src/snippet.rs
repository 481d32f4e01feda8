//! One run, put together step by step.

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use dormouse_core::{
    Access, Bounds, Callback, EvalRequest, GuestPath, Language, Limits, Mount, Outcome, OutputSink, Project,
    Result, Runtime,
};
use serde_json::Value as Json;

/// One run of one snippet in a fresh instance.
///
/// Setters never fail; what they could not accept is reported by [`Snippet::run`].
pub struct Snippet {
    runtime: Runtime,
    request: Result<EvalRequest>,
}

impl Snippet {
    pub(crate) fn new(runtime: Runtime, language: Result<Language>, code: String) -> Self {
        let limits = runtime.policy().defaults.clone();
        let request = language.map(|language| {
            let mut request = EvalRequest::new(language, code);
            request.context.limits = limits;
            request
        });
        Self { runtime, request }
    }

    fn with(mut self, change: impl FnOnce(&mut EvalRequest) -> Result<()>) -> Self {
        self.request = self.request.and_then(|mut request| change(&mut request).map(|()| request));
        self
    }

    fn set(self, change: impl FnOnce(&mut EvalRequest)) -> Self {
        self.with(|request| {
            change(request);
            Ok(())
        })
    }

    /// Wall-clock limit. Default 5 s.
    #[must_use]
    pub fn timeout(self, wall: Duration) -> Self {
        self.set(|request| request.context.limits.wall = wall)
    }

    /// Memory limit in bytes. Default 128 MiB.
    #[must_use]
    pub fn memory(self, bytes: u64) -> Self {
        self.set(|request| request.context.limits.memory = bytes)
    }

    /// Fuel budget. Default: not counted.
    #[must_use]
    pub fn fuel(self, fuel: u64) -> Self {
        self.set(|request| request.context.limits.fuel = Some(fuel))
    }

    /// All limits at once.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        self.set(|request| request.context.limits = limits)
    }

    /// How much of the value is encoded.
    #[must_use]
    pub fn bounds(self, bounds: Bounds) -> Self {
        self.set(|request| request.context.bounds = bounds)
    }

    /// The name that traces show. Default `<snippet>`.
    #[must_use]
    pub fn name(self, name: impl Into<String>) -> Self {
        self.set(|request| request.name = name.into())
    }

    /// Shows a host folder at `target` inside the sandbox.
    #[must_use]
    pub fn mount(self, source: impl Into<PathBuf>, target: &str, access: Access) -> Self {
        self.with(|request| {
            let target = GuestPath::parse(target)?;
            request.context.grants.mounts.push(Mount { source: source.into(), target, access });
            Ok(())
        })
    }

    /// Runs it inside a project, which is opened before: see [`Project`].
    #[must_use]
    pub fn project(self, project: Project) -> Self {
        self.set(|request| request.context.grants.project = Some(project))
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.set(|request| request.context.grants.environment.push((name.into(), value.into())))
    }

    /// The working directory inside the sandbox.
    #[must_use]
    pub fn directory(self, path: &str) -> Self {
        self.with(|request| {
            request.context.grants.directory = Some(GuestPath::parse(path)?);
            Ok(())
        })
    }

    /// What standard input yields.
    #[must_use]
    pub fn stdin(self, bytes: impl Into<Vec<u8>>) -> Self {
        self.set(|request| request.context.grants.stdin = bytes.into())
    }

    /// Fixes all randomness: two runs with the same seed and input give the same answer.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        self.set(|request| request.context.grants.seed = Some(seed))
    }

    /// Whether the snippet may make code from text: see [`EvalRequest::allow_eval`]. Default true.
    #[must_use]
    pub fn allow_eval(self, allowed: bool) -> Self {
        self.set(|request| request.allow_eval = allowed)
    }

    /// Offers a function of the host under `name`.
    #[must_use]
    pub fn callback<F, Fut>(self, name: &str, description: &str, schema: Json, function: F) -> Self
    where
        F: Fn(Json) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = std::result::Result<Json, String>> + Send + 'static,
    {
        self.with(|request| {
            request.context.callbacks.insert(name, Callback::new(description, schema, function))
        })
    }

    /// Receives output while the snippet runs.
    #[must_use]
    pub fn on_output(self, sink: Arc<dyn OutputSink>) -> Self {
        self.set(|request| request.context.output = Some(sink))
    }

    /// The request as it stands, for adapters.
    ///
    /// # Errors
    /// What a setter could not accept.
    pub fn into_request(self) -> Result<EvalRequest> {
        self.request
    }

    /// Runs it. Dropping the future cancels the run and frees everything it held.
    ///
    /// # Errors
    /// What kept it from running. An exception, an exit or a limit is an [`Outcome`].
    pub async fn run(self) -> Result<Outcome> {
        self.runtime.eval(self.request?).await
    }
}
