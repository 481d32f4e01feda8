//! One container that runs, and its end.
//!
//! Owns: that a container which was created is removed with its volumes, whoever gives up when. Does not own: what is done in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bollard::query_parameters::CreateContainerOptionsBuilder;
use dormouse_containers::tools::{self, Tools};
use dormouse_containers::{random, sweep_argv};
use dormouse_core::{Error, ErrorCode, Result};

use crate::config::{self, Bind, Size};
use crate::engine::Engine;
use crate::fault::is_missing;
use crate::image::Image;
use crate::shared::Shared;

/// Processes that are let in for the one that ends the others.
const SPARE: i64 = 64;

/// Longest wait until a container that could not be unpaused is tried again.
const PAUSED_AGAIN: Duration = Duration::from_secs(2);
/// How often a container that may be paused yet is looked at once the engine answers.
const LOOKS: u32 = 5;

/// A started container of ours. Dropped, it is removed with its volumes, in the background.
pub(crate) struct Container {
    pub(crate) id: String,
    pub(crate) image: Arc<Image>,
    pub(crate) size: Size,
    pub(crate) tools: Arc<Tools>,
    pub(crate) shared: Arc<Shared>,
    gone: Arc<AtomicBool>,
    /// Whether its memory limit is higher than its size says, because of a program of ours.
    pub(crate) raised: AtomicBool,
}

impl Drop for Container {
    fn drop(&mut self) {
        self.shared.watch.remove(&self.id);
        self.shared.remove(self.id.clone());
    }
}

impl Container {
    /// Creates and starts one. Goes to its end also when the caller gives up; the container is removed then.
    ///
    /// # Errors
    /// `provider_unavailable`; `capability_unavailable` when the image has no shell.
    pub(crate) async fn start(
        shared: &Arc<Shared>,
        image: &Arc<Image>,
        size: Size,
        binds: Vec<Bind>,
    ) -> Result<Self> {
        shared.background.finish(Self::create(shared.clone(), image.clone(), size, binds)).await
    }

    async fn create(shared: Arc<Shared>, image: Arc<Image>, size: Size, binds: Vec<Bind>) -> Result<Self> {
        let docker = shared.engine.docker().await?;
        let name = format!("dormouse-{}", random()?);
        let body = config::body(&shared.settings, &shared.identity.labels(), &image, &size, &binds);
        let options = CreateContainerOptionsBuilder::default().name(&name).build();
        let created =
            shared.engine.ask("create a container", docker.create_container(Some(options), body)).await;
        let id = match created {
            Ok(created) => created.id,
            Err(error) => {
                // It may be created all the same, now or after we stopped waiting.
                shared.remove_late(name);
                return Err(error);
            }
        };
        shared.start_watch();
        let gone = shared.watch.add(&id);
        let mut container = Self {
            id,
            image,
            size,
            tools: Arc::default(),
            shared: shared.clone(),
            gone,
            raised: AtomicBool::new(false),
        };
        shared.engine.ask("start a container", docker.start_container(&container.id, None)).await?;
        container.tools = match shared.tools.of(&container.image.id) {
            Some(tools) => tools,
            None => shared.tools.note(&container.image.id, container.probe().await?),
        };
        Ok(container)
    }

    /// What the image has.
    async fn probe(&self) -> Result<Tools> {
        match self.run(tools::probe(), Vec::new()).await {
            Ok(written) => tools::found(&written).ok_or_else(|| self.no_shell()),
            // A container whose main program cannot be found ends at once.
            Err(_) if self.shared.engine.ready().await.is_ok() => Err(self.no_shell()),
            Err(error) => Err(error),
        }
    }

    fn no_shell(&self) -> Error {
        Error::new(
            ErrorCode::CapabilityUnavailable,
            format!("the image `{}` has no shell: `sh` does not run in it", self.image.reference),
        )
        .with_hint("use an image with `sh`, such as one of Debian, Alpine or busybox")
    }

    /// Whether it has ended by itself.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }

    /// Asks the engine whether it has ended, before its events say so. An engine that does not answer says nothing.
    pub(crate) async fn look(&self) {
        let Ok(docker) = self.shared.engine.docker().await else { return };
        let looked = self.shared.engine.ask("look at a container", async {
            match docker.inspect_container(&self.id, None).await {
                Err(fault) if is_missing(&fault) => Ok(false),
                looked => looked.map(|found| found.state.and_then(|state| state.running) == Some(true)),
            }
        });
        if let Ok(false) = looked.await {
            self.gone.store(true, Ordering::Release);
        }
    }

    /// Gives it another size.
    ///
    /// # Errors
    /// `provider_unavailable`.
    pub(crate) async fn resize(&mut self, size: Size) -> Result<()> {
        if self.size != size {
            self.change(size.update()).await?;
            self.size = size;
        }
        Ok(())
    }

    /// Kills all that the sandbox's user runs, but what is in these sessions.
    ///
    /// Where the limit of processes keeps the killer out, it is raised for the moment.
    ///
    /// # Errors
    /// `provider_unavailable` when it cannot be done: the container is of no use then.
    pub(crate) async fn sweep(&self, keep: &[u32]) -> Result<()> {
        let mut raised = 0;
        let swept = loop {
            match self.run(sweep_argv(keep, None), Vec::new()).await {
                Ok(written) if matches!(written.code, Some(0 | 137)) => break Ok(()),
                _ if raised < 4 => {
                    raised += 1;
                    self.limit_processes(self.size.pids() + SPARE * raised).await?;
                }
                Ok(written) => {
                    let code = written.code.unwrap_or(-1);
                    break Err(crate::fault::unavailable(format!(
                        "what a command left running could not be ended (status {code})"
                    )));
                }
                Err(error) => break Err(error),
            }
        };
        if raised > 0 {
            self.limit_processes(self.size.pids()).await?;
        }
        swept
    }

    /// Holds all its processes still, until the answer is dropped.
    ///
    /// # Errors
    /// `provider_unavailable`.
    pub(crate) async fn pause(self: &Arc<Self>) -> Result<Paused> {
        let docker = self.shared.engine.docker().await?;
        // An engine that stalls can do it long after it was given up.
        let mut paused = Paused { container: Some(self.clone()), is_sure: false };
        self.shared.engine.ask("pause a container", docker.pause_container(&self.id)).await?;
        paused.is_sure = true;
        Ok(paused)
    }

    /// Lets its processes go on, as often as it takes: a container that stays paused answers nobody. One that may be paused yet
    /// is looked at a few times more.
    async fn go_on(&self, is_sure: bool) {
        let engine = &self.shared.engine;
        let mut wait = Duration::from_millis(100);
        let mut looks = if is_sure { 0 } else { LOOKS };
        loop {
            match self.unpause(engine).await {
                Ok(()) if looks == 0 => return,
                Ok(()) => looks -= 1,
                Err(error) => tracing::warn!(container = self.id, %error, "a container stays paused"),
            }
            if self.is_gone() || self.shared.background.is_closed() {
                return;
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(PAUSED_AGAIN);
        }
    }

    /// Unpauses it, unless it is not paused, or no more.
    async fn unpause(&self, engine: &Engine) -> Result<()> {
        let docker = engine.docker().await?;
        let what = "go on with a container";
        match engine.ask(what, docker.unpause_container(&self.id)).await {
            Ok(()) => Ok(()),
            Err(error) => {
                let looked = engine.ask(what, async {
                    match docker.inspect_container(&self.id, None).await {
                        Err(fault) if is_missing(&fault) => Ok(false),
                        looked => {
                            looked.map(|found| found.state.and_then(|state| state.paused) == Some(true))
                        }
                    }
                });
                if looked.await? { Err(error) } else { Ok(()) }
            }
        }
    }

    async fn limit_processes(&self, most: i64) -> Result<()> {
        let body = bollard::models::ContainerUpdateBody {
            pids_limit: Some(most),
            ..bollard::models::ContainerUpdateBody::default()
        };
        self.change(body).await
    }

    pub(crate) async fn change(&self, body: bollard::models::ContainerUpdateBody) -> Result<()> {
        let docker = self.shared.engine.docker().await?;
        let update = docker.update_container(&self.id, body);
        self.shared.engine.ask("change a container's limits", update).await
    }
}

/// A container whose processes are held still.
pub(crate) struct Paused {
    container: Option<Arc<Container>>,
    /// Whether the engine has said that it is.
    is_sure: bool,
}

impl Paused {
    /// Lets them go on, and waits until they do: a container that is paused takes no program.
    pub(crate) async fn end(mut self) {
        let is_sure = self.is_sure;
        if let Some(container) = self.container.take() {
            let going_on =
                container.shared.clone().background.spawn(async move { container.go_on(is_sure).await });
            if let Some(going_on) = going_on {
                let _done = going_on.await;
            }
        }
    }
}

impl Drop for Paused {
    fn drop(&mut self) {
        let is_sure = self.is_sure;
        if let Some(container) = self.container.take() {
            let _going_on =
                container.shared.clone().background.spawn(async move { container.go_on(is_sure).await });
        }
    }
}
