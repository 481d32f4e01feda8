//! The containers of the source `docker`, by the provider's engine.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use dormouse::sandbox::{Contents, ProviderName, SandboxSpec, SpecMount};
use dormouse::{GuestPath, Provider as _, Result};
use dormouse_docker::{DockerProvider, Published, PublishedSpec};
use dormouse_sources::{ContainerAsk, Containers, Running};
use tokio::sync::Mutex;

/// Longest time of a program in a container; whoever asks for it waits less.
const PATIENCE: Duration = Duration::from_secs(600);

/// Containers of this provider's engine.
pub(super) struct EngineContainers(pub(super) DockerProvider);

struct Container {
    port: u16,
    /// None: it is removed.
    published: Mutex<Option<Arc<Published>>>,
}

#[async_trait]
impl Containers for EngineContainers {
    fn check(&self, ask: &ContainerAsk) -> Result<()> {
        let image = Some(ask.image.clone());
        let provider = ProviderName::Docker;
        self.0.check(&SandboxSpec { provider, image, ..SandboxSpec::default() })
    }

    async fn start(
        &self,
        ask: ContainerAsk,
        workspace: Option<Arc<dyn Contents>>,
    ) -> Result<Box<dyn Running>> {
        let mounts = ask.mounts.into_iter().map(|mount| {
            let target = GuestPath::parse(mount.target.as_str())?;
            Ok(SpecMount { source: mount.source, target, access: mount.access })
        });
        let spec = PublishedSpec {
            image: Some(ask.image),
            environment: ask.env,
            mounts: mounts.collect::<Result<_>>()?,
            port: ask.port,
            network: ask.network,
            // A server of somebody else's writes where it likes; its files are gone with it.
            writable: true,
            workspace,
            ..PublishedSpec::default()
        };
        let published = self.0.publish(spec).await?;
        let port = published.address().port();
        Ok(Box::new(Container { port, published: Mutex::new(Some(Arc::new(published))) }))
    }
}

#[async_trait]
impl Running for Container {
    fn port(&self) -> u16 {
        self.port
    }

    async fn exec(&self, argv: &[String]) -> Result<(i32, String)> {
        let published = self.published.lock().await.clone();
        let Some(published) = published else { return Ok((137, "the container is gone".into())) };
        let ended = published.exec(argv.to_vec(), PATIENCE).await?;
        let said = format!("{}{}", ended.stdout.text, ended.stderr.text);
        Ok((i32::try_from(ended.status).unwrap_or(i32::MAX), said))
    }

    async fn remove(&self) -> Result<()> {
        match self.published.lock().await.take().map(Arc::try_unwrap) {
            Some(Ok(published)) => published.close().await,
            // A program that still runs in it lets go of it when it ends.
            Some(Err(_)) | None => Ok(()),
        }
    }
}
