//! The way out: checked addresses are dialled, TLS is spoken with the system's roots, and connections are kept for one sandbox.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use dormouse_core::Resolve;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{CertificateError, ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;

use crate::address::{Network, is_public};
use crate::host::Host;
use crate::policy::Protocol;
use crate::reason::{Reason, Refusal};
use crate::resolve;

/// A body on its way, in either direction. Its error says why it ended early.
pub type Body = UnsyncBoxBody<Bytes, Refusal>;

/// Time for one address to take a connection, when there are more.
const ADDRESS: Duration = Duration::from_secs(3);
/// Time to connect, all addresses and TLS included; looking up has its own.
const CONNECT: Duration = Duration::from_secs(10);
/// Headers of an answer.
const MAX_HEADERS: usize = 100;
/// Bytes of an answer's head, and of what is read ahead of a body.
const MAX_HEAD: usize = 64 << 10;
/// Connections that are kept for one sandbox.
const KEPT: usize = 16;
/// How long a connection is kept that nobody uses.
const IDLE: Duration = Duration::from_secs(60);

/// Where a connection leads to. One is used again only for exactly the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) host: Host,
    pub(crate) port: u16,
    pub(crate) protocol: Protocol,
    /// Networks that were named when it was dialled.
    pub(crate) named: Vec<Network>,
    /// Which authorities were trusted: [`Dialer::number`], where TLS is spoken.
    pub(crate) trust: u64,
}

/// In place of the network, for a fuzz target: a server in memory for each place.
pub(crate) type Memory = Arc<dyn Fn(&Place) -> DuplexStream + Send + Sync>;

/// Dials for the whole process.
pub(crate) struct Dialer {
    names: Arc<dyn Resolve>,
    memory: Option<Memory>,
    trust: Vec<CertificateDer<'static>>,
    /// Another for other authorities.
    pub(crate) number: u64,
    /// Read with the first connection that needs them: a grant that is not used costs nothing.
    tls: OnceLock<Result<Arc<ClientConfig>, String>>,
}

/// What bytes go through.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// The address that a connection leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dialled {
    pub(crate) address: IpAddr,
    /// Those of the name that are not public and were not dialled.
    pub(crate) others: Vec<IpAddr>,
}

/// A connection that speaks HTTP. It ends when this is dropped.
pub(crate) struct Wire {
    pub(crate) sender: SendRequest<Body>,
    pub(crate) address: Dialled,
    task: JoinHandle<()>,
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Dialer {
    pub(crate) fn new(
        names: Arc<dyn Resolve>,
        trust: Vec<CertificateDer<'static>>,
        memory: Option<Memory>,
    ) -> Self {
        Self { names, memory, trust, number: 0, tls: OnceLock::new() }
    }

    /// One that trusts these authorities: the same, if they are the same.
    pub(crate) fn renewed(self: &Arc<Self>, trust: &[CertificateDer<'static>]) -> Arc<Self> {
        if self.trust == trust {
            return self.clone();
        }
        let new = Self::new(self.names.clone(), trust.to_vec(), self.memory.clone());
        Arc::new(Self { number: self.number + 1, ..new })
    }

    /// A stream to a checked address.
    ///
    /// # Errors
    /// As [`resolve::checked`]; `refused` and `timed_out`.
    async fn dial(&self, place: &Place) -> Result<(TcpStream, Dialled), Refusal> {
        let Place { host, port, named, .. } = place;
        let addresses = resolve::checked(&*self.names, host, named).await?;
        let dialling = async {
            let mut last =
                Refusal::new(Reason::Refused, format!("nobody takes connections at `{host}`, port {port}"));
            let single = addresses.len() == 1;
            for address in addresses.iter().copied() {
                let connecting = TcpStream::connect(SocketAddr::new(address, *port));
                let within = if single { CONNECT } else { ADDRESS };
                match tokio::time::timeout(within, connecting).await {
                    Ok(Ok(stream)) => {
                        let _ = stream.set_nodelay(true);
                        let is_other = |other: &&IpAddr| **other != address && !is_public(**other);
                        let others = addresses.iter().filter(is_other).copied().collect();
                        return Ok((stream, Dialled { address, others }));
                    }
                    Ok(Err(error)) => tracing::debug!(%host, %address, "cannot be connected to: {error}"),
                    Err(_) => last = slow(host),
                }
            }
            Err(last)
        };
        tokio::time::timeout(CONNECT, dialling).await.unwrap_or_else(|_| Err(slow(host)))
    }

    /// A stream to a checked address, over TLS where that is spoken.
    ///
    /// # Errors
    /// As [`resolve::checked`]; `refused`, `timed_out`, `untrusted` and `reset`.
    pub(crate) async fn reach(&self, place: &Place) -> Result<(Box<dyn Stream>, Dialled), Refusal> {
        if let Some(memory) = &self.memory {
            let own = Dialled { address: Ipv4Addr::LOCALHOST.into(), others: Vec::new() };
            return Ok((Box::new(memory(place)), own));
        }
        let (stream, address) = self.dial(place).await?;
        let stream: Box<dyn Stream> = if place.protocol == Protocol::Https {
            Box::new(self.secure(stream, &place.host).await?)
        } else {
            Box::new(stream)
        };
        Ok((stream, address))
    }

    /// A new connection that speaks HTTP.
    ///
    /// # Errors
    /// As [`Dialer::reach`].
    pub(crate) async fn connect(&self, place: &Place) -> Result<Wire, Refusal> {
        let (stream, address) = self.reach(place).await?;
        let mut builder = http1::Builder::new();
        builder.max_headers(MAX_HEADERS).max_buf_size(MAX_HEAD);
        let (sender, connection) =
            builder.handshake(TokioIo::new(stream)).await.map_err(|_| broken(&place.host))?;
        let task = tokio::spawn(async move {
            if let Err(error) = connection.with_upgrades().await {
                tracing::debug!("a connection ended: {error}");
            }
        });
        Ok(Wire { sender, address, task })
    }

    async fn secure(
        &self,
        stream: TcpStream,
        host: &Host,
    ) -> Result<tokio_rustls::client::TlsStream<TcpStream>, Refusal> {
        let config = self.tls.get_or_init(|| tls(&self.trust)).clone();
        let config = config.map_err(|told| Refusal::new(Reason::Untrusted, told))?;
        let name = ServerName::try_from(host.to_string())
            .map_err(|_| Refusal::new(Reason::Untrusted, format!("no certificate can be for `{host}`")))?;
        let shaking = TlsConnector::from(config).connect(name, stream);
        match tokio::time::timeout(CONNECT, shaking).await {
            Ok(Ok(stream)) => Ok(stream),
            Ok(Err(error)) => Err(untrusted(host, &error)),
            Err(_) => Err(slow(host)),
        }
    }
}

fn slow(host: &Host) -> Refusal {
    Refusal::new(Reason::TimedOut, format!("connecting to `{host}` took too long"))
}

/// What is told of a connection that broke.
pub(crate) fn broken(host: &Host) -> Refusal {
    Refusal::new(Reason::Reset, format!("the connection to `{host}` broke, or its answer was no HTTP"))
}

/// TLS with the system's roots and those of the operator; always verified.
fn tls(trust: &[CertificateDer<'static>]) -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    for error in &found.errors {
        tracing::warn!("some of the system's certificates cannot be read: {error}");
    }
    roots.add_parsable_certificates(found.certs);
    let (_, bad) = roots.add_parsable_certificates(trust.iter().cloned());
    if bad > 0 {
        return Err("a certificate of `trust` is none of an authority".into());
    }
    if roots.is_empty() {
        return Err("the system has no certificates of authorities".into());
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| error.to_string())?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn untrusted(host: &Host, error: &std::io::Error) -> Refusal {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let told = match inner {
        Some(rustls::Error::InvalidCertificate(certificate)) => match certificate {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => "has expired",
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => "is not valid yet",
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "is for another name"
            }
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                "is signed by nobody who is trusted here"
            }
            CertificateError::Revoked => "was revoked",
            _ => "cannot be trusted",
        },
        _ => return Refusal::new(Reason::Reset, format!("`{host}` speaks no TLS that is safe")),
    };
    let told = format!("the certificate of `{host}` {told}; the host checks it, whatever the sandbox sets");
    Refusal::new(Reason::Untrusted, told)
}

/// Connections that one sandbox has used and may use again.
#[derive(Default)]
pub(crate) struct Kept(Mutex<Vec<(Place, Instant, Wire)>>);

impl Kept {
    /// One that leads to a place and can be used.
    pub(crate) fn take(&self, place: &Place) -> Option<Wire> {
        let mut all = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        all.retain(|(_, since, wire)| since.elapsed() < IDLE && !wire.sender.is_closed());
        let at = all.iter().rposition(|(other, _, wire)| other == place && wire.sender.is_ready())?;
        Some(all.remove(at).2)
    }

    /// Whether there is one.
    pub(crate) fn has(&self, place: &Place) -> bool {
        let all = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        all.iter()
            .any(|(other, since, wire)| other == place && since.elapsed() < IDLE && wire.sender.is_ready())
    }

    /// Keeps one that is done with its answer.
    pub(crate) fn put(&self, place: Place, wire: Wire) {
        if wire.sender.is_closed() {
            return;
        }
        let mut all = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        all.retain(|(_, since, wire)| since.elapsed() < IDLE && !wire.sender.is_closed());
        if all.len() >= KEPT {
            all.remove(0);
        }
        all.push((place, Instant::now(), wire));
    }

    /// Ends those that lead elsewhere.
    pub(crate) fn retain(&self, keeps: impl Fn(&Place) -> bool) {
        let mut all = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        all.retain(|(place, ..)| keeps(place));
    }

    /// Where they lead to, as `api.example.com:443`.
    pub(crate) fn places(&self) -> Vec<String> {
        let all = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut all: Vec<String> =
            all.iter().map(|(place, ..)| place.host.authority(place.port, 0)).collect();
        all.sort();
        all.dedup();
        all
    }
}
