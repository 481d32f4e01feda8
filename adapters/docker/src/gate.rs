//! The way of a sandbox's programs to its proxy: a container beside the sandbox's own, in the same network, which has nothing but its
//! loopback. A program of ours takes connections there, and carries them over its standard streams to this process.
//!
//! Owns: that container, its image, and what the sandbox's container is told. Does not own: the program, nor what goes through the
//! proxy.
//!
//! Whoever connects there is in the sandbox, and nobody else is: there is no socket on the host, and nothing that has to be known. The
//! sandbox sees neither the program nor its streams. When this process ends so do the streams, and with them the program.

use std::io;
use std::sync::Arc;

use bollard::container::LogOutput;
use bollard::models::{ContainerCreateBody, HealthConfig, HostConfig};
use bollard::query_parameters::{
    AttachContainerOptionsBuilder, CreateContainerOptionsBuilder, CreateImageOptionsBuilder,
};
use bytes::Bytes;
use dormouse_containers::program::Exec;
use dormouse_containers::relay::{Carrying, PORT, PROGRAM, argv, authorities, url};
use dormouse_containers::{Reached, USER, Way, random};
use dormouse_core::network::Proxy;
use dormouse_core::{Error, ErrorCode, Result};
use futures::StreamExt as _;
use tokio::io::AsyncWriteExt as _;
use tokio::time::timeout;
use tokio_util::io::StreamReader;

use crate::config::{hardened, signed};
use crate::fault::{is_missing, slow, unavailable, wrong};
use crate::shared::{Shared, Unborn};
use crate::{exec, relay};

/// The image of these containers, besides its tag.
const IMAGE: &str = "dormouse-relay";
/// Bytes of memory of one.
const MEMORY: u64 = 32 << 20;
/// Processor time of one, in billionths of a core.
const CPU: i64 = 1_000_000_000;
/// Threads of one: two for each connection.
const THREADS: i64 = 140;
/// Has the certificates written; `$1` is the file.
const WRITE: &str = r#"umask 022; cat > "$1""#;
/// The runtime whose containers share a network as the kernel has it.
const RUNTIME: &str = "runc";

/// A container beside a sandbox's own. Dropped, it is removed, in the background.
struct Beside {
    shared: Arc<Shared>,
    id: String,
    carrying: Carrying,
}

impl Way for Beside {
    fn is_open(&self) -> bool {
        self.carrying.is_open()
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        self.shared.remove(self.id.clone());
    }
}

/// Whether sandboxes can have a network.
///
/// # Errors
/// `capability_unavailable` where the engine's runtime gives each container a network of its own, or there is no program for it.
pub(crate) fn can_be(shared: &Shared) -> Result<()> {
    let refuse = |what: &str, hint: &str| {
        Err(Error::new(ErrorCode::CapabilityUnavailable, what.to_owned()).with_hint(hint))
    };
    if shared.settings.runtime.as_deref().is_some_and(|runtime| runtime != RUNTIME) {
        return refuse(
            "containers of this runtime share no network, so that a sandbox's programs cannot reach the gate",
            "leave `network` out, or have the operator use the engine's own runtime",
        );
    }
    if PROGRAM.is_empty() {
        return refuse("a container cannot reach the gate here", "run this on Linux, or leave `network` out");
    }
    Ok(())
}

/// Lets the programs of a container that runs reach a proxy.
///
/// # Errors
/// As [`can_be`]; `provider_unavailable`.
pub(crate) async fn open(shared: &Arc<Shared>, container: &str, proxy: Arc<dyn Proxy>) -> Result<Reached> {
    can_be(shared)?;
    // Goes to its end also when the caller gives up: what was made is removed then.
    shared.background.finish(create(shared.clone(), container.to_owned(), proxy)).await
}

async fn create(shared: Arc<Shared>, container: String, proxy: Arc<dyn Proxy>) -> Result<Reached> {
    let image = image(&shared).await?;
    let authorities = authorities();
    tell(&shared, &container, &authorities, proxy.authorities()).await?;
    let docker = shared.engine.docker().await?;
    let name = format!("dormouse-{}", random()?);
    let mut guard = Unborn::new(&shared, &name);
    let options = CreateContainerOptionsBuilder::default().name(&name).build();
    let body = body(&shared, image, &container);
    let created = shared.engine.ask("create a relay", docker.create_container(Some(options), body)).await?;
    let options =
        AttachContainerOptionsBuilder::default().stream(true).stdin(true).stdout(true).stderr(true).build();
    let attached = docker.attach_container(&created.id, Some(options));
    let attached = shared.engine.ask("attach to a relay", attached).await?;
    shared.engine.ask("start a relay", docker.start_container(&created.id, None)).await?;
    let output = attached.output.filter_map(|item| {
        let piece = match item {
            Ok(LogOutput::StdOut { message } | LogOutput::Console { message }) => Some(Ok(message)),
            Ok(LogOutput::StdErr { message }) => {
                tracing::debug!("a relay says: {}", String::from_utf8_lossy(&message).escape_debug());
                None
            }
            Ok(LogOutput::StdIn { .. }) => None,
            Err(fault) => Some(Err(io::Error::other(fault))),
        };
        std::future::ready(piece)
    });
    let within = shared.settings.answer_within;
    let output = StreamReader::new(Box::pin(output));
    let begun = Carrying::begin(output, attached.input, proxy, created.id.clone());
    let carrying = match timeout(within, begun).await {
        Ok(Ok(carrying)) => carrying,
        Ok(Err(error)) => {
            let told =
                format!("the way to the gate cannot be made: port {PORT} of the container may be taken");
            return Err(Error::new(ErrorCode::ProviderUnavailable, told)
                .with_hint("reset the sandbox, which ends what runs in it")
                .with_source(error));
        }
        Err(_) => return Err(slow("start a relay", within)),
    };
    guard.born();
    let way = Beside { shared, id: created.id, carrying };
    Ok(Reached { url: url(), authorities, way: Box::new(way) })
}

/// The request that creates a relay.
fn body(shared: &Shared, image: String, container: &str) -> ContainerCreateBody {
    let argv = argv(&format!("/{}", relay::NAME));
    ContainerCreateBody {
        image: Some(image),
        user: Some(USER.into()),
        entrypoint: Some(argv),
        cmd: Some(Vec::new()),
        attach_stdin: Some(true),
        attach_stdout: Some(true),
        open_stdin: Some(true),
        // Whoever attached is gone: so is all that it does.
        stdin_once: Some(true),
        healthcheck: Some(HealthConfig { test: Some(vec!["NONE".into()]), ..HealthConfig::default() }),
        labels: Some(shared.identity.labels()),
        host_config: Some(HostConfig {
            network_mode: Some(format!("container:{container}")),
            memory: Some(signed(MEMORY)),
            memory_swap: Some(signed(MEMORY)),
            nano_cpus: Some(CPU),
            pids_limit: Some(THREADS),
            readonly_rootfs: Some(true),
            init: Some(false),
            ..hardened(&shared.settings)
        }),
        ..ContainerCreateBody::default()
    }
}

/// Writes the certificates of authorities into the sandbox's container, where its programs can only read them.
async fn tell(shared: &Arc<Shared>, container: &str, file: &str, authorities: &str) -> Result<()> {
    let what = "tell a container of its network";
    let argv = ["sh", "-c", WRITE, "dormouse", file].map(str::to_owned);
    let written = Exec { argv: argv.into(), ..Exec::default() };
    let writing = async {
        // Root of the container, without any capability: the folder is its own.
        let starting = exec::program_of("0:0", shared.clone(), container.to_owned(), written, true);
        let mut program = starting.await?;
        let sent = program.input.write_all(authorities.as_bytes()).await;
        let sent = sent.and(program.input.shutdown().await);
        while program.output.next().await.is_some() {}
        let status = program.status.await?;
        match sent {
            Ok(()) if status == 0 => Ok(()),
            _ => Err(unavailable(format!("could not {what} (status {status})"))),
        }
    };
    let within = shared.settings.answer_within;
    timeout(within, writing).await.map_err(|_| slow(what, within))?
}

/// The image, which is made of the program alone where the engine does not have it.
async fn image(shared: &Shared) -> Result<String> {
    let tag = tag(PROGRAM);
    let name = format!("{IMAGE}:{tag}");
    let _alone = shared.relays.lock().await;
    let docker = shared.engine.docker().await?;
    let looked = shared.engine.ask("look at an image", async {
        match docker.inspect_image(&name).await {
            Err(fault) if is_missing(&fault) => Ok(false),
            looked => looked.map(|_| true),
        }
    });
    if looked.await? {
        return Ok(name);
    }
    let options = CreateImageOptionsBuilder::default().from_src("-").repo(IMAGE).tag(&tag).build();
    let archive = Bytes::from(relay::archive()?);
    let (what, within) = ("make the image of relays", shared.settings.answer_within);
    let making = async {
        let mut steps = docker.create_image(Some(options), Some(bollard::body_full(archive)), None);
        while let Some(step) = steps.next().await {
            let step = step.map_err(|fault| wrong(what, fault))?;
            if let Some(fault) = step.error_detail.and_then(|detail| detail.message) {
                let fault: String = fault.chars().filter(|c| !c.is_control()).take(300).collect();
                return Err(unavailable(format!("could not {what}: {fault}")));
            }
        }
        Ok(())
    };
    timeout(within, making).await.map_err(|_| slow(what, within))??;
    Ok(name)
}

/// Another for another program: FNV-1a, 64 bits.
fn tag(program: &[u8]) -> String {
    let hash = program.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}
