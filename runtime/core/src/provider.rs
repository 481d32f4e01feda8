//! The port through which the manager reaches whoever runs things.

use async_trait::async_trait;

use crate::{EvalRequest, GuestInfo, Outcome, Result};

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
}
