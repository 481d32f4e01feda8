//! What goes wrong with an engine, in our words.

use std::time::Duration;

use bollard::errors::Error as Fault;
use dormouse_core::{Error, ErrorCode};

/// What to do where the engine cannot be used.
pub(crate) const HINT: &str =
    "start the engine, or name it by DOCKER_HOST; `docker info` shows whether it answers";

/// An engine that cannot be used.
pub(crate) fn unavailable(message: String) -> Error {
    Error::new(ErrorCode::ProviderUnavailable, message).with_hint(HINT)
}

/// An engine that took too long.
pub(crate) fn slow(what: &str, within: Duration) -> Error {
    unavailable(format!("could not {what}: no answer within {} ms", within.as_millis()))
}

/// Whether the engine says that there is no such thing.
pub(crate) fn is_missing(fault: &Fault) -> bool {
    matches!(fault, Fault::DockerResponseServerError { status_code: 404, .. })
}

/// What went wrong, in our words: `limit_disk` for a full volume, else `provider_unavailable`.
pub(crate) fn wrong(what: &str, fault: Fault) -> Error {
    let said = match &fault {
        Fault::DockerResponseServerError { message, .. } => {
            let message: String = message.chars().filter(|c| !c.is_control()).take(300).collect();
            if message.contains("no space left on device") {
                return Error::new(ErrorCode::LimitDisk, "the sandbox's files have no space left")
                    .with_hint("remove files, or make a sandbox with more disk, and memory for it");
            }
            return Error::new(
                ErrorCode::ProviderUnavailable,
                format!("could not {what}: the container engine says: {message}"),
            )
            .with_hint("the engine's own log says more; another provider may serve meanwhile")
            .with_source(fault);
        }
        Fault::RequestTimeoutError => "no answer in time",
        _ => "it cannot be reached, or broke off",
    };
    unavailable(format!("could not {what}: {said}")).with_source(fault)
}
