//! A container that serves others' tools on a port: started from an image's own entry point, reached on this host's loopback.
//!
//! It is confined as a sandbox is, and has no network: connections are carried into it ([`crate::relay`]). One that is to have a
//! network reaches what the engine's bridge reaches, and its port is published on 127.0.0.1 alone, at a number that the engine
//! chooses.

use std::collections::HashMap;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bollard::exec::{CreateExecOptions, StartExecOptions, StartExecResults};
use bollard::models::{ContainerCreateBody, ContainerInspectResponse, HealthConfig, HostConfig, PortBinding};
use bollard::query_parameters::CreateContainerOptionsBuilder;
use dormouse_containers::random;
use dormouse_core::limits::MIB;
use dormouse_core::sandbox::{Contents, SpecMount};
use dormouse_core::{Captured, Error, ErrorCode, Result};
use futures::StreamExt as _;
use tokio::time::timeout;

use crate::begin;
use crate::config::{bind, hardened, signed};
use crate::fault::{slow, unavailable, wrong};
use crate::mount;
use crate::relay::{self, Relay};
use crate::shared::{Shared, Unborn};
use crate::thing::{self, Thing};

/// Bytes kept of each stream of a program.
const SAID: usize = 1 << 20;

/// What is to be started.
#[derive(Clone)]
pub struct PublishedSpec {
    /// The image, as the operator allows it. None: the operator's default.
    pub image: Option<String>,
    /// The command, in place of the image's own. Empty: the image's own.
    pub command: Vec<String>,
    /// Environment variables.
    pub environment: Vec<(String, String)>,
    /// Folders of the host, below the operator's roots.
    pub mounts: Vec<SpecMount>,
    /// The port that it listens on. Default 8080.
    pub port: u16,
    /// Whether it reaches what the engine's bridge reaches: other containers, this host, and by it the internet. Default no.
    pub network: bool,
    /// Whether its own files can be written; they are gone with the container, and not bounded in size. Default no.
    pub writable: bool,
    /// Bytes of memory. Default 512 MiB.
    pub memory: u64,
    /// Processor time in thousandths of a core. Default 1 000.
    pub cpu_millis: u32,
    /// Processes and threads. Default 256.
    pub processes: u32,
    /// What lies in its `/workspace`, owned by the image's user, before it is started; needs `writable`. Default what the image has
    /// there.
    pub workspace: Option<Arc<dyn Contents>>,
}

impl fmt::Debug for PublishedSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the values of the environment.
        let names: Vec<&String> = self.environment.iter().map(|(name, _)| name).collect();
        let mut shown = f.debug_struct("PublishedSpec");
        shown.field("image", &self.image).field("command", &self.command).field("environment", &names);
        shown.field("mounts", &self.mounts).field("port", &self.port).field("network", &self.network);
        shown.field("writable", &self.writable).field("memory", &self.memory);
        shown.field("cpu_millis", &self.cpu_millis).field("processes", &self.processes);
        shown.field("workspace", &self.workspace.is_some()).finish()
    }
}

impl Default for PublishedSpec {
    fn default() -> Self {
        Self {
            image: None,
            command: Vec::new(),
            environment: Vec::new(),
            mounts: Vec::new(),
            port: 8080,
            network: false,
            writable: false,
            memory: 512 * MIB,
            cpu_millis: 1_000,
            processes: 256,
            workspace: None,
        }
    }
}

/// A container that serves. Dropped, it is removed in the background; [`Published::close`] waits for that.
pub struct Published {
    shared: Arc<Shared>,
    id: String,
    address: SocketAddr,
    /// What leads there, where the container has no network.
    relay: Option<Relay>,
    closed: bool,
}

pub(crate) async fn start(shared: &Arc<Shared>, spec: PublishedSpec) -> Result<Published> {
    shared.background.finish(create(shared.clone(), spec)).await
}

async fn create(shared: Arc<Shared>, spec: PublishedSpec) -> Result<Published> {
    let image = shared.images.find(&shared.engine, &shared.settings, spec.image.as_deref()).await?;
    let binds = mount::binds(&shared, &spec.mounts).await?;
    let mut mounts: Vec<_> = binds.iter().map(bind).collect();
    if !spec.network {
        mounts.push(relay::folder(&shared)?);
    }
    let port = format!("{}/tcp", spec.port);
    let published = PortBinding { host_ip: Some("127.0.0.1".into()), host_port: Some(String::new()) };
    let bindings = HashMap::from([(port.clone(), Some(vec![published]))]);
    let name = format!("dormouse-{}", random()?);
    let mut guard = Unborn::new(&shared, &name);
    let body = ContainerCreateBody {
        image: Some(image.id.clone()),
        cmd: (!spec.command.is_empty()).then(|| spec.command.clone()),
        env: Some(spec.environment.iter().map(|(name, value)| format!("{name}={value}")).collect()),
        exposed_ports: spec.network.then(|| vec![port.clone()]),
        healthcheck: Some(HealthConfig { test: Some(vec!["NONE".into()]), ..HealthConfig::default() }),
        labels: Some(shared.identity.labels()),
        host_config: Some(HostConfig {
            network_mode: Some(if spec.network { "bridge" } else { "none" }.into()),
            port_bindings: spec.network.then_some(bindings),
            mounts: Some(mounts),
            tmpfs: Some(HashMap::from([("/tmp".into(), format!("size={},mode=1777", shared.settings.tmp))])),
            memory: Some(signed(spec.memory)),
            memory_swap: Some(signed(spec.memory)),
            nano_cpus: Some(i64::from(spec.cpu_millis) * 1_000_000),
            pids_limit: Some(i64::from(spec.processes)),
            readonly_rootfs: Some(!spec.writable),
            ..hardened(&shared.settings)
        }),
        network_disabled: (!spec.network).then_some(true),
        ..ContainerCreateBody::default()
    };
    let docker = shared.engine.docker().await?;
    let options = CreateContainerOptionsBuilder::default().name(&name).build();
    let created =
        shared.engine.ask("create a container", docker.create_container(Some(options), body)).await?;
    if let Some(contents) = spec.workspace {
        let looked =
            shared.engine.ask("look at a container", docker.inspect_container(&created.id, None)).await?;
        let user = looked.config.and_then(|config| config.user).unwrap_or_default();
        begin::put(&shared, &created.id, &user, contents).await?;
    }
    shared.engine.ask("start a container", docker.start_container(&created.id, None)).await?;
    let looked =
        shared.engine.ask("look at a container", docker.inspect_container(&created.id, None)).await?;
    // One that has ended has no port any more; what its server would be asked in vain, its status tells.
    let ended = looked.state.as_ref().filter(|state| state.running == Some(false));
    if let Some(status) = ended.and_then(|state| state.exit_code) {
        let message = format!("container not healthy: it ended at once, with exit status {status}");
        return Err(Error::new(ErrorCode::HealthTimeout, message)
            .with_hint("the image's own command must serve, and go on serving"));
    }
    let (relay, address) = if spec.network {
        (None, bound(looked, spec.port)?)
    } else {
        let relay = Relay::open(&shared, &created.id, spec.port).await?;
        let address = relay.address;
        (Some(relay), address)
    };
    guard.born();
    Ok(Published { shared, id: created.id, address, relay, closed: false })
}

/// Where the engine has published a port.
fn bound(looked: ContainerInspectResponse, port: u16) -> Result<SocketAddr> {
    let ports = looked.network_settings.and_then(|network| network.ports);
    let bound =
        ports.and_then(|mut ports| ports.remove(&format!("{port}/tcp")).flatten()).unwrap_or_default();
    let number = bound.into_iter().find_map(|binding| binding.host_port?.parse::<u16>().ok());
    let Some(number) = number.filter(|number| *number != 0) else {
        return Err(unavailable(format!("the container's port {port} was not published"))
            .with_hint("the engine needs a bridge network"));
    };
    Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, number)))
}

/// How a program in it ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Its exit status.
    pub status: i64,
    /// The beginning of its standard output, at most 1 MiB.
    pub stdout: Captured,
    /// The beginning of its standard error, at most 1 MiB.
    pub stderr: Captured,
}

impl Published {
    /// Where it is reached.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What the engine calls it.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Whether it runs still.
    ///
    /// # Errors
    /// `provider_unavailable`.
    pub async fn is_running(&self) -> Result<bool> {
        let docker = self.shared.engine.docker().await?;
        let looked = docker.inspect_container(&self.id, None);
        let looked = self.shared.engine.ask("look at a container", looked).await?;
        Ok(looked.state.and_then(|state| state.running) == Some(true))
    }

    /// Runs a program in it as the image's own user.
    ///
    /// # Errors
    /// `health_timeout` when it does not end `within` that time, and goes on; `provider_unavailable`.
    pub async fn exec(&self, argv: Vec<String>, within: Duration) -> Result<Ended> {
        timeout(within, self.run(argv)).await.map_err(|_| {
            Error::new(
                ErrorCode::HealthTimeout,
                format!("a program did not end within {} ms", within.as_millis()),
            )
        })?
    }

    async fn run(&self, argv: Vec<String>) -> Result<Ended> {
        let engine = &self.shared.engine;
        let docker = engine.docker().await?;
        let what = "start a program in a container";
        let create = CreateExecOptions {
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            cmd: Some(argv),
            ..CreateExecOptions::default()
        };
        let created = engine.ask(what, docker.create_exec(&self.id, create)).await?;
        let started = engine.ask(what, docker.start_exec(&created.id, None::<StartExecOptions>)).await?;
        let StartExecResults::Attached { mut output, input: _input } = started else {
            return Err(unavailable("the container engine did not attach to a program".into()));
        };
        let mut kept = [(Vec::new(), 0_u64), (Vec::new(), 0)];
        while let Some(item) = output.next().await {
            let item = item.map_err(|fault| wrong("follow a program in a container", fault))?;
            let stderr = matches!(item, bollard::container::LogOutput::StdErr { .. });
            let bytes = item.into_bytes();
            let [stdout, errors] = &mut kept;
            let (own, total) = if stderr { errors } else { stdout };
            *total += bytes.len() as u64;
            let room = SAID.saturating_sub(own.len()).min(bytes.len());
            own.extend_from_slice(bytes.get(..room).unwrap_or_default());
        }
        let status = crate::exec::status(engine, &created.id).await?;
        let [stdout, stderr] = kept.map(|(bytes, total)| Captured::from_bytes(&bytes, total));
        Ok(Ended { status, stdout, stderr })
    }

    /// Removes it, and waits until that is done.
    ///
    /// # Errors
    /// `provider_unavailable` when the engine does not say so in time; it is tried again then in the background.
    pub async fn close(mut self) -> Result<()> {
        let within = self.shared.settings.answer_within;
        self.relay = None;
        let what = "remove a container";
        let thing = Thing::container(&self.id);
        let removed = timeout(within, thing::remove(&self.shared.engine, &thing)).await;
        removed.map_err(|_| slow(what, within))??;
        self.closed = true;
        Ok(())
    }
}

impl Drop for Published {
    fn drop(&mut self) {
        if !self.closed {
            self.shared.remove(self.id.clone());
        }
    }
}
