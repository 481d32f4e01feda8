//! What every tool is to the surface, whichever profile has it.

use async_trait::async_trait;
use dormouse_core::Error;
use serde_json::{Map, Value as Json};

use crate::call::{CallContext, Reply};
use crate::spec::{Field, Order, ToolSpec};

/// One tool.
#[async_trait]
pub(crate) trait Tool: Send + Sync {
    /// How it is listed. Always the same.
    fn spec(&self) -> &ToolSpec;

    /// The table of its arguments.
    fn fields(&self) -> &[Field];

    /// How its calls stand to others.
    fn order(&self) -> Order;

    /// Decodes, runs, encodes. Dropping the future cancels the run.
    async fn call(&self, arguments: Map<String, Json>, context: CallContext) -> Reply;

    /// The answer when something else kept it from running. Fulfils the output schema.
    fn refuse(&self, error: &Error) -> Reply;
}
