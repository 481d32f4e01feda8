//! The one sandbox of a test process, through the facade for embedders, and short ways to run snippets in it.

use std::future::Future;
use std::sync::LazyLock;
use std::time::Duration;

use dormouse::{Dormouse, Error, ErrorCode, EvalRequest, Outcome, Policy, Snippet};
use serde_json::Value as Json;
use tokio::runtime::{Builder, Runtime};

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    Builder::new_multi_thread()
        .worker_threads(2)
        // Threads that have nothing to do go at once, so that a count of threads says something.
        .thread_keep_alive(Duration::from_millis(50))
        .enable_all()
        .build()
        .expect("a runtime")
});

static SANDBOX: LazyLock<Dormouse> =
    LazyLock::new(|| with_policy(Policy { allow_writes: true, ..Policy::default() }));

/// The shared sandbox. Its operator allows writes.
pub fn sandbox() -> &'static Dormouse {
    &SANDBOX
}

/// A sandbox of its own, for tests of the operator's rules.
pub fn with_policy(policy: Policy) -> Dormouse {
    Dormouse::builder().and_then(|builder| builder.policy(policy).build()).expect("a sandbox")
}

/// Runs a future on the shared runtime.
pub fn wait<F: Future>(future: F) -> F::Output {
    RUNTIME.block_on(future)
}

/// Starts a future on the shared runtime.
pub fn spawn<F>(future: F) -> tokio::task::JoinHandle<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    RUNTIME.spawn(future)
}

/// A snippet for the shared sandbox.
pub fn snippet(language: &str, code: impl Into<String>) -> Snippet {
    sandbox().snippet(language, code)
}

/// A request with everything that [`Snippet`] has no setter for.
pub fn request(language: &str, code: impl Into<String>) -> EvalRequest {
    snippet(language, code).into_request().expect("a language that is known")
}

/// Runs a snippet to its outcome.
///
/// # Panics
/// When it was refused; a guest that has not been built is named.
pub fn run(snippet: Snippet) -> Outcome {
    outcome(wait(snippet.run()))
}

/// Runs a request to its outcome, as [`run`] does.
pub fn run_request(request: EvalRequest) -> Outcome {
    outcome(wait(sandbox().runtime().eval(request)))
}

/// Runs a snippet with default limits.
pub fn eval(language: &str, code: &str) -> Outcome {
    run(snippet(language, code))
}

/// The typed value that a snippet came to, as JSON.
///
/// # Panics
/// When it came to something else.
pub fn value_of(language: &str, code: &str) -> Json {
    crate::ending::value(&eval(language, code))
}

fn outcome(result: Result<Outcome, Error>) -> Outcome {
    match result {
        Ok(outcome) => outcome,
        Err(error) if error.code() == ErrorCode::GuestMissing => {
            panic!("{error}. The tests need every guest: run `cargo xtask guests` first")
        }
        Err(error) => panic!("the run was refused: {} ({:?})", error, error.code()),
    }
}
