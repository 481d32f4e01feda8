//! The source `docker`: a container of its own for each endpoint, in which a server of MCP listens on port 8080 (S0-21 …
//! S0-30). Whoever has an engine implements [`Containers`].

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use dormouse_core::sandbox::Contents;
use dormouse_core::{Error, ErrorCode, Result};
use serde_json::{Map, Value as Json};

use crate::args::{Args, Argument, ContainerMount, MOUNTS, missing};
use crate::health::{self, Ready};
use crate::mountable::Mountable;
use crate::repository::{FOLDER, Repositories};
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
        what: "a repository that is cloned to `/workspace` before the container starts, by this host, where the operator allows its address (`--allow-git`); with `network` and an address that is not allowed, by `git` of the image, without credentials, after the start",
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
    /// Refuses a container that the operator does not allow, as far as that can be told without an engine. Its mounts are judged
    /// already. Default: none is.
    ///
    /// # Errors
    /// `capability_unavailable`, `args_invalid`.
    fn check(&self, ask: &ContainerAsk) -> Result<()> {
        let _ = ask;
        Ok(())
    }

    /// Starts a container by its image's own command, with these files in `/workspace` if there are some, owned by the image's user. If
    /// that fails, or the future is dropped, nothing of it is left.
    ///
    /// # Errors
    /// `provider_unavailable`, `path_denied` for a mount, `not_found` for an image; `capability_unavailable` for one that files
    /// cannot be put into.
    async fn start(
        &self,
        ask: ContainerAsk,
        workspace: Option<Arc<dyn Contents>>,
    ) -> Result<Box<dyn Running>>;
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
    /// Who clones for containers, if somebody does.
    repositories: Option<Arc<dyn Repositories>>,
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
    /// The source over an engine. A server has 20 s to come up; no folder can be mounted, nothing is cloned, and no container has a
    /// network.
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
        Self {
            containers,
            mountable: Mountable::default(),
            repositories: None,
            network: false,
            budget: health::BUDGET,
        }
    }

    /// The same with folders of the host that `mounts` may name.
    #[must_use]
    pub fn with_mountable(mut self, mountable: Mountable) -> Self {
        self.mountable = mountable;
        self
    }

    /// The same with somebody who clones the repositories of entries before their containers are started.
    #[must_use]
    pub fn with_repositories(mut self, repositories: Arc<dyn Repositories>) -> Self {
        self.repositories = Some(repositories);
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
    /// Whether the repository's address is not known yet.
    is_open: bool,
}

fn decode(args: &Map<String, Json>, templates: bool) -> Result<Decoded> {
    let args = Args::new("docker", &ARGUMENTS, args, templates)?;
    let image =
        args.word("image")?.ok_or_else(|| missing("image").with_hint("name the container's image"))?;
    let network = args.flag("network")?;
    let image = image.to_owned();
    let ask = ContainerAsk { image, env: args.env()?, mounts: args.mounts()?, port: PORT, network };
    let (repo, branch) = (args.word("repo")?.map(str::to_owned), args.word("branch")?.map(str::to_owned));
    let is_open = repo.as_deref().is_some_and(|repo| args.is_open(repo));
    Ok(Decoded { ask, repo, branch, is_open })
}

/// Who clones the repository of an entry.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cloner {
    /// This host, before the container is started.
    Host,
    /// The container, by its network.
    Container,
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
        let containers = self.containers()?;
        // An image that a template says is judged when it is filled in.
        if !decoded.ask.image.contains("{{") {
            containers.check(&decoded.ask)?;
        }
        self.allow(&decoded.ask)?;
        self.cloner(&decoded)?;
        self.mountable.all(decoded.ask.mounts).map(drop)
    }

    async fn open(&self, args: Map<String, Json>) -> Result<Opened> {
        let decoded = decode(&args, false)?;
        self.allow(&decoded.ask)?;
        let cloner = self.cloner(&decoded)?;
        let Decoded { mut ask, repo, branch, .. } = decoded;
        ask.mounts = self.mountable.all(ask.mounts)?;
        let containers = self.containers()?;
        let workspace = match (&self.repositories, &repo, cloner) {
            (Some(repositories), Some(repo), Some(Cloner::Host)) => {
                Some(repositories.cloned(repo, branch.as_deref()).await?)
            }
            _ => None,
        };
        let started = containers.start(ask, workspace.clone()).await.map(|running| {
            let running: Arc<dyn Running> = Arc::from(running);
            (running.clone(), Held(Mutex::new(Some(running))))
        });
        // The container has its own by now.
        if let Some(workspace) = workspace
            && let Err(left) = workspace.end().await
        {
            tracing::warn!(error = %left, "a sandbox of a source is left");
        }
        let (running, held) = started?;
        let repo = repo.filter(|_| cloner == Some(Cloner::Container));
        match self.begin(&running, repo, branch).await {
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

    /// Who clones, where there is something to clone.
    ///
    /// # Errors
    /// `capability_unavailable` for a repository that nobody may clone; `args_invalid` for a mount where it goes.
    fn cloner(&self, decoded: &Decoded) -> Result<Option<Cloner>> {
        let Decoded { ask, repo: Some(repo), is_open, .. } = decoded else { return Ok(None) };
        let may = match &self.repositories {
            Some(_) if *is_open => Ok(()),
            Some(repositories) => repositories.check(repo),
            None => Err(Error::new(ErrorCode::CapabilityUnavailable, "this host clones no repositories")),
        };
        let below = |mount: &&ContainerMount| {
            mount
                .target
                .as_str()
                .strip_prefix(FOLDER)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        match (may, ask.mounts.iter().find(below)) {
            (Ok(()), None) => Ok(Some(Cloner::Host)),
            (Ok(()), Some(mount)) => Err(Error::args_invalid(format!(
                "the argument `mounts` has `{}`, where the repository goes",
                mount.target
            ))
            .with_hint("mount it elsewhere, such as below /mnt")),
            (Err(_), _) if ask.network => Ok(Some(Cloner::Container)),
            (Err(error), _) => Err(error.with_hint(
                "allow the address with --allow-git URL, or --allow-git URL=VAR for its credential; or let the container clone it \
                 itself with `network: true`",
            )),
        }
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

/// Clones into `/workspace` by the container's own network and git, without credentials (S0-29).
async fn clone(running: &dyn Running, repo: String, branch: Option<String>) -> Result<()> {
    let mut argv: Vec<String> = ["git", "clone"].map(str::to_owned).into();
    argv.extend(branch.into_iter().flat_map(|branch| ["--branch".to_owned(), branch]));
    argv.extend(["--".to_owned(), repo, "/workspace".to_owned()]);
    let cloned = tokio::time::timeout(CLONE, running.exec(&argv)).await;
    let failed = |told: String| {
        Error::new(ErrorCode::ProviderUnavailable, format!("the repository cannot be cloned: {told}")).with_hint(
            "look at `repo` and `branch`; the image needs git, and for a private repository its credentials; with --allow-git this host clones",
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
