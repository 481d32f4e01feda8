//! Servers of the tests on 127.0.0.1, and the rules that open them: HTTP, HTTPS with a certificate of the tests' own authority, HTTPS
//! with one of nobody's, and bytes.

use std::convert::Infallible;
use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use dormouse::connections::Taint;
use dormouse::network::{Door, Network as _, NetworkGrant, NetworkRun};
use dormouse::sandbox::Owner;
use dormouse_egress::{Audit, Gate, Options, Outside, file};
use dormouse_tests::{PHP, sandbox};
use futures::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use percent_encoding::percent_decode_str;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, SanType};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

type Body = UnsyncBoxBody<Bytes, Infallible>;

/// What the tests reach, and how often somebody connected.
pub(super) struct Servers {
    pub(super) http: u16,
    pub(super) tls: u16,
    pub(super) untrusted: u16,
    pub(super) tcp: u16,
    /// A port that is allowed, where nobody listens.
    pub(super) nobody: u16,
    /// A port where somebody listens, and that no rule names.
    pub(super) closed: u16,
    pub(super) accepted: Arc<AtomicUsize>,
    pub(super) network: Outside,
}

impl Servers {
    pub(super) async fn start() -> Self {
        let accepted = Arc::new(AtomicUsize::new(0));
        let listen = async || TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = |listener: &TcpListener| listener.local_addr().unwrap().port();
        let (http, tls, untrusted) = (listen().await, listen().await, listen().await);
        let (tcp, closed, nobody) = (listen().await, listen().await, port(&listen().await));
        let ports = [&http, &tls, &untrusted, &tcp, &closed].map(port);
        let (authority, other) = (Authority::new(), Authority::new());
        serve(http, accepted.clone(), async |stream| speak(stream).await);
        for (listener, authority) in [(tls, &authority), (untrusted, &other)] {
            let acceptor = authority.acceptor();
            serve(listener, accepted.clone(), move |stream| {
                let accepting = acceptor.accept(stream);
                async move {
                    if let Ok(stream) = accepting.await {
                        speak(stream).await;
                    }
                }
            });
        }
        serve(tcp, accepted.clone(), echo);
        serve(closed, accepted.clone(), async |_| {});
        let [http, tls, untrusted, tcp, closed] = ports;
        let network = network(&authority, [http, tls, untrusted, tcp, nobody]).await;
        Self { http, tls, untrusted, tcp, nobody, closed, accepted, network }
    }

    /// The door of a run.
    pub(super) fn door(&self) -> Arc<dyn Door> {
        let owner = Owner::local();
        let taint = &Taint::default();
        let run = NetworkRun { owner: &owner, sandbox: None, run: "run1", language: PHP, taint };
        self.network.door(&run, &NetworkGrant::default()).unwrap().door
    }
}

/// The rules of the tests, from a file as an operator writes it.
async fn network(authority: &Authority, [http, tls, untrusted, tcp, nobody]: [u16; 5]) -> Outside {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("ca.pem"), authority.certificate.pem()).unwrap();
    let rule = |host: &str, port: u16, protocol: &str| {
        let inner = if host == "localhost" { "addresses = [\"127.0.0.0/8\", \"::1/128\"]\n" } else { "" };
        format!("[[profile.default.allow]]\nhost = \"{host}\"\nport = {port}\nprotocol = \"{protocol}\"\n{inner}")
    };
    let mut rules = String::from("trust = [\"ca.pem\"]\n");
    for (host, port, protocol) in [
        ("127.0.0.1", http, "http"),
        ("localhost", http, "http"),
        ("127.0.0.1", tls, "https"),
        ("localhost", tls, "https"),
        ("127.0.0.1", untrusted, "https"),
        ("127.0.0.1", tcp, "tcp"),
        ("127.0.0.1", nobody, "http"),
        ("127.0.0.1", nobody, "https"),
        ("nothing.invalid", 80, "http"),
        ("nothing.invalid", 443, "https"),
    ] {
        rules.push_str(&rule(host, port, protocol));
    }
    let path = folder.path().join("net.toml");
    fs::write(&path, rules).unwrap();
    let settings = file::read(&path).unwrap();
    let options = Options { settings, names: None, audit: Audit::none(), key: None, cassette: None };
    Outside::new(Gate::open(options).await.unwrap())
}

/// An authority of the tests.
struct Authority {
    certificate: rcgen::Certificate,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Self { certificate, issuer: Issuer::new(params, key) }
    }

    fn acceptor(&self) -> TlsAcceptor {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.subject_alt_names.push(SanType::IpAddress(IpAddr::V4(Ipv4Addr::LOCALHOST)));
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        TlsAcceptor::from(Arc::new(config))
    }
}

fn serve<F>(listener: TcpListener, accepted: Arc<AtomicUsize>, one: impl Fn(TcpStream) -> F + Send + 'static)
where
    F: Future<Output = ()> + Send + 'static,
{
    sandbox::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            accepted.fetch_add(1, Ordering::SeqCst);
            sandbox::spawn(one(stream));
        }
    });
}

/// Says `hello`, gives back what comes, and says `bye` when nothing more does.
async fn echo(mut stream: TcpStream) {
    let mut piece = [0; 1024];
    let mut sent = stream.write_all(b"hello\n").await;
    while let (Ok(()), Ok(read @ 1..)) = (sent, stream.read(&mut piece).await) {
        sent = stream.write_all(&[b"echo ", &piece[..read]].concat()).await;
    }
    let _ = stream.write_all(b"bye\n").await;
}

async fn speak(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) {
    let service = hyper::service::service_fn(answer);
    // A request for `/drop` ends it with an error.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

/// The answer to a path; see the arms.
async fn answer(request: Request<Incoming>) -> Result<Response<Body>, &'static str> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let path = head.uri.path().to_owned();
    let argument = |name: &str| {
        let found = head.uri.query().unwrap_or_default().split('&').find_map(|pair| pair.strip_prefix(name));
        percent_decode_str(found.unwrap_or_default()).decode_utf8_lossy().into_owned()
    };
    let number = |name: &str| argument(name).parse::<usize>().unwrap_or_default();
    let of_path = |start: &str| path.strip_prefix(start).and_then(|rest| rest.parse::<u16>().ok());
    let mut told = Response::new(full(""));
    if let Some(status) = of_path("/status/") {
        told = with(status, &[], "the body");
    } else if let Some(hops) = of_path("/redirect/") {
        let to = if hops > 1 { format!("/redirect/{}", hops - 1) } else { argument("to=") };
        let to = if to.is_empty() { "/echo".to_owned() } else { to };
        told = with(302, &[("location", &to)], "moved");
    } else if path == "/echo" {
        let headers = head.headers.iter().map(|(name, value)| {
            (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        });
        let headers: std::collections::BTreeMap<_, _> = headers.collect();
        let seen = json!({
            "method": head.method.as_str(),
            "path": head.uri.to_string(),
            "headers": headers,
            "body": String::from_utf8_lossy(&body),
        });
        told = with(200, &[("content-type", "application/json")], seen.to_string());
    } else if path == "/cookies" {
        told = with(302, &[("set-cookie", "a=1; Path=/"), ("location", "/echo")], "");
    } else if path == "/gzip" {
        // `squeezed`.
        let squeezed = b"\x1f\x8b\x08\0\0\0\0\0\x02\x03+.,MM\xadJM\x01\0\xde&\x14\0\x08\0\0\0";
        told = with(200, &[("content-encoding", "gzip")], squeezed.to_vec());
    } else if path == "/late" {
        tokio::time::sleep(Duration::from_millis(number("ms=") as u64)).await;
        told = with(200, &[], "late");
    } else if path == "/big" {
        told = with(200, &[], "x".repeat(number("n=")));
    } else if path == "/pieces" {
        told = Response::new(pieces());
    } else if path == "/drop" {
        return Err("the connection is dropped");
    }
    Ok(told)
}

fn full(body: impl Into<Bytes>) -> Body {
    Full::new(body.into()).boxed_unsync()
}

/// Three lines, 50 ms after each other.
fn pieces() -> Body {
    let lines = stream::unfold(0, async |at| {
        if at == 3 {
            return None;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        Some((Ok(Frame::data(Bytes::from(format!("data: {at}\n")))), at + 1))
    });
    StreamBody::new(lines).boxed_unsync()
}

fn with(status: u16, headers: &[(&'static str, &str)], body: impl Into<Bytes>) -> Response<Body> {
    let mut told = Response::new(full(body));
    *told.status_mut() = StatusCode::from_u16(status).unwrap();
    for (name, value) in headers {
        told.headers_mut().append(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
    }
    told
}
