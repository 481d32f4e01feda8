//! What lies outside of a sandbox: servers of the test on this machine, and a gate with rules for them (`outside.toml`).
//!
//! Names that end with `.test` lead to 127.0.0.1; all others are unknown.

use std::convert::Infallible;
use std::fs;
use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Path, RawQuery, Request};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Json, Redirect, Response};
use axum::routing::get;
use axum::serve::Listener;
use dormouse::network::NetworkGrant;
use dormouse::sandbox::Owner;
use dormouse::{Dormouse, EvalRequest, Outcome, Resolve, Snippet};
use dormouse_egress::{Audit, Gate, Options, Outside as Allowed, file};
use futures::{StreamExt as _, stream};
use rcgen::{BasicConstraints, Certificate, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::sandbox;

const RULES: &str = include_str!("outside.toml");

/// `hello`, by gzip.
const ZIPPED: &[u8] = b"\x1f\x8b\x08\0\0\0\0\0\x02\x03\xcbH\xcd\xc9\xc9\x07\0\x86\xa6\x106\x05\0\0\0";

/// Servers, and a Dormouse whose runs reach them.
pub struct Outside {
    /// What runs snippets; its sandboxes are kept in a folder of the test.
    pub dormouse: Dormouse,
    ports: Vec<(&'static str, u16)>,
    names: Arc<Names>,
    accepted: Arc<AtomicUsize>,
    secret: String,
    folder: TempDir,
}

/// Looks names up, and notes them.
#[derive(Debug, Default)]
struct Names(Mutex<Vec<String>>);

#[async_trait]
impl Resolve for Names {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        if let Ok(mut asked) = self.0.lock() {
            asked.push(name.to_owned());
        }
        match name.ends_with(".test") {
            true => Ok(vec![Ipv4Addr::LOCALHOST.into()]),
            false => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

impl Default for Outside {
    fn default() -> Self {
        Self::new()
    }
}

impl Outside {
    /// Starts the servers, and the gate before them.
    ///
    /// # Panics
    /// When one of them cannot be.
    pub fn new() -> Self {
        Self::with(&[], "")
    }

    /// The same, with further servers of a test: their ports by name, and rules for them in the words of `outside.toml`.
    ///
    /// # Panics
    /// As [`Outside::new`].
    pub fn with(more: &[(&'static str, u16)], rules: &str) -> Self {
        sandbox::wait(Self::start(more, rules)).expect("servers on 127.0.0.1")
    }

    /// The same, and a rule for a server of the test's own, by http at a port of 127.0.0.1.
    ///
    /// # Panics
    /// As [`Outside::new`].
    pub fn beside(port: u16) -> Self {
        let rule =
            format!("[[profile.default.allow]]\nhost = \"127.0.0.1\"\nport = {port}\nprotocol = \"http\"\n");
        Self::with(&[], &rule)
    }

    async fn start(more: &[(&'static str, u16)], rules: &str) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let accepted = Arc::<AtomicUsize>::default();
        let authority = Authority::new()?;
        let mut drawn = [0; 24];
        getrandom::fill(&mut drawn)?;
        let secret = format!("key-{}", data_encoding::BASE64URL.encode(&drawn));
        let mut file =
            fs::File::options().write(true).create_new(true).mode(0o600).open(folder.path().join("key"))?;
        file.write_all(secret.as_bytes())?;
        fs::write(folder.path().join("ca.pem"), authority.certificate.pem())?;
        let (plain, bytes, gone) = (listen().await?, listen().await?, listen().await?);
        let (https, own) = (listen().await?, listen().await?);
        let mut ports = vec![
            ("$HTTPS", https.local_addr()?.port()),
            ("$HTTP", plain.local_addr()?.port()),
            ("$SELF", own.local_addr()?.port()),
            ("$BYTES", bytes.local_addr()?.port()),
            ("$GONE", gone.local_addr()?.port()),
        ];
        ports.extend(more);
        drop(gone);
        let counted = |listener, acceptor| Counted { listener, acceptor, accepted: accepted.clone() };
        tokio::spawn(axum::serve(counted(plain, None), servers()).into_future());
        tokio::spawn(
            axum::serve(
                counted(https, Some(authority.server(&["api.test", "keys.test", "localhost"])?)),
                servers(),
            )
            .into_future(),
        );
        tokio::spawn(axum::serve(counted(own, Some(self_signed("self.test")?)), servers()).into_future());
        tokio::spawn(repeat(bytes, accepted.clone()));

        let path = folder.path().join("net.toml");
        fs::write(&path, filled(&ports, &format!("{RULES}{rules}")))?;
        let names = Arc::<Names>::default();
        let audit = Audit::file(&folder.path().join("network.jsonl"))?;
        let options = Options {
            settings: file::read(&path)?,
            names: Some(names.clone()),
            audit,
            key: None,
            cassette: None,
            operator: None,
        };
        let gate = Gate::open(options).await?;
        let dormouse = Dormouse::builder()?.state(folder.path().join("state")).build()?;
        dormouse.runtime().set_network(Arc::new(Allowed::new(gate)), Some(NetworkGrant::default()));
        Ok(Self { dormouse, ports, names, accepted, secret, folder })
    }

    /// A snippet, with ports in the place of `$HTTPS`, `$HTTP`, `$SELF`, `$BYTES` and `$GONE`.
    pub fn snippet(&self, language: &str, code: &str) -> Snippet {
        self.dormouse.snippet(language, self.code(code)).timeout(Duration::from_secs(30))
    }

    /// Source text with ports in the place of their names.
    pub fn code(&self, code: &str) -> String {
        filled(&self.ports, code)
    }

    /// Runs a snippet with the network.
    ///
    /// # Panics
    /// When it was refused.
    pub fn run(&self, snippet: Snippet) -> Outcome {
        let mut request: EvalRequest = snippet.into_request().expect("a request");
        let (grant, language) = (NetworkGrant::default(), request.language.to_string());
        let runtime = self.dormouse.runtime();
        runtime
            .give_network(&Owner::local(), &grant, ("test", &language), &mut request.context)
            .expect("a network");
        sandbox::wait(runtime.eval(request)).expect("a run")
    }

    /// Runs a snippet without a network.
    ///
    /// # Panics
    /// When it was refused.
    pub fn run_alone(&self, language: &str, code: &str) -> Outcome {
        sandbox::wait(self.snippet(language, code).run()).expect("a run")
    }

    /// The value of the secret `KEY`, which goes to `keys.test` alone.
    pub fn secret(&self) -> &str {
        &self.secret
    }

    /// Where state, audit and rules are.
    pub fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// Names that were looked up so far.
    ///
    /// # Panics
    /// When a test has panicked meanwhile.
    pub fn asked(&self) -> Vec<String> {
        self.names.0.lock().expect("names").clone()
    }

    /// Connections that servers have got so far.
    pub fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }
}

/// A text with ports in the place of their names. One name begins another, so the longer one comes first.
fn filled(ports: &[(&str, u16)], text: &str) -> String {
    ports.iter().fold(text.to_owned(), |text, (name, port)| text.replace(name, &port.to_string()))
}

async fn listen() -> io::Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await
}

/// A listener that counts, and speaks TLS if it has a certificate.
struct Counted {
    listener: TcpListener,
    acceptor: Option<TlsAcceptor>,
    accepted: Arc<AtomicUsize>,
}

/// A connection, with TLS or without.
type Stream = tokio_util::either::Either<TcpStream, TlsStream<TcpStream>>;

impl Listener for Counted {
    type Addr = SocketAddr;
    type Io = Stream;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let Ok((stream, address)) = self.listener.accept().await else { continue };
            self.accepted.fetch_add(1, Ordering::SeqCst);
            match &self.acceptor {
                None => return (Stream::Left(stream), address),
                Some(acceptor) => {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        return (Stream::Right(stream), address);
                    }
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

/// What servers answer: `/late?MILLISECONDS`, `/events`, `/big?BYTES`, `/elsewhere`, `/hops/COUNT`, `/status/CODE`, `/cookie`,
/// `/zipped`, and for all else what they were asked.
fn servers() -> Router {
    Router::new()
        .route("/late", get(late))
        .route("/events", get(events))
        .route("/big", get(big))
        .route("/elsewhere", get(|| async { Redirect::temporary("/echo?from=elsewhere") }))
        .route("/hops/{count}", get(hop))
        .route("/status/{code}", get(|Path(code): Path<u16>| async move { (status(code), "the body") }))
        .route("/cookie", get(|| async { ([(header::SET_COOKIE, "a=1; Path=/")], Redirect::to("/echo")) }))
        .route("/zipped", get(|| async { ([(header::CONTENT_ENCODING, "gzip")], ZIPPED) }))
        .fallback(echo)
}

fn number(query: RawQuery) -> u64 {
    query.0.and_then(|text| text.parse().ok()).unwrap_or_default()
}

fn status(code: u16) -> StatusCode {
    StatusCode::from_u16(code).unwrap_or_default()
}

/// Leads to `/echo` by that many steps, or by the last one to where the query says.
async fn hop(Path(count): Path<u32>, query: RawQuery) -> impl IntoResponse {
    let to = query.0.unwrap_or_else(|| "/echo".to_owned());
    let next = if count > 1 { format!("/hops/{}?{to}", count - 1) } else { to };
    (StatusCode::FOUND, [(header::LOCATION, next)], "moved")
}

async fn late(query: RawQuery) -> &'static str {
    tokio::time::sleep(Duration::from_millis(number(query))).await;
    "late"
}

async fn events() -> impl IntoResponse {
    let pieces = stream::iter(0..5).then(|at| async move {
        tokio::time::sleep(Duration::from_millis(5)).await;
        Ok::<_, Infallible>(Bytes::from(format!("data: {at}\n\n")))
    });
    ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(pieces))
}

async fn big(query: RawQuery) -> Vec<u8> {
    vec![b'x'; usize::try_from(number(query)).unwrap_or_default()]
}

async fn echo(request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, 64 << 20).await.unwrap_or_default();
    let headers: serde_json::Map<String, Value> = head
        .headers
        .iter()
        .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into()))
        .collect();
    let told = json!({
        "method": head.method.as_str(),
        "path": head.uri.to_string(),
        "headers": headers,
        "body": String::from_utf8_lossy(&body),
    });
    Json(told).into_response()
}

/// Gives back what it gets; after `end` it ends.
async fn repeat(listener: TcpListener, accepted: Arc<AtomicUsize>) {
    while let Ok((mut stream, _)) = listener.accept().await {
        accepted.fetch_add(1, Ordering::SeqCst);
        tokio::spawn(async move {
            let mut piece = vec![0; 16 << 10];
            while let Ok(read) = stream.read(&mut piece).await {
                let over = read == 0 || piece[..read].ends_with(b"end");
                if over || stream.write_all(&piece[..read]).await.is_err() {
                    break;
                }
            }
        });
    }
}

/// Who signs the certificate of `api.test`.
struct Authority {
    certificate: Certificate,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> anyhow::Result<Self> {
        let mut params = CertificateParams::new(Vec::<String>::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate()?;
        let certificate = params.self_signed(&key)?;
        Ok(Self { certificate, issuer: Issuer::new(params, key) })
    }

    fn server(&self, names: &[&str]) -> anyhow::Result<TlsAcceptor> {
        let key = KeyPair::generate()?;
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let certificate = CertificateParams::new(names)?.signed_by(&key, &self.issuer)?;
        acceptor(certificate.der().clone(), &key)
    }
}

fn self_signed(name: &str) -> anyhow::Result<TlsAcceptor> {
    let key = KeyPair::generate()?;
    let certificate = CertificateParams::new(vec![name.to_owned()])?.self_signed(&key)?;
    acceptor(certificate.der().clone(), &key)
}

fn acceptor(certificate: CertificateDer<'static>, key: &KeyPair) -> anyhow::Result<TlsAcceptor> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let key = PrivateKeyDer::try_from(key.serialize_der()).map_err(anyhow::Error::msg)?;
    let config = builder.with_no_client_auth().with_single_cert(vec![certificate], key)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
