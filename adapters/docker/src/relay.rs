//! The way to a port of a container that has no network: each connection to an address of this host's loopback is carried by a
//! program of ours in the container ([`PROGRAM`]), which the engine starts for it.
//!
//! Owns: the address, how many connections there are at a time, the program. Does not own: the container.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bollard::models::Mount;
use bollard::query_parameters::UploadToContainerOptionsBuilder;
use dormouse_containers::exec::speak;
use dormouse_containers::program::Exec;
use dormouse_containers::relay::PROGRAM;
use dormouse_core::{Error, ErrorCode, Result};
use tokio::io::{AsyncWriteExt as _, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::config::volume;
use crate::exec;
use crate::shared::Shared;

/// Where it lies there, and its name.
const FOLDER: &str = "/.dormouse";
pub(crate) const NAME: &str = "relay";
/// Bytes and names of that folder.
const BYTES: u64 = 4 << 20;
const NAMES: u64 = 4;
/// Most connections at a time; more wait.
const CONNECTIONS: usize = 64;
/// Time after which it is tried again to take a connection.
const AGAIN: Duration = Duration::from_millis(100);

/// An address that leads into a container, for as long as this is held.
pub(crate) struct Relay {
    pub(crate) address: SocketAddr,
    _held: DropGuard,
}

/// What a container is created with that is to be reached so.
///
/// # Errors
/// `capability_unavailable` where there is no program for it.
pub(crate) fn folder(shared: &Shared) -> Result<Mount> {
    if PROGRAM.is_empty() {
        return Err(Error::new(
            ErrorCode::CapabilityUnavailable,
            "a container cannot be reached here without a network",
        )
        .with_hint("run this on Linux, or let the container have a network"));
    }
    Ok(volume(FOLDER, BYTES, NAMES, &shared.identity.labels()))
}

impl Relay {
    /// The way to a port of a container that runs and has the folder of [`folder`].
    ///
    /// # Errors
    /// `provider_unavailable`; `internal` when this host gives no address.
    pub(crate) async fn open(shared: &Arc<Shared>, container: &str, port: u16) -> Result<Self> {
        let failed = |error| Error::internal("no address of the loopback can be had", error);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        put(shared, container).await?;
        let closed = CancellationToken::new();
        let way = Way { shared: shared.clone(), container: container.to_owned(), port };
        tokio::spawn(serve(listener, Arc::new(way), closed.clone()));
        Ok(Self { address, _held: closed.drop_guard() })
    }
}

/// An archive of the program.
pub(crate) fn archive() -> Result<Vec<u8>> {
    let mut header = tar::Header::new_ustar();
    header.set_size(PROGRAM.len() as u64);
    header.set_mode(0o555);
    header.set_cksum();
    let mut archive = tar::Builder::new(Vec::new());
    let written = archive.append_data(&mut header, NAME, PROGRAM).and_then(|()| archive.into_inner());
    written.map_err(|error| Error::internal("an archive cannot be made", error))
}

/// Puts the program into the container.
async fn put(shared: &Shared, container: &str) -> Result<()> {
    let archive = archive()?;
    let docker = shared.engine.docker().await?;
    let options = UploadToContainerOptionsBuilder::default().path(FOLDER).build();
    let sent = docker.upload_to_container(container, Some(options), bollard::body_full(archive.into()));
    shared.engine.ask("put a program into a container", sent).await
}

/// Where connections go.
struct Way {
    shared: Arc<Shared>,
    container: String,
    port: u16,
}

async fn serve(listener: TcpListener, way: Arc<Way>, closed: CancellationToken) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let taking = async {
        while let Ok(place) = places.clone().acquire_owned().await {
            let Ok((stream, _)) = listener.accept().await else {
                tokio::time::sleep(AGAIN).await;
                continue;
            };
            let (way, closed) = (way.clone(), closed.clone());
            tokio::spawn(async move {
                let _place = place;
                if let Some(Err(error)) = closed.run_until_cancelled(way.carry(stream)).await {
                    tracing::debug!(%error, container = way.container, "a connection into a container ended");
                }
            });
        }
    };
    closed.run_until_cancelled(taking).await;
}

impl Way {
    /// Carries one connection to its end.
    async fn carry(&self, mut stream: TcpStream) -> Result<()> {
        let argv = vec![format!("{FOLDER}/{NAME}"), self.port.to_string()];
        let exec = Exec { argv, ..Exec::default() };
        let starting = exec::program(self.shared.clone(), self.container.clone(), exec, true);
        let (mut input, mut output) = speak(self.shared.background.finish(starting).await?, None);
        let (mut from, mut to) = stream.split();
        // Either side may end first; the program ends a moment after its input has.
        let there = async {
            let _ended = copy(&mut from, &mut input).await;
            let _told = input.shutdown().await;
        };
        let back = async {
            let _ended = copy(&mut output, &mut to).await;
            let _told = to.shutdown().await;
        };
        tokio::pin!(there);
        tokio::select! {
            () = back => {}
            () = async { there.await; std::future::pending().await } => {}
        }
        Ok(())
    }
}
