//! The port through which the manager reaches whoever runs things.

use async_trait::async_trait;

use crate::{CommandRequest, Error, ErrorCode, EvalRequest, GuestInfo, Outcome, Result};

/// Runs snippets. Dropping a returned future cancels its work and frees everything it held; that must be enough.
#[async_trait]
pub trait Provider: Send + Sync {
    /// The word that outcomes carry: `wasm`, `docker`, `kubernetes`.
    fn name(&self) -> &'static str;

    /// The languages it offers, sorted. Must be quick and start nothing (S3-02).
    fn guests(&self) -> Vec<GuestInfo>;

    /// Runs a checked request in a fresh instance.
    ///
    /// # Errors
    /// Only what kept it from running; how a run ended is an [`Outcome`].
    async fn eval(&self, request: EvalRequest) -> Result<Outcome>;

    /// Runs a checked program of the user's own.
    ///
    /// # Errors
    /// `bad_component` for what is no program or wants what it is not granted; `capability_unavailable` where
    /// programs cannot be run.
    async fn command(&self, request: CommandRequest) -> Result<Outcome> {
        Err(Error::new(
            ErrorCode::CapabilityUnavailable,
            format!("`{}` cannot be run by the {} provider", request.name, self.name()),
        )
        .with_hint("the wasm provider runs WebAssembly programs"))
    }
}
