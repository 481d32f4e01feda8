//! A container or an engine that ends under a command: an error that says so, never an exit status.
//!
//! A program that is killed with its container ends with status 137, as one that its own script kills does. Which of the two it
//! was is asked of the engine, and only then.

use std::time::Duration;

use dormouse_core::{Error, ErrorCode};

use crate::exec::run_own;
use crate::patience::Patience;
use crate::port::Container;

/// What to do then.
const HINT: &str = "call again: the sandbox goes on in another container from what was saved last, and what came later is lost";

/// How often a container that takes no program is looked at until it has ended, and how long it is waited between.
const LOOKS: u32 = 50;
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// The error, if the container has ended. Its programs end before the engine knows that it has: one that still takes a program
/// is there.
pub(crate) async fn with_container(container: &dyn Container) -> Option<Error> {
    for _ in 0..LOOKS {
        container.look().await;
        if container.is_gone() {
            let why = container.why_gone().map(|why| format!(": {why}")).unwrap_or_default();
            return Some(
                Error::new(
                    ErrorCode::ProviderUnavailable,
                    format!("the sandbox's container ended while this ran{why}"),
                )
                .with_hint(HINT),
            );
        }
        let alive = run_own(container, ["sh", "-c", ":"].map(str::to_owned).into(), Vec::new()).await;
        if alive.is_ok_and(|ran| ran.code == Some(0)) {
            return None;
        }
        if !container.answers().await || container.is_full().await {
            return None;
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
    None
}

/// What an engine that broke off comes to.
pub(crate) async fn with_engine(container: &dyn Container, error: Error) -> Error {
    match with_container(container).await {
        Some(ended) => ended.with_source(error),
        None => of_engine(container.patience(), error),
    }
}

/// The same where the container has not ended, as far as is known.
pub(crate) fn of_engine(patience: &Patience, error: Error) -> Error {
    Error::new(
        ErrorCode::ProviderUnavailable,
        format!("{} was lost while this ran: {}", patience.engine, error.message()),
    )
    .with_hint(HINT)
    .with_source(error)
}
