//! The cluster behind the port of [`dormouse_containers`].

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use dormouse_containers::exec::{run_bounded, run_own};
use dormouse_containers::program::{Exec, Program, Written};
use dormouse_containers::volume::Volume;
use dormouse_containers::{
    Archive, Background, Container, Engine, Held, Patience, Reached, Room, sweep_argv,
};
use dormouse_core::network::Proxy;
use dormouse_core::sandbox::{ChunkId, SandboxId, SandboxSpec};
use dormouse_core::{Error, ErrorCode, Result};
use futures::FutureExt as _;
use futures::future::BoxFuture;

use crate::pod::RunningPod;
use crate::settings::Mode;
use crate::shared::Shared;
use crate::size::room;
use crate::{claims, pods, reach, transfer};

/// The session of what the pod's own main process started.
const MAIN: u32 = 1;

/// The cluster.
pub(crate) struct Kubernetes {
    pub(crate) shared: Arc<Shared>,
    /// Whose containers they are, and the chunk under which the state is saved that it begins with, if it is. None: nobody's who
    /// could be found again.
    pub(crate) sandbox: Option<(SandboxId, Option<ChunkId>)>,
}

#[async_trait]
impl Engine for Kubernetes {
    fn name(&self) -> &'static str {
        "kubernetes"
    }

    fn patience(&self) -> &Patience {
        &self.shared.patience
    }

    fn room(&self, spec: &SandboxSpec) -> Room {
        room(spec, &self.shared.settings)
    }

    async fn create(&self, spec: &SandboxSpec) -> Result<Arc<dyn Container>> {
        let (shared, spec, sandbox) = (self.shared.clone(), spec.clone(), self.sandbox.clone());
        let of = shared.settings.meant(spec.image.as_deref())?.to_owned();
        // Goes to its end also when the caller gives up; the pod is removed then.
        let creating = async move {
            match shared.settings.mode {
                Mode::Pods => pods::create(&shared, &of, &spec, sandbox.as_ref().map(|(id, _)| id)).await,
                Mode::AgentSandbox => claims::create(&shared, &of, &spec, sandbox.as_ref()).await,
            }
        };
        let made = dormouse_containers::pulse::excused(self.shared.background.finish(creating)).await?;
        Ok(Arc::new(made))
    }
}

#[async_trait]
impl Container for RunningPod {
    fn id(&self) -> &str {
        self.name()
    }

    fn image(&self) -> &str {
        &self.reference
    }

    fn has(&self, program: &str) -> bool {
        self.tools.contains(program)
    }

    fn memory(&self) -> u64 {
        self.memory
    }

    fn patience(&self) -> &Patience {
        &self.shared.patience
    }

    fn volume(&self) -> Option<&Volume> {
        Self::volume(self)
    }

    fn background(&self) -> &Arc<Background> {
        &self.shared.background
    }

    fn main_session(&self) -> Option<u32> {
        Some(MAIN)
    }

    fn is_gone(&self) -> bool {
        self.ended().is_some()
    }

    fn why_gone(&self) -> Option<String> {
        self.ended()
    }

    async fn look(&self) {
        Self::look(self).await;
    }

    async fn answers(&self) -> bool {
        self.shared.cluster.ready().await.is_ok()
    }

    fn exec(&self, exec: Exec, input: bool) -> BoxFuture<'static, Result<Program>> {
        self.starting(exec, input).boxed()
    }

    async fn insist(&self, argv: Vec<String>, input: Vec<u8>, most: u64) -> Result<Written> {
        // A pod's limits cannot be raised for the moment.
        run_bounded(self, argv, Bytes::from(input), most).await
    }

    async fn is_full(&self) -> bool {
        // The cluster does not say what a pod uses at this moment.
        false
    }

    async fn lower(&self) {}

    fn admit(&self) -> Result<()> {
        Ok(())
    }

    async fn sweep(&self, keep: &[u32]) -> Result<()> {
        let written = run_own(self, sweep_argv(keep, self.main_session()), Vec::new()).await?;
        match written.code {
            Some(0 | 137) => Ok(()),
            code => Err(crate::fault::unavailable(format!(
                "what a command left running could not be ended (status {})",
                code.unwrap_or(-1)
            ))),
        }
    }

    async fn hold(self: Arc<Self>) -> Result<Box<dyn Held>> {
        Err(Error::new(ErrorCode::CapabilityUnavailable, "a pod cannot be held still"))
    }

    async fn put(&self, folder: &str, archive: Archive) -> Result<()> {
        transfer::put(self, folder, archive).await
    }

    async fn get(&self, folder: &str) -> Result<Archive> {
        transfer::get(self, folder).await
    }

    async fn reach(&self, proxy: Arc<dyn Proxy>) -> Result<Reached> {
        reach::open(self, proxy).await
    }
}
