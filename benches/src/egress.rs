//! The gate to the network beside straight hyper: requests to a server on loopback over connections that are kept. The host's half
//! alone; what a guest adds is in no row here.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use dormouse_egress::{Audit, Caller, Door, Gate, Grant, Options, Run, empty, file};
use futures::{SinkExt as _, StreamExt as _};
use http_body_util::{BodyExt, Empty, Full, StreamBody};
use hyper::body::{Body, Bytes};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, TlsConnector};
use tokio_tungstenite::tungstenite::Message;

use crate::bench::Bench;
use crate::table::{Goal, Row};
use crate::turns::{Turn, take_turns};

/// Requests in one turn.
const BURST: usize = 50;
/// Bytes of a small answer.
const SMALL: usize = 1 << 10;
/// Bytes of a large answer.
const LARGE: usize = 100 << 20;
/// Time that the server takes for a slow answer, in milliseconds.
pub(crate) const SLOW_MS: u64 = 100;
/// Bytes of a large answer that the server writes at once.
const PIECE: usize = 64 << 10;

/// The small rows: id, what it is, whether TLS is spoken, whether the guest speaks HTTP itself, and the most microseconds that the gate
/// may add.
const ROWS: [(&str, &str, bool, bool, f64); 4] = [
    ("egress-http-request", "GET of 1 KiB over http, as a request", false, false, 60.0),
    ("egress-http-stream", "GET of 1 KiB over http, over a guest's stream", false, true, 60.0),
    ("egress-https-request", "GET of 1 KiB over https, as a request", true, false, 80.0),
    ("egress-https-stream", "GET of 1 KiB over https, over a guest's stream", true, true, 80.0),
];

pub(crate) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    if !ROWS.iter().any(|(id, ..)| bench.wants(id)) && !bench.wants("egress-http-large") {
        return Ok(Vec::new());
    }
    let world = bench.runtime.block_on(World::new())?;
    let mut rows = Vec::new();
    for (id, what, secure, stream, most) in ROWS {
        if bench.begins(id) {
            let row = small(bench, &world, secure, stream)?;
            rows.push(row.into_row(id, what, "µs").goal(Goal::More(most)));
        }
    }
    if bench.begins("egress-http-large") {
        let row = large(bench, &world)?;
        // 300 MB a second.
        rows.push(
            row.into_row("egress-http-large", "GET of 100 MiB over http, as a request", "ms")
                .goal(Goal::AtMost(350.0)),
        );
    }
    Ok(rows)
}

/// Ours and the peer.
struct Pair([crate::turns::Measured; 2]);

impl Pair {
    fn into_row(self, id: &str, what: &str, unit: &'static str) -> Row {
        let [ours, straight] = self.0;
        Row::new(id, what, unit, ours).peer("straight hyper", straight)
    }
}

fn small(bench: &Bench, world: &World, secure: bool, stream: bool) -> Result<Pair> {
    let address = world.address(secure);
    let mut straight = bench.runtime.block_on(world.straight(secure))?;
    let mut guest = match stream {
        true => Some(bench.runtime.block_on(Guest::open(world.door(), address.port(), secure))?),
        false => None,
    };
    let ours: Turn<'_> = Box::new(|| {
        bench.runtime.block_on(async {
            let mut samples = Vec::with_capacity(BURST);
            // What a run may spend is spent by one.
            let door = world.door();
            for _ in 0..BURST {
                let begin = Instant::now();
                let size = match &mut guest {
                    Some(guest) => guest.get().await?,
                    None => through(&door, &world.url(secure, "small")).await?,
                };
                samples.push(begin.elapsed().as_secs_f64() * 1e6);
                ensure!(size == SMALL, "{size} bytes came back");
            }
            Ok(samples)
        })
    });
    let straight: Turn<'_> = Box::new(|| {
        bench.runtime.block_on(async {
            let mut samples = Vec::with_capacity(BURST);
            for _ in 0..BURST {
                let begin = Instant::now();
                let size = get(&mut straight, address, "/small").await?;
                samples.push(begin.elapsed().as_secs_f64() * 1e6);
                ensure!(size == SMALL, "{size} bytes came back");
            }
            Ok(samples)
        })
    });
    Ok(Pair(take_turns(bench.rounds, [ours, straight])))
}

fn large(bench: &Bench, world: &World) -> Result<Pair> {
    let mut straight = bench.runtime.block_on(world.straight(false))?;
    let ours: Turn<'_> = Box::new(|| {
        let begin = Instant::now();
        let size = bench.runtime.block_on(through(&world.door(), &world.url(false, "large")))?;
        ensure!(size == LARGE, "{size} bytes came back");
        Ok(vec![begin.elapsed().as_secs_f64() * 1e3])
    });
    let straight: Turn<'_> = Box::new(|| {
        let begin = Instant::now();
        let size = bench.runtime.block_on(get(&mut straight, world.address(false), "/large"))?;
        ensure!(size == LARGE, "{size} bytes came back");
        Ok(vec![begin.elapsed().as_secs_f64() * 1e3])
    });
    Ok(Pair(take_turns(bench.few(4), [ours, straight])))
}

/// Servers, and a gate that lets a sandbox ask them.
pub(crate) struct World {
    http: SocketAddr,
    https: SocketAddr,
    /// Says every message of a WebSocket again.
    echo: SocketAddr,
    client: TlsConnector,
    way: Arc<dormouse_egress::Way>,
    pub(crate) gate: Arc<Gate>,
    _folder: tempfile::TempDir,
}

impl World {
    pub(crate) async fn new() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let (server, authority) = certificates(&folder.path().join("ca.pem"))?;
        let (http, https, echo) =
            (listen(None).await?, listen(Some(server)).await?, listen_to_messages().await?);
        let rule = |address: SocketAddr, protocol: &str| {
            let (host, port) = (address.ip(), address.port());
            format!("[[profile.bench.allow]]\nhost = \"{host}\"\nport = {port}\nprotocol = \"{protocol}\"\n")
        };
        let budget = "[budget]\nrequests = 1000000000\nbytes_in = \"1 TiB\"\nbytes_out = \"1 TiB\"\n";
        let rules = [rule(http, "http"), rule(https, "https"), rule(echo, "http") + "websocket = true\n"];
        let text = format!("trust = [\"ca.pem\"]\n{}{budget}", rules.concat());
        let settings = file::parse(&text, &folder.path().join("net.toml"))?;
        let audit = Audit::file(&folder.path().join("audit.jsonl"))?;
        let gate =
            Gate::open(Options { settings, names: None, audit, key: None, cassette: None, operator: None })
                .await?;
        let grant = Grant::new(gate.settings().profile("bench")?.clone());
        let way = gate.way(Caller { owner: "bench".into(), sandbox: None }, grant)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        let config = config.with_root_certificates(authority).with_no_client_auth();
        let client = TlsConnector::from(Arc::new(config));
        Ok(Self { http, https, echo, client, way, gate, _folder: folder })
    }

    fn address(&self, secure: bool) -> SocketAddr {
        if secure { self.https } else { self.http }
    }

    pub(crate) fn url(&self, secure: bool, path: &str) -> String {
        let protocol = if secure { "https" } else { "http" };
        format!("{protocol}://{}/{path}", self.address(secure))
    }

    /// The address of the WebSocket.
    pub(crate) fn echo(&self) -> String {
        format!("ws://{}/", self.echo)
    }

    /// Messages over a WebSocket without the gate, each sent when the one before it has come back.
    pub(crate) async fn straight_messages(&self, count: usize, bytes: usize) -> Result<()> {
        let stream = TcpStream::connect(self.echo).await?;
        stream.set_nodelay(true)?;
        let (mut socket, _) = tokio_tungstenite::client_async(self.echo(), stream).await?;
        for _ in 0..count {
            socket.send(Message::binary(vec![0; bytes])).await?;
            let back = socket.next().await.context("the connection ended")??;
            ensure!(back.len() == bytes, "{} bytes came back", back.len());
        }
        Ok(socket.close(None).await?)
    }

    /// The door of a new run.
    fn door(&self) -> Door {
        self.way.run(Run { id: "bench".into(), ..Run::default() })
    }

    /// Slow requests over connections of their own, without the gate.
    pub(crate) async fn straight_together(&self, count: usize, connections: usize) -> Result<()> {
        let next = Arc::new(AtomicUsize::new(0));
        let one = |_| {
            let next = next.clone();
            async move {
                let mut sender = self.straight(false).await?;
                while next.fetch_add(1, Ordering::Relaxed) < count {
                    get(&mut sender, self.http, "/slow").await?;
                }
                Ok(())
            }
        };
        futures::future::try_join_all((0..connections).map(one)).await.map(drop)
    }

    /// A connection without the gate.
    async fn straight(&self, secure: bool) -> Result<SendRequest<Empty<Bytes>>> {
        let stream = TcpStream::connect(self.address(secure)).await?;
        stream.set_nodelay(true)?;
        if !secure {
            return speak(stream).await;
        }
        let name = ServerName::try_from(self.https.ip().to_string())?;
        speak(self.client.connect(name, stream).await?).await
    }
}

async fn speak(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
) -> Result<SendRequest<Empty<Bytes>>> {
    let (sender, connection) = handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    Ok(sender)
}

/// A server's certificate for 127.0.0.1, and who signed it, which is written to a file as well.
fn certificates(file: &Path) -> Result<(Arc<ServerConfig>, RootCertStore)> {
    let mut params = CertificateParams::new(Vec::<String>::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate()?;
    let authority = params.self_signed(&key)?;
    std::fs::write(file, authority.pem())?;
    let issuer = Issuer::new(params, key);
    let key = KeyPair::generate()?;
    let own = CertificateParams::new(vec!["127.0.0.1".to_owned()])?.signed_by(&key, &issuer)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let key = PrivateKeyDer::try_from(key.serialize_der()).map_err(anyhow::Error::msg)?;
    let config = config.with_no_client_auth().with_single_cert(vec![own.der().clone()], key)?;
    let mut roots = RootCertStore::empty();
    roots.add(authority.der().clone())?;
    Ok((Arc::new(config), roots))
}

/// A server on loopback.
async fn listen(tls: Option<Arc<ServerConfig>>) -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let _ = stream.set_nodelay(true);
            match tls.clone() {
                None => drop(tokio::spawn(serve(stream))),
                Some(config) => drop(tokio::spawn(async move {
                    if let Ok(stream) = TlsAcceptor::from(config).accept(stream).await {
                        serve(stream).await;
                    }
                })),
            }
        }
    });
    Ok(address)
}

/// A server of WebSockets on loopback.
async fn listen_to_messages() -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let _ = stream.set_nodelay(true);
            tokio::spawn(async move {
                let Ok(mut socket) = tokio_tungstenite::accept_async(stream).await else { return };
                while let Some(Ok(message)) = socket.next().await {
                    if !message.is_close() && socket.send(message).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    Ok(address)
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) {
    let service = service_fn(|request: Request<hyper::body::Incoming>| async move {
        let body = match request.uri().path() {
            "/large" => {
                let pieces = std::iter::repeat_n(Bytes::from_static(&[b'x'; PIECE]), LARGE / PIECE);
                let pieces = pieces.map(|piece| Ok::<_, Infallible>(hyper::body::Frame::data(piece)));
                BodyExt::boxed(StreamBody::new(futures::stream::iter(pieces)))
            }
            path => {
                if path == "/slow" {
                    tokio::time::sleep(Duration::from_millis(SLOW_MS)).await;
                }
                Full::new(Bytes::from_static(&[b'x'; SMALL])).boxed()
            }
        };
        Ok::<_, Infallible>(Response::new(body))
    });
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

/// Bytes of an answer without the gate.
async fn get(sender: &mut SendRequest<Empty<Bytes>>, address: SocketAddr, path: &str) -> Result<usize> {
    sender.ready().await?;
    let request = Request::get(path).header("host", address.to_string()).body(Empty::new())?;
    read(sender.send_request(request).await?.into_body()).await
}

/// Bytes of an answer through the gate.
async fn through(door: &Door, url: &str) -> Result<usize> {
    let answer = door.exchange(Request::get(url).body(empty())?).await?;
    ensure!(answer.status() == 200, "{}", answer.status());
    read(answer.into_body()).await
}

async fn read<B: Body<Data = Bytes> + Unpin>(mut body: B) -> Result<usize>
where
    B::Error: std::error::Error + Send + Sync + 'static,
{
    let mut size = 0;
    while let Some(frame) = body.frame().await {
        size += frame?.data_ref().map_or(0, Bytes::len);
    }
    Ok(size)
}

/// A guest that speaks HTTP over a stream, as a client with a socket does.
struct Guest {
    stream: tokio::io::DuplexStream,
    request: Vec<u8>,
    buffer: Vec<u8>,
}

impl Guest {
    async fn open(door: Door, port: u16, secure: bool) -> Result<Self> {
        let (mut stream, host) = tokio::io::duplex(64 << 10);
        tokio::spawn(door.open("127.0.0.1", port)?.serve(host));
        if secure {
            stream.write_all(b"\x16{\"name\":\"127.0.0.1\",\"alpn\":[\"http/1.1\"]}\n").await?;
            while stream.read_u8().await? != b'\n' {}
        }
        let request = format!("GET /small HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n").into_bytes();
        Ok(Self { stream, request, buffer: Vec::with_capacity(SMALL * 2) })
    }

    /// Bytes of an answer's body.
    async fn get(&mut self) -> Result<usize> {
        self.stream.write_all(&self.request).await?;
        self.buffer.clear();
        loop {
            let end = self.buffer.windows(4).position(|window| window == b"\r\n\r\n");
            if let Some(body) = end.map(|end| self.buffer.len() - end - 4).filter(|body| *body >= SMALL) {
                return Ok(body);
            }
            ensure!(
                self.stream.read_buf(&mut self.buffer).await.context("the stream broke")? > 0,
                "the stream ended"
            );
        }
    }
}
