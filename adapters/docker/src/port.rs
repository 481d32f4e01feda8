//! This engine behind the port of [`dormouse_containers`].

use std::sync::Arc;

use async_trait::async_trait;
use dormouse_containers::program::{Exec, Program, Written};
use dormouse_containers::{Archive, Background, Container as Port, Engine, Held, Patience, Reached, Room};
use dormouse_core::Result;
use dormouse_core::network::Proxy;
use dormouse_core::sandbox::SandboxSpec;
use futures::future::BoxFuture;

use crate::config::Size;
use crate::container::{Container, Paused};
use crate::pool::Pool;
use crate::shared::Shared;
use crate::{exec, gate, mount, transfer};

/// The engine, with the containers that wait.
pub(crate) struct Docker {
    pub(crate) shared: Arc<Shared>,
    pub(crate) pool: Arc<Pool>,
}

#[async_trait]
impl Engine for Docker {
    fn name(&self) -> &'static str {
        "docker"
    }

    fn patience(&self) -> &Patience {
        &self.shared.patience
    }

    fn room(&self, spec: &SandboxSpec) -> Room {
        let settings = &self.shared.settings;
        Room { bytes: spec.disk.saturating_add(settings.tmp), names: Size::of(spec).names(settings) }
    }

    async fn create(&self, spec: &SandboxSpec) -> Result<Arc<dyn Port>> {
        let shared = &self.shared;
        let image = shared.images.find(&shared.engine, &shared.settings, spec.image.as_deref()).await?;
        let binds = mount::binds(shared, &spec.mounts).await?;
        Ok(Arc::new(self.pool.claim(&image, Size::of(spec), binds, spec.warm_pool).await?))
    }
}

#[async_trait]
impl Port for Container {
    fn id(&self) -> &str {
        &self.id
    }

    fn image(&self) -> &str {
        &self.image.reference
    }

    fn has(&self, program: &str) -> bool {
        self.tools.contains(program)
    }

    fn memory(&self) -> u64 {
        self.size.memory
    }

    fn patience(&self) -> &Patience {
        &self.shared.patience
    }

    fn background(&self) -> &Arc<Background> {
        &self.shared.background
    }

    fn is_gone(&self) -> bool {
        Self::is_gone(self)
    }

    async fn look(&self) {
        Self::look(self).await;
    }

    async fn answers(&self) -> bool {
        self.shared.engine.ready().await.is_ok()
    }

    fn exec(&self, exec: Exec, input: bool) -> BoxFuture<'static, Result<Program>> {
        Box::pin(exec::program(self.shared.clone(), self.id.clone(), exec, input))
    }

    async fn insist(&self, argv: Vec<String>, input: Vec<u8>, most: u64) -> Result<Written> {
        Self::insist(self, argv, input, most).await
    }

    async fn is_full(&self) -> bool {
        Self::is_full(self).await
    }

    async fn lower(&self) {
        Self::lower(self).await;
    }

    fn admit(&self) -> Result<()> {
        Self::admit(self)
    }

    async fn sweep(&self, keep: &[u32]) -> Result<()> {
        Self::sweep(self, keep).await
    }

    async fn hold(self: Arc<Self>) -> Result<Box<dyn Held>> {
        Ok(Box::new(self.pause().await?))
    }

    async fn put(&self, folder: &str, archive: Archive) -> Result<()> {
        transfer::put(&self.shared, &self.id, folder, archive).await
    }

    async fn get(&self, folder: &str) -> Result<Archive> {
        transfer::get(&self.shared, &self.id, folder).await
    }

    async fn reach(&self, proxy: Arc<dyn Proxy>) -> Result<Reached> {
        gate::open(&self.shared, &self.id, proxy).await
    }
}

#[async_trait]
impl Held for Paused {
    async fn end(self: Box<Self>) {
        Self::end(*self).await;
    }
}
