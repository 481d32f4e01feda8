//! One run, put together step by step.

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use dormouse_core::{
    Access, Bounds, Callback, Catalog, EvalRequest, GuestPath, Language, Limits, Mount, Outcome, OutputSink,
    Project, Result, Runtime,
};
use dormouse_wasm::WasmProvider;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use crate::stepped::Program;

/// One run of one snippet in a fresh instance.
///
/// Setters never fail; what they could not accept is reported by [`Snippet::run`].
pub struct Snippet {
    runtime: Runtime,
    provider: Arc<WasmProvider>,
    request: Result<EvalRequest>,
}

impl Snippet {
    pub(crate) fn new(
        (runtime, provider): (Runtime, Arc<WasmProvider>),
        language: Result<Language>,
        code: String,
    ) -> Self {
        let limits = runtime.policy().defaults.clone();
        let request = language.map(|language| {
            let mut request = EvalRequest::new(language, code);
            request.context.limits = limits;
            request
        });
        Self { runtime, provider, request }
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

    /// Offers a function of typed arguments under `name`: their JSON Schema is made from the type.
    ///
    /// Arguments that do not fit the type are an exception in the snippet, and so is an error's text.
    #[must_use]
    pub fn function<A, R, F, Fut>(self, name: &str, description: &str, function: F) -> Self
    where
        A: JsonSchema + DeserializeOwned + Send + 'static,
        R: Serialize,
        F: Fn(A) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = std::result::Result<R, String>> + Send + 'static,
    {
        let schema = schemars::schema_for!(A).to_value();
        self.callback(name, description, schema, move |arguments| {
            let called = serde_json::from_value(arguments).map(&function);
            async move {
                let answer = called.map_err(|error| format!("the arguments do not fit: {error}"))?.await?;
                serde_json::to_value(answer).map_err(|error| format!("the answer is not JSON: {error}"))
            }
        })
    }

    /// Offers functions that are found by name when they are called, in the place of a catalog that was offered before.
    #[must_use]
    pub fn catalog(self, catalog: Arc<dyn Catalog>) -> Self {
        self.set(|request| request.context.callbacks.set_catalog(catalog))
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

    /// Starts it as a program that can be saved where it waits: see [`Program`].
    ///
    /// # Errors
    /// As [`Snippet::run`]; `capability_unavailable` in TypeScript, whose programs wait in persistent sandboxes alone.
    pub async fn start(self) -> Result<Program> {
        Program::start((self.runtime, self.provider), self.request?).await
    }

    /// Goes on with a program that [`Program::save`] has saved, with this snippet's callbacks and limits. Its source and grants do
    /// not count: those of the program hold.
    ///
    /// # Errors
    /// As [`Snippet::start`]; `args_invalid` for bytes that are no saved program, `guest_mismatch` when its guest is not here.
    pub async fn resume(self, saved: &[u8]) -> Result<Program> {
        Program::restore((self.runtime, self.provider), self.request?, saved).await
    }

    /// Runs it. Dropping the future cancels the run and frees everything it held.
    ///
    /// # Errors
    /// What kept it from running. An exception, an exit or a limit is an [`Outcome`].
    pub async fn run(self) -> Result<Outcome> {
        self.runtime.eval(self.request?).await
    }
}
