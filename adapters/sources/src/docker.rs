//! The source `docker`: a container of its own for each endpoint, in which a server of MCP listens on port 8080 (S0-21 …
//! S0-30). Whoever has an engine implements [`Containers`].

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use dormouse_core::{Error, ErrorCode, Result};
use serde_json::{Map, Value as Json};

use crate::args::{Args, Argument, ContainerMount, MOUNTS, missing};
use crate::health::{self, Ready};
use crate::mountable::Mountable;
use crate::{Call, Endpoint, Listed, Opened, Source, ToolAnswer, client};

/// The port that the server inside listens on.
pub const PORT: u16 = 8080;
/// Time that a clone may take.
const CLONE: Duration = Duration::from_secs(300);
/// Characters shown of what git said.
const SHOWN: usize = 1_000;

/// Its arguments.
pub const ARGUMENTS: [Argument; 6] = [
    Argument {
        name: "image",
        what: "the container's image, which the operator allows (`--docker-image`); by its own command it serves MCP on port 8080, at `/sse` or `/mcp`",
        default: "required",
    },
    Argument {
        name: "repo",
        what: "a repository that `git clone` of the image copies to `/workspace`, without credentials; needs `network`",
        default: "none",
    },
    Argument { name: "branch", what: "the branch of it", default: "the repository's own" },
    Argument {
        name: "env",
        what: "environment variables, texts by name, at most 256",
        default: "the image's own",
    },
    MOUNTS,
    Argument {
        name: "network",
        what: "`true`: the container reaches what the engine's bridge reaches, where the operator allows it (`--docker-network`)",
        default: "`false`: nothing outside it",
    },
];

/// What a container is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerAsk {
    /// The image; whether it may be used is the operator's to say.
    pub image: String,
    /// Environment variables, besides the image's own.
    pub env: Vec<(String, String)>,
    /// Folders of the host that the operator's rule grants, links resolved.
    pub mounts: Vec<ContainerMount>,
    /// The port inside ([`PORT`]), to be reached at a free port of this machine's loopback address.
    pub port: u16,
    /// Whether it reaches anything outside. Else what is in it does not.
    pub network: bool,
}

/// Starts containers.
#[async_trait]
pub trait Containers: Send + Sync {
    /// Starts a container by its image's own command. If that fails, or the future is dropped, nothing of it is left.
    ///
    /// # Errors
    /// `provider_unavailable`, `path_denied` for a mount, `not_found` for an image.
    async fn start(&self, ask: ContainerAsk) -> Result<Box<dyn Running>>;
}

/// A container that runs. Whoever holds it removes it.
#[async_trait]
pub trait Running: Send + Sync {
    /// The port of this machine at which the one inside is reached.
    fn port(&self) -> u16;

    /// Runs a program in it, without a shell: its exit code, and the end of what it wrote to both streams, bounded.
    ///
    /// # Errors
    /// `provider_unavailable` when it cannot be run.
    async fn exec(&self, argv: &[String]) -> Result<(i32, String)>;

    /// Stops and removes it with everything that was made for it. Twice is as once.
    ///
    /// # Errors
    /// `provider_unavailable` when something of it is left.
    async fn remove(&self) -> Result<()>;
}

/// The source.
pub struct DockerSource {
    /// None: why there are none.
    containers: std::result::Result<Arc<dyn Containers>, Lack>,
    mountable: Mountable,
    /// Whether containers may have a network.
    network: bool,
    budget: Duration,
}

/// What a source lacks, and what to do about it.
#[derive(Clone, Debug)]
struct Lack {
    message: String,
    hint: String,
}

impl DockerSource {
    /// The source over an engine. A server has 20 s to come up; no folder can be mounted, and no container has a network.
    pub fn new(containers: Arc<dyn Containers>) -> Self {
        Self::over(Ok(containers))
    }

    /// A source without an engine, so that entries which name it are told what it lacks: their arguments are checked, and
    /// then all of them are refused with `capability_unavailable`.
    pub fn lacking(message: impl Into<String>, hint: impl Into<String>) -> Self {
        let lack = Lack { message: message.into(), hint: hint.into() };
        Self::over(Err(lack))
    }

    fn over(containers: std::result::Result<Arc<dyn Containers>, Lack>) -> Self {
        Self { containers, mountable: Mountable::default(), network: false, budget: health::BUDGET }
    }

    /// The same with folders of the host that `mounts` may name.
    #[must_use]
    pub fn with_mountable(mut self, mountable: Mountable) -> Self {
        self.mountable = mountable;
        self
    }

    /// The same where entries can ask for a network, or cannot.
    #[must_use]
    pub fn with_network(mut self, allowed: bool) -> Self {
        self.network = allowed;
        self
    }

    /// The same with another time for servers to come up, at least 1 s.
    #[must_use]
    pub fn with_budget(mut self, budget: Duration) -> Self {
        self.budget = budget.max(Duration::from_secs(1));
        self
    }
}

/// Arguments that were checked.
struct Decoded {
    ask: ContainerAsk,
    repo: Option<String>,
    branch: Option<String>,
}

fn decode(args: &Map<String, Json>, templates: bool) -> Result<Decoded> {
    let args = Args::new("docker", &ARGUMENTS, args, templates)?;
    let image =
        args.word("image")?.ok_or_else(|| missing("image").with_hint("name the container's image"))?;
    let network = args.flag("network")?;
    let image = image.to_owned();
    let ask = ContainerAsk { image, env: args.env()?, mounts: args.mounts()?, port: PORT, network };
    let (repo, branch) = (args.word("repo")?.map(str::to_owned), args.word("branch")?.map(str::to_owned));
    if repo.is_some() && !network {
        return Err(Error::args_invalid(
            "the argument `repo` needs `network: true`: the container clones it itself",
        )
        .with_hint("or use the source `wasm`, where this host clones"));
    }
    Ok(Decoded { ask, repo, branch })
}

/// A container that is removed, by the end of its endpoint or, if nobody asks for it, by being dropped.
struct Held(Mutex<Option<Arc<dyn Running>>>);

impl Held {
    fn take(&self) -> Option<Arc<dyn Running>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    async fn remove(&self) -> Result<()> {
        let Some(running) = self.take() else { return Ok(()) };
        // Giving up the wait does not give up the work.
        let removing = tokio::spawn(async move { running.remove().await });
        removing.await.unwrap_or_else(|error| Err(Error::internal("removing a container broke down", error)))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let Some(running) = self.take() else { return };
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => {
                runtime.spawn(async move {
                    if let Err(error) = running.remove().await {
                        tracing::warn!(%error, "a container of a source is left");
                    }
                });
            }
            Err(_) => tracing::warn!("a container of a source is left: dropped outside a runtime"),
        }
    }
}

#[async_trait]
impl Source for DockerSource {
    fn check(&self, args: &Map<String, Json>) -> Result<()> {
        let decoded = decode(args, true)?;
        self.containers()?;
        self.allow(&decoded.ask)?;
        self.mountable.all(decoded.ask.mounts).map(drop)
    }

    async fn open(&self, args: Map<String, Json>) -> Result<Opened> {
        let mut decoded = decode(&args, false)?;
        self.allow(&decoded.ask)?;
        decoded.ask.mounts = self.mountable.all(decoded.ask.mounts)?;
        let running: Arc<dyn Running> = Arc::from(self.containers()?.start(decoded.ask).await?);
        let held = Held(Mutex::new(Some(running.clone())));
        match self.begin(&running, decoded.repo, decoded.branch).await {
            Ok((url, server)) => Ok(Opened::new(url, Arc::new(Contained { server, held }))),
            Err(error) => {
                if let Err(left) = held.remove().await {
                    tracing::warn!(error = %left, "a container of a source is left");
                }
                Err(error)
            }
        }
    }

    fn takes_mounts(&self) -> bool {
        true
    }
}

impl DockerSource {
    fn containers(&self) -> Result<&Arc<dyn Containers>> {
        self.containers.as_ref().map_err(|Lack { message, hint }| {
            Error::new(ErrorCode::CapabilityUnavailable, message.clone()).with_hint(hint.clone())
        })
    }

    /// Refuses what the operator does not allow.
    fn allow(&self, ask: &ContainerAsk) -> Result<()> {
        if ask.network && !self.network {
            return Err(Error::new(ErrorCode::CapabilityUnavailable, "containers may have no network here")
                .with_hint("leave `network` out, or allow it with --docker-network"));
        }
        Ok(())
    }

    async fn begin(
        &self,
        running: &Arc<dyn Running>,
        repo: Option<String>,
        branch: Option<String>,
    ) -> Result<(String, Arc<dyn Endpoint>)> {
        if let Some(repo) = repo {
            clone(running.as_ref(), repo, branch).await?;
        }
        let url = format!("http://localhost:{}", running.port());
        let ready = health::ready(&url, self.budget).await?;
        let server = client::open_container(&url, ready == Ready::Sse).await?;
        Ok((url, server))
    }
}

/// Clones into `/workspace`, without credentials (S0-29).
async fn clone(running: &dyn Running, repo: String, branch: Option<String>) -> Result<()> {
    let mut argv: Vec<String> = ["git", "clone"].map(str::to_owned).into();
    argv.extend(branch.into_iter().flat_map(|branch| ["--branch".to_owned(), branch]));
    argv.extend(["--".to_owned(), repo, "/workspace".to_owned()]);
    let cloned = tokio::time::timeout(CLONE, running.exec(&argv)).await;
    let failed = |told: String| {
        Error::new(ErrorCode::ProviderUnavailable, format!("the repository cannot be cloned: {told}")).with_hint(
            "look at `repo` and `branch`; the image needs git, and for a private repository its credentials",
        )
    };
    match cloned {
        Ok(Ok((0, _))) => Ok(()),
        Ok(Ok((code, said))) => {
            let count = said.chars().count();
            let end: String = said.chars().skip(count.saturating_sub(SHOWN)).collect();
            let end: String = end.chars().filter(|c| !c.is_control() || *c == '\n').collect();
            Err(failed(format!("git ended with {code}: {}", end.trim())))
        }
        Ok(Err(error)) => Err(error),
        Err(_) => Err(failed(format!("git took more than {} s", CLONE.as_secs()))),
    }
}

/// A server and its container.
struct Contained {
    server: Arc<dyn Endpoint>,
    held: Held,
}

#[async_trait]
impl Endpoint for Contained {
    async fn list(&self) -> Result<Vec<Listed>> {
        self.server.list().await
    }

    async fn call(&self, call: Call) -> Result<ToolAnswer> {
        self.server.call(call).await
    }

    async fn close(&self) -> Result<()> {
        if let Err(error) = self.server.close().await {
            tracing::debug!(%error, "the server in a container was not closed");
        }
        self.held.remove().await
    }
}

#[cfg(test)]
#[path = "docker_tests.rs"]
mod tests;
