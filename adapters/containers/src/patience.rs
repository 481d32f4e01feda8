//! How long an engine may take, and the words for one that takes longer.

use std::time::Duration;

use dormouse_core::{Error, ErrorCode};

/// What is expected of an engine.
#[derive(Clone, Debug)]
pub struct Patience {
    /// What it is called in errors, such as `the container engine`.
    pub engine: &'static str,
    /// What to do when it cannot be used.
    pub hint: &'static str,
    /// How long one answer may take.
    pub answer_within: Duration,
    /// How long saving, waking and restoring go on while neither an answer nor a byte comes.
    pub stall_within: Duration,
    /// How long each of them, and moving the files of a sandbox, may take in all.
    pub transfer_within: Duration,
}

impl Patience {
    /// An engine that cannot be used: `provider_unavailable`.
    pub fn unavailable(&self, message: String) -> Error {
        Error::new(ErrorCode::ProviderUnavailable, message).with_hint(self.hint)
    }

    /// An engine that took too long: `provider_unavailable`.
    pub fn slow(&self, what: &str, within: Duration) -> Error {
        self.unavailable(format!("could not {what}: no answer within {} ms", within.as_millis()))
    }

    /// An engine of which nothing came for too long.
    pub(crate) fn stalled(&self, what: &str, within: Duration) -> Error {
        self.unavailable(format!(
            "could not {what}: nothing has come from {} for {} ms",
            self.engine,
            within.as_millis()
        ))
    }

    /// The same error with what to do, unless it says so itself.
    pub(crate) fn hinted(&self, error: Error) -> Error {
        if error.code() == ErrorCode::ProviderUnavailable && error.hint().is_none() {
            return error.with_hint(self.hint);
        }
        error
    }
}

/// The same error once more.
pub fn again(error: &Error) -> Error {
    let copy = Error::new(error.code(), error.message());
    match error.hint() {
        Some(hint) => copy.with_hint(hint),
        None => copy,
    }
}
