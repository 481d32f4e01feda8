//! The engine: whether it is there, and that each of its answers comes in time.
//!
//! Owns: the connection, and the version both sides speak. Does not own: what is asked, and the words for what goes wrong
//! ([`crate::fault`]).

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bollard::Docker;
use bollard::errors::Error as Fault;
use dormouse_containers::{again, pulse};
use dormouse_core::{Error, ErrorCode, Result};
use tokio::sync::{Mutex, OnceCell};
use tokio::time::timeout;

use crate::dial::{self, Address, Dial};
use crate::fault::{slow, unavailable, wrong};

/// How long the engine may take to say that it is there.
const PING_WITHIN: Duration = Duration::from_secs(2);
/// How long that is remembered.
const REMEMBERED: Duration = Duration::from_secs(2);

/// The way to the engine; connected on first use.
pub(crate) struct Engine {
    address: Option<String>,
    dial: Option<Arc<dyn Dial>>,
    answer_within: Duration,
    client: OnceCell<Docker>,
    /// When it was asked last, and what is wrong with it.
    last: Mutex<Option<(Instant, Option<Error>)>>,
}

impl Engine {
    pub(crate) fn new(address: Option<String>, dial: Option<Arc<dyn Dial>>, answer_within: Duration) -> Self {
        Self { address, dial, answer_within, client: OnceCell::new(), last: Mutex::new(None) }
    }

    /// The client, connected and checked.
    ///
    /// # Errors
    /// `provider_unavailable`.
    pub(crate) async fn docker(&self) -> Result<&Docker> {
        self.client.get_or_try_init(|| self.connect()).await
    }

    /// Whether it answers now. Remembered for a moment.
    ///
    /// # Errors
    /// `provider_unavailable` with what to do.
    pub(crate) async fn ready(&self) -> Result<()> {
        let mut last = self.last.lock().await;
        if let Some((at, wrong)) = &*last
            && at.elapsed() < REMEMBERED
        {
            return wrong.as_ref().map_or(Ok(()), |error| Err(again(error)));
        }
        let answer = match timeout(PING_WITHIN, self.ping()).await {
            Ok(answer) => answer,
            Err(_) => Err(unavailable(format!(
                "the container engine does not answer within {} s",
                PING_WITHIN.as_secs()
            ))),
        };
        *last = Some((Instant::now(), answer.as_ref().err().map(again)));
        answer
    }

    async fn ping(&self) -> Result<()> {
        let docker = self.docker().await?;
        docker.ping().await.map(|_| ()).map_err(|fault| wrong("ping the container engine", fault))
    }

    /// Waits for an answer, not for ever.
    ///
    /// # Errors
    /// See [`wrong`].
    pub(crate) async fn ask<T>(
        &self,
        what: &str,
        answer: impl Future<Output = std::result::Result<T, Fault>>,
    ) -> Result<T> {
        let answer = timeout(self.answer_within, answer).await;
        if !matches!(answer, Ok(Ok(_) | Err(Fault::DockerResponseServerError { .. })))
            && let Ok(mut last) = self.last.try_lock()
        {
            // What was remembered is not so any more.
            *last = None;
        }
        match answer {
            Ok(answer) => {
                pulse::beat();
                answer.map_err(|fault| wrong(what, fault))
            }
            Err(_) => Err(slow(what, self.answer_within)),
        }
    }

    async fn connect(&self) -> Result<Docker> {
        let through = self.dial.clone().zip(Address::of(self.address.as_deref()));
        let connected = match (through, &self.address) {
            (Some((dial, address)), _) => dial::client(&address, dial, self.answer_within),
            (None, Some(address)) => Docker::connect_with_host(address),
            (None, None) => Docker::connect_with_defaults(),
        };
        let docker = connected.map_err(|fault| wrong("connect to the container engine", fault))?;
        let docker = docker.with_timeout(self.answer_within);
        let docker = self.ask("ask the container engine for its version", docker.negotiate_version()).await?;
        let info = self.ask("ask the container engine about itself", docker.info()).await?;
        if info.os_type.as_deref().is_some_and(|kind| kind != "linux") {
            return Err(unavailable("the container engine does not run Linux containers".into()));
        }
        // Never asked for otherwise, the profile is the engine's own: it must be there, and not `unconfined`.
        let options = info.security_options.unwrap_or_default();
        let seccomp = options.iter().any(|option| {
            option.starts_with("name=seccomp")
                && (option.contains("profile=default") || option.contains("profile=builtin"))
        });
        if !seccomp {
            return Err(Error::new(
                ErrorCode::ProviderUnavailable,
                "the container engine does not confine containers by its default seccomp profile",
            )
            .with_hint("start the engine without `seccomp-profile=unconfined`, on a kernel with seccomp"));
        }
        Ok(docker)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_engine_that_is_not_there_is_named_with_what_to_do() {
        let engine = Engine::new(Some("unix:///nowhere/docker.sock".into()), None, Duration::from_secs(1));
        let error = engine.ready().await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::ProviderUnavailable);
        assert!(error.hint().is_some_and(|hint| hint.contains("DOCKER_HOST")));
        assert_eq!(engine.ready().await.unwrap_err().message(), error.message());
    }
}
