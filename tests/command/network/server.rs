//! Servers on this machine, and a Dormouse whose sandboxes reach them by the rules below.
//!
//! Names that end with `.test` lead to 127.0.0.1; all others are unknown.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{fs, thread};

use async_trait::async_trait;
use dormouse::network::NetworkGrant;
use dormouse::sandbox::{Name, Owner};
use dormouse::sandboxes::{Asked, CommandLine};
use dormouse::{Dormouse, PersistentSandbox, Resolve};
use dormouse_egress::{Audit, Gate, Options, Outside, file};
use dormouse_tests::{lasting, sandbox};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use tempfile::TempDir;

/// The secret of `api.test`. Nothing but the server may ever see it.
pub(crate) const SECRET: &str = "key-0123456789-of-the-operator";

/// What sandboxes may reach, with ports in the place of their names.
const RULES: &str = r#"
trust = ["ca.pem"]
[[profile.default.allow]]
host = "127.0.0.1"
port = $HTTP
protocol = "http"
[[profile.default.allow]]
host = "other.test"
port = $HTTP
protocol = "http"
methods = ["GET"]
paths = ["/echo"]
addresses = ["127.0.0.0/8"]
[[profile.default.allow]]
host = "api.test"
port = $HTTPS
addresses = ["127.0.0.0/8"]
[[profile.default.allow]]
host = "self.test"
port = $SELF
addresses = ["127.0.0.0/8"]
[[profile.default.allow]]
host = "127.0.0.1"
port = 1
protocol = "http"
[[profile.default.allow]]
host = "none.invalid"
protocol = "http"
[secret.API_KEY]
file = "key"
hosts = ["api.test"]
[budget]
requests = 10000
bytes_in = "512 MiB"
"#;

/// Looks names up, and notes them.
#[derive(Debug, Default)]
struct Names(Mutex<Vec<String>>);

#[async_trait]
impl Resolve for Names {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        self.0.lock().unwrap().push(name.to_owned());
        match name.ends_with(".test") {
            true => Ok(vec![Ipv4Addr::LOCALHOST.into()]),
            false => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

/// What servers have seen.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    accepted: AtomicUsize,
    /// Connections whose other side has ended before they did.
    left: AtomicUsize,
    pub(crate) requests: Mutex<Vec<String>>,
}

/// Servers, and sandboxes.
pub(crate) struct World {
    pub(crate) dormouse: Dormouse,
    pub(crate) seen: Arc<Seen>,
    pub(crate) http: u16,
    https: u16,
    own: u16,
    names: Arc<Names>,
    _folder: TempDir,
}

impl World {
    /// Starts all of it; `connected`: sandboxes have the network.
    pub(crate) fn new(connected: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let seen = Arc::<Seen>::default();
        let authority = Authority::new();
        fs::write(path("ca.pem"), &authority.pem).unwrap();
        fs::write(path("key"), SECRET).unwrap();
        fs::set_permissions(path("key"), fs::Permissions::from_mode(0o600)).unwrap();
        let http = listen(&seen, None);
        let https = listen(&seen, Some(authority.server("api.test")));
        let own = listen(&seen, Some(self_signed("self.test")));
        let ports = [("$HTTPS", https), ("$HTTP", http), ("$SELF", own)];
        let rules =
            ports.iter().fold(RULES.to_owned(), |text, (name, port)| text.replace(name, &port.to_string()));
        fs::write(path("net.toml"), rules).unwrap();
        let names = Arc::<Names>::default();
        let dormouse = lasting::open(&path("state"));
        let settings = file::read(&path("net.toml")).unwrap();
        let audit = Audit::file(&path("network.jsonl")).unwrap();
        let options = Options { settings, names: Some(names.clone()), audit, key: None, cassette: None };
        let gate = sandbox::wait(Gate::open(options)).unwrap();
        if connected {
            let usual = Some(NetworkGrant::default());
            dormouse.runtime().set_network(Arc::new(Outside::new(gate)), usual);
        }
        Self { dormouse, seen, http, https, own, names, _folder: folder }
    }

    /// A sandbox with variables for the addresses of the servers.
    pub(crate) fn sandbox(&self, name: &str) -> PersistentSandbox {
        let kept = lasting::named(&self.dormouse, name);
        let Self { http, https, own, .. } = self;
        let line = format!(
            "U=http://127.0.0.1:{http} S=https://api.test:{https} SELF=https://self.test:{own} OTHER=http://other.test:{http}"
        );
        assert_eq!(run(&kept, &line), (0, String::new(), String::new()));
        kept
    }

    /// A sandbox with so many bytes of memory.
    pub(crate) fn sandbox_of(&self, name: &str, memory: u64) -> PersistentSandbox {
        let mut spec = lasting::sandboxes(&self.dormouse).rules().defaults.clone();
        spec.memory = memory;
        let asked = Asked { name: Some(Name::parse(name).unwrap()), spec: Some(spec), ..Asked::default() };
        sandbox::wait(lasting::sandboxes(&self.dormouse).create(&Owner::local(), asked)).unwrap();
        self.sandbox(name)
    }

    /// Names that were looked up.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.names.0.lock().unwrap().clone()
    }
}

impl Seen {
    /// Connections that were made.
    pub(crate) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }

    /// Connections that the sandbox's side has ended in the middle.
    pub(crate) fn left(&self) -> usize {
        self.left.load(Ordering::SeqCst)
    }

    /// First lines of requests, which are forgotten.
    pub(crate) fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.requests.lock().unwrap())
    }
}

/// Status, output and errors of a command line.
pub(crate) fn run(kept: &PersistentSandbox, line: &str) -> (i32, String, String) {
    let mut line = CommandLine::new(line);
    line.wall = Duration::from_secs(60);
    let outcome = sandbox::wait(kept.exec_line(line)).expect("the call is taken").outcome;
    (outcome.exit_code(), outcome.stdout.text, outcome.stderr.text)
}

fn listen(seen: &Arc<Seen>, tls: Option<Arc<ServerConfig>>) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let seen = seen.clone();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (seen, tls) = (seen.clone(), tls.clone());
            thread::spawn(move || accepted(stream, tls, &seen));
        }
    });
    port
}

fn accepted(stream: TcpStream, tls: Option<Arc<ServerConfig>>, seen: &Seen) {
    seen.accepted.fetch_add(1, Ordering::SeqCst);
    let served = match tls {
        None => serve(BufReader::new(stream), seen),
        Some(config) => {
            let connection = ServerConnection::new(config).unwrap();
            serve(BufReader::new(StreamOwned::new(connection, stream)), seen)
        }
    };
    if served.is_err() {
        seen.left.fetch_add(1, Ordering::SeqCst);
    }
}

/// Answers requests until the other side ends the connection. The error: it has ended it in the middle.
fn serve<S: Read + Write>(mut stream: BufReader<S>, seen: &Seen) -> io::Result<()> {
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if stream.read_line(&mut head).unwrap_or_default() == 0 {
                return Ok(());
            }
        }
        let first = head.lines().next().unwrap_or_default().to_owned();
        seen.requests.lock().unwrap().push(first.clone());
        let length = header(&head, "content-length").and_then(|text| text.parse().ok());
        let mut body = vec![0; length.unwrap_or_default()];
        stream.read_exact(&mut body)?;
        let mut words = first.split(' ');
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        if !answer(stream.get_mut(), (method, target, &head, &body))? {
            return Ok(());
        }
    }
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let lines = head.lines().filter_map(|line| line.split_once(": "));
    lines.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

/// Whether the connection goes on.
fn answer(
    stream: &mut impl Write,
    (method, target, head, body): (&str, &str, &str, &[u8]),
) -> io::Result<bool> {
    let path = target.split('?').next().unwrap_or_default();
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    let mut whole = |status: &str, headers: &str, body: &[u8]| {
        let length = body.len();
        let head = format!("HTTP/1.1 {status}\r\nServer: test\r\n{headers}Content-Length: {length}\r\n\r\n");
        let body = if method == "HEAD" || status.starts_with("204") { b"" } else { body };
        stream.write_all(&[head.as_bytes(), body].concat())?;
        stream.flush().map(|()| true)
    };
    match parts.as_slice() {
        ["status", status] => whole(named(status), "", b"the body\n"),
        ["to", status, ..] => {
            let rest = target.splitn(4, '/').nth(3).unwrap_or_default();
            whole(named(status), &format!("Location: /{rest}\r\n"), b"moved\n")
        }
        ["far", port] => whole("302 Found", &format!("Location: http://other.test:{port}/echo\r\n"), b""),
        ["cookies"] => {
            let set =
                "Set-Cookie: a=1; Path=/\r\nSet-Cookie: b=2; HttpOnly\r\nSet-Cookie: c=3; Path=/deep\r\n";
            whole("200 OK", set, b"set\n")
        }
        ["named", name] => {
            let headers = format!("Content-Disposition: attachment; filename=\"{name}\"\r\n");
            whole("200 OK", &headers, b"named\n")
        }
        ["gzip"] => {
            // `echo unpacked | gzip -n`.
            let packed = data_encoding::BASE64.decode(b"H4sIAAAAAAAAAyvNK0hMzk5N4QIAgB9xKwkAAAA=").unwrap();
            whole("200 OK", "Content-Encoding: gzip\r\n", &packed)
        }
        ["digits"] => {
            let range =
                header(head, "range").and_then(|range| range.strip_prefix("bytes=")?.split('-').next());
            match range.and_then(|from| from.parse::<usize>().ok()) {
                None => whole("200 OK", "", b"0123456789"),
                Some(from) if from < 10 => whole("206 Partial Content", "", &b"0123456789"[from..]),
                Some(_) => whole("416 Range Not Satisfiable", "", b""),
            }
        }
        ["big", count] => {
            let count: usize = count.parse().unwrap_or_default();
            stream.write_all(
                format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", count << 10).as_bytes(),
            )?;
            (0..count).try_for_each(|_| stream.write_all(&[b'x'; 1 << 10]))?;
            stream.flush().map(|()| true)
        }
        ["late", milliseconds] => {
            thread::sleep(Duration::from_millis(milliseconds.parse().unwrap_or_default()));
            whole("200 OK", "", b"late\n")
        }
        ["without-end"] => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")?;
            loop {
                stream.write_all(b"and so on\n")?;
                stream.flush()?;
                thread::sleep(Duration::from_millis(20));
            }
        }
        ["short"] => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort")?;
            stream.flush().map(|()| false)
        }
        ["nothing"] => Ok(false),
        _ => {
            let told = [head.replace("\r\n", "\n").as_bytes(), body].concat();
            whole("200 OK", "Content-Type: text/plain\r\n", &told)
        }
    }
}

/// A status with its words.
fn named(status: &str) -> &str {
    match status {
        "201" => "201 Created",
        "204" => "204 No Content",
        "301" => "301 Moved Permanently",
        "302" => "302 Found",
        "303" => "303 See Other",
        "307" => "307 Temporary Redirect",
        "308" => "308 Permanent Redirect",
        "401" => "401 Unauthorized",
        "404" => "404 Not Found",
        "500" => "500 Internal Server Error",
        "503" => "503 Service Unavailable",
        _ => "200 OK",
    }
}

/// Who signs the certificate of `api.test`.
struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { pem, issuer: Issuer::new(params, key) }
    }

    fn server(&self, name: &str) -> Arc<ServerConfig> {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        config(&params.signed_by(&key, &self.issuer).unwrap(), &key)
    }
}

fn self_signed(name: &str) -> Arc<ServerConfig> {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    config(&params.self_signed(&key).unwrap(), &key)
}

fn config(certificate: &rcgen::Certificate, key: &KeyPair) -> Arc<ServerConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let chain = vec![certificate.der().clone()];
    Arc::new(builder.with_no_client_auth().with_single_cert(chain, key).unwrap())
}
