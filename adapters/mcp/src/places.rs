//! Bounds what one connection may have in progress: calls, and the bytes of their arguments.

use dormouse_core::{Error, ErrorCode, Result};
use rmcp::model::JsonObject;
use serde_json::Value as Json;
use tokio::sync::{Semaphore, SemaphorePermit};

/// Calls in progress at one time; more are answered with `busy`.
pub(crate) const MAX_CALLS: usize = 64;
/// Mebibytes of text in the arguments of all calls in progress; more are answered with `busy`.
const MAX_MIB: u32 = 256;

/// The places of one connection.
pub(crate) struct Places {
    calls: Semaphore,
    mebibytes: Semaphore,
}

/// One call's place. Dropping it gives the place back.
pub(crate) struct Place<'a> {
    _call: SemaphorePermit<'a>,
    _mebibytes: SemaphorePermit<'a>,
}

impl Places {
    pub(crate) fn new() -> Self {
        Self { calls: Semaphore::new(MAX_CALLS), mebibytes: Semaphore::new(MAX_MIB as usize) }
    }

    /// A place for a call with these arguments.
    ///
    /// # Errors
    /// `busy` when there is none; the caller is not made to wait.
    pub(crate) fn enter(&self, arguments: &JsonObject) -> Result<Place<'_>> {
        let busy = |problem: String| {
            Err(Error::new(ErrorCode::Busy, problem).with_hint("wait for a call to end, then try again"))
        };
        let Ok(call) = self.calls.try_acquire() else {
            return busy(format!("{MAX_CALLS} calls are in progress already"));
        };
        let bytes: usize = arguments.values().filter_map(Json::as_str).map(str::len).sum();
        let mebibytes = u32::try_from(bytes >> 20).unwrap_or(MAX_MIB).min(MAX_MIB);
        match self.mebibytes.try_acquire_many(mebibytes) {
            Ok(mebibytes) => Ok(Place { _call: call, _mebibytes: mebibytes }),
            Err(_) => busy(format!("the calls in progress hold {MAX_MIB} MiB of arguments already")),
        }
    }
}
