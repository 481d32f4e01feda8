//! Servers, a resolver and a gate of the test.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use dormouse_core::Resolve;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::{
    Audit, Body, Caller, Cassette, Door, Gate, Grant, Options, Reason, Refusal, Run, Settings, Way, empty,
    file, full,
};

/// Looks names up: those that are told, and 127.0.0.1 for all others.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub(crate) told: Mutex<BTreeMap<String, Vec<&'static str>>>,
    pub(crate) asked: AtomicUsize,
}

#[async_trait]
impl Resolve for Names {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let told = self.told.lock().unwrap().get(name).cloned().unwrap_or_else(|| vec!["127.0.0.1"]);
        if told.is_empty() {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(told.iter().map(|text| text.parse().unwrap()).collect())
    }
}

/// A server that counts its connections.
pub(crate) struct Server {
    pub(crate) port: u16,
    accepted: Arc<AtomicUsize>,
    /// What it got: heads of requests and bodies, as text.
    pub(crate) got: Arc<Mutex<Vec<String>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What a server makes of a request: its head and its body as text.
type Handler = Arc<dyn Fn(&Request<()>, &str) -> Response<Body> + Send + Sync>;

impl Server {
    pub(crate) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }

    /// What it got last.
    pub(crate) fn last(&self) -> String {
        self.got.lock().unwrap().last().cloned().unwrap_or_default()
    }

    /// HTTP, or HTTPS with a certificate.
    pub(crate) async fn http(
        tls: Option<Arc<ServerConfig>>,
        handler: impl Fn(&Request<()>, &str) -> Response<Body> + Send + Sync + 'static,
    ) -> Self {
        let handler: Handler = Arc::new(handler);
        Self::start(move |stream, got| {
            let (tls, handler) = (tls.clone(), handler.clone());
            async move {
                match tls {
                    None => speak(stream, &handler, &got).await,
                    Some(config) => {
                        if let Ok(stream) = TlsAcceptor::from(config).accept(stream).await {
                            speak(stream, &handler, &got).await;
                        }
                    }
                }
            }
        })
        .await
    }

    /// One that reads until the end of a head, and then writes these bytes, piece by piece, for ever the last one.
    pub(crate) async fn bytes(pieces: Vec<Vec<u8>>, endless: bool) -> Self {
        Self::start(move |mut stream, got| {
            let pieces = pieces.clone();
            async move {
                let mut buffer = vec![0; 64 << 10];
                let mut text = Vec::new();
                while !text.windows(4).any(|end| end == b"\r\n\r\n") {
                    match stream.read(&mut buffer).await {
                        Ok(read) if read > 0 => text.extend_from_slice(&buffer[..read]),
                        _ => return,
                    }
                }
                let at = {
                    let mut got = got.lock().unwrap();
                    got.push(String::from_utf8_lossy(&text).into_owned());
                    got.len() - 1
                };
                for piece in &pieces {
                    if stream.write_all(piece).await.is_err() {
                        return;
                    }
                    tokio::task::yield_now().await;
                }
                while endless && stream.write_all(pieces.last().unwrap()).await.is_ok() {}
                // What comes later is seen too.
                while let Ok(read) = stream.read(&mut buffer).await {
                    if read == 0 {
                        return;
                    }
                    got.lock().unwrap()[at].push_str(&String::from_utf8_lossy(&buffer[..read]));
                }
            }
        })
        .await
    }

    pub(crate) async fn start<F>(
        serve: impl Fn(tokio::net::TcpStream, Arc<Mutex<Vec<String>>>) -> F + Send + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (accepted, got) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
        let (count, all) = (accepted.clone(), got.clone());
        let task = tokio::spawn(async move {
            let mut serving = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                serving.spawn(serve(stream, all.clone()));
            }
        });
        Self { port, accepted, got, task }
    }
}

async fn speak(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    handler: &Handler,
    got: &Arc<Mutex<Vec<String>>>,
) {
    let service = service_fn(|request: Request<Incoming>| {
        let (handler, got) = (handler.clone(), got.clone());
        async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
            let body = String::from_utf8_lossy(&body).into_owned();
            let mut text = format!("{} {}\n", head.method, head.uri);
            for (name, value) in &head.headers {
                text.push_str(&format!("{name}: {}\n", String::from_utf8_lossy(value.as_bytes())));
            }
            got.lock().unwrap().push(format!("{text}\n{body}"));
            Ok::<_, Refusal>(handler(&Request::from_parts(head, ()), &body))
        }
    });
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

/// An authority of the test.
pub(crate) struct Authority {
    certificate: rcgen::Certificate,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Self { certificate, issuer: Issuer::new(params, key) }
    }

    /// A server's certificate for a name.
    pub(crate) fn server(&self, name: &str) -> Arc<ServerConfig> {
        self.server_with(name, |_| {})
    }

    pub(crate) fn server_with(
        &self,
        name: &str,
        change: impl FnOnce(&mut CertificateParams),
    ) -> Arc<ServerConfig> {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        config(certificate.der().clone(), &key)
    }

    pub(crate) fn pem(&self) -> String {
        self.certificate.pem()
    }
}

/// A certificate that nobody signed but itself.
pub(crate) fn self_signed(name: &str) -> Arc<ServerConfig> {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    config(params.self_signed(&key).unwrap().der().clone(), &key)
}

fn config(certificate: CertificateDer<'static>, key: &KeyPair) -> Arc<ServerConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    Arc::new(builder.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap())
}

/// A gate of the test, and what it wrote down.
pub(crate) struct Setup {
    pub(crate) gate: Arc<Gate>,
    pub(crate) names: Arc<Names>,
    folder: TempDir,
}

impl Setup {
    /// Of a file of rules. Files `ca.pem`, and `key` with this value, lie beside it.
    pub(crate) async fn new(authority: Option<&Authority>, value: &str, text: &str) -> Self {
        Self::with(authority, value, text, None).await
    }

    pub(crate) async fn with(
        authority: Option<&Authority>,
        value: &str,
        text: &str,
        audit: Option<&Path>,
    ) -> Self {
        Self::made(authority, value, text, |options| {
            if let Some(audit) = audit {
                options.audit = Audit::file(audit).unwrap();
            }
        })
        .await
    }

    /// With a recording, by an installation with this key.
    pub(crate) async fn taped(
        authority: Option<&Authority>,
        value: &str,
        text: &str,
        (cassette, key): (Cassette, u8),
    ) -> Self {
        Self::made(authority, value, text, |options| {
            (options.cassette, options.key) = (Some(cassette), Some([key; 32]));
        })
        .await
    }

    async fn made(
        authority: Option<&Authority>,
        value: &str,
        text: &str,
        change: impl FnOnce(&mut Options),
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let settings = settings(&folder, authority, value, text);
        let names = Arc::new(Names::default());
        let audit = Audit::file(&folder.path().join("audit.jsonl")).unwrap();
        let resolver: Arc<dyn Resolve> = names.clone();
        let mut options = Options {
            settings,
            names: Some(resolver),
            audit,
            key: Some([9; 32]),
            cassette: None,
            operator: None,
        };
        change(&mut options);
        Self { gate: Gate::open(options).await.unwrap(), names, folder }
    }

    /// Gives the gate another file of rules.
    pub(crate) async fn reload(
        &self,
        authority: Option<&Authority>,
        value: &str,
        text: &str,
    ) -> dormouse_core::Result<()> {
        self.gate.reload(settings(&self.folder, authority, value, text)).await
    }

    /// The way of a sandbox of an owner.
    pub(crate) fn way(&self, owner: &str, sandbox: &str) -> Arc<Way> {
        let grant = Grant::new(self.gate.settings().profile("p").unwrap().clone());
        let caller = Caller { owner: owner.into(), sandbox: Some(sandbox.into()) };
        self.gate.way(caller, grant).unwrap()
    }

    pub(crate) fn door(&self) -> Door {
        self.way("ann", "sbx").run(Run { id: "run1".into(), language: "python".into(), ..Run::default() })
    }

    /// The lines of the audit.
    pub(crate) fn audit(&self) -> Vec<serde_json::Value> {
        let text = std::fs::read_to_string(self.audit_path()).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub(crate) fn audit_path(&self) -> std::path::PathBuf {
        self.folder.path().join("audit.jsonl")
    }
}

/// What a file of rules says, with its neighbours.
fn settings(folder: &TempDir, authority: Option<&Authority>, value: &str, text: &str) -> Settings {
    let write = |name: &str, text: &str| {
        use std::os::unix::fs::PermissionsExt as _;
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    };
    write("key", value);
    let mut text = text.to_owned();
    if let Some(authority) = authority {
        write("ca.pem", &authority.pem());
        text = format!("trust = [\"ca.pem\"]\n{text}");
    }
    file::parse(&text, &folder.path().join("net.toml")).unwrap()
}

/// A rule for `a.test` at a port.
pub(crate) fn rule(protocol: &str, port: u16, rest: &str) -> String {
    format!(
        "[[profile.p.allow]]\nhost = \"a.test\"\nport = {port}\nprotocol = \"{protocol}\"\naddresses = [\"127.0.0.0/8\"]\n{rest}\n"
    )
}

/// A secret `KEY` in the file `key`, for `a.test`.
pub(crate) const SECRET: &str = "[secret.KEY]\nfile = \"key\"\nhosts = [\"a.test\"]\nshape = \"sk-{}\"\n";

/// A request without a body.
pub(crate) fn get(url: &str, headers: &[(&str, &str)]) -> Request<Body> {
    request("GET", url, headers, empty())
}

pub(crate) fn request(method: &str, url: &str, headers: &[(&str, &str)], body: Body) -> Request<Body> {
    let mut builder = Request::builder().method(method).uri(url);
    for (name, value) in headers {
        builder = builder.header(*name, *value);
    }
    builder.body(body).unwrap()
}

/// An answer as text: its status, its headers, and its body.
pub(crate) struct Told {
    pub(crate) status: u16,
    pub(crate) headers: hyper::HeaderMap,
    pub(crate) body: String,
}

impl Told {
    /// The reason of a denial.
    pub(crate) fn denied(&self) -> &str {
        self.headers.get("x-dormouse-denied").map_or("", |value| value.to_str().unwrap())
    }
}

pub(crate) async fn ask(door: &Door, request: Request<Body>) -> Result<Told, Reason> {
    let answer = door.exchange(request).await.map_err(|refusal| refusal.reason)?;
    let (head, body) = answer.into_parts();
    let body = body.collect().await.map_err(|refusal| refusal.reason)?.to_bytes();
    let body = String::from_utf8_lossy(&body).into_owned();
    Ok(Told { status: head.status.as_u16(), headers: head.headers, body })
}

/// An answer of a server.
pub(crate) fn answer(headers: &[(&str, &str)], body: impl Into<Bytes>) -> Response<Body> {
    let mut builder = Response::builder();
    for (name, value) in headers {
        builder = builder.header(*name, *value);
    }
    builder.body(full(body)).unwrap()
}
