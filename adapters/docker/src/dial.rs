//! The way to an engine through somebody else, who connects in this process's place: one that has confined itself can open
//! no socket by its path.

use std::fmt::Debug;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use bollard::errors::Error as Fault;
use bollard::{API_DEFAULT_VERSION, BollardRequest, Docker};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::Connection;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};

/// Where Docker's own clients look when nothing is said.
const USUAL: &str = "unix:///var/run/docker.sock";
/// The port of HTTP.
const HTTP: u16 = 80;

/// Where an engine is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A socket of this machine.
    Socket(PathBuf),
    /// A host and a port.
    Tcp(String, u16),
}

impl Address {
    /// The address that is told, else that of `DOCKER_HOST`, else the system's own socket. None when it is neither a socket
    /// nor TCP.
    pub fn of(told: Option<&str>) -> Option<Self> {
        let told = told.map(str::to_owned).or_else(|| std::env::var("DOCKER_HOST").ok());
        let text = told.as_deref().unwrap_or(USUAL);
        if let Some(path) = text.strip_prefix("unix://") {
            return Some(Self::Socket(path.into()));
        }
        let rest = text.strip_prefix("tcp://").or_else(|| text.strip_prefix("http://"))?;
        let authority = rest.split('/').next().unwrap_or_default();
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, port.parse().ok()?),
            _ => (authority, HTTP),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        (!host.is_empty()).then(|| Self::Tcp(host.to_owned(), port))
    }
}

/// Connects to an engine's address in this process's place.
#[async_trait]
pub trait Dial: Debug + Send + Sync {
    /// A connection of its own to the engine: a stream socket that is connected.
    ///
    /// # Errors
    /// What the system says when it cannot be connected to.
    async fn dial(&self) -> io::Result<OwnedFd>;
}

/// A client whose connections somebody else makes.
pub(crate) fn client(address: &Address, dial: Arc<dyn Dial>, within: Duration) -> Result<Docker, Fault> {
    match address {
        Address::Socket(_) => over(dial, |fd| UnixStream::from_std(ready(fd.into())?), within),
        Address::Tcp(..) => over(dial, |fd| TcpStream::from_std(ready_tcp(fd.into())?), within),
    }
}

fn ready(stream: std::os::unix::net::UnixStream) -> io::Result<std::os::unix::net::UnixStream> {
    stream.set_nonblocking(true).map(|()| stream)
}

fn ready_tcp(stream: std::net::TcpStream) -> io::Result<std::net::TcpStream> {
    stream.set_nonblocking(true).map(|()| stream)
}

fn over<S>(dial: Arc<dyn Dial>, made: fn(OwnedFd) -> io::Result<S>, within: Duration) -> Result<Docker, Fault>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    TokioIo<S>: Connection,
{
    // As the library's own client of a socket: no connection is kept.
    let client =
        Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(Dialled { dial, made });
    let transport = move |request: BollardRequest| {
        let client = client.clone();
        async move { client.request(request).await.map_err(Fault::from) }
    };
    Docker::connect_with_custom_transport(
        transport,
        Some("http://engine"),
        within.as_secs(),
        API_DEFAULT_VERSION,
    )
}

struct Dialled<S> {
    dial: Arc<dyn Dial>,
    made: fn(OwnedFd) -> io::Result<S>,
}

impl<S> Clone for Dialled<S> {
    fn clone(&self) -> Self {
        Self { dial: self.dial.clone(), made: self.made }
    }
}

/// Whatever address is asked for: it is the engine's.
impl<S: Send + 'static, Target> tower_service::Service<Target> for Dialled<S> {
    type Response = TokioIo<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<TokioIo<S>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Target) -> Self::Future {
        let (dial, made) = (self.dial.clone(), self.made);
        Box::pin(async move { made(dial.dial().await?).map(TokioIo::new) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_dockers_own_clients_do() {
        let tcp = |host: &str, port| Some(Address::Tcp(host.into(), port));
        assert_eq!(Address::of(Some("unix:///run/x.sock")), Some(Address::Socket("/run/x.sock".into())));
        assert_eq!(Address::of(Some("tcp://box.example:2375")), tcp("box.example", 2375));
        assert_eq!(Address::of(Some("http://[::1]:2375/path")), tcp("::1", 2375));
        assert_eq!(Address::of(Some("http://[::1]")), tcp("::1", 80));
        assert_eq!(Address::of(Some("tcp://box")), tcp("box", 80));
        for other in ["ssh://box", "https://box", "tcp://", "tcp://box:none", ""] {
            assert_eq!(Address::of(Some(other)), None, "{other}");
        }
    }
}
