//! What is outside of a sandbox with a network: two servers on this host that say what they got, and the gate before them.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use dormouse_core::Resolve;
use dormouse_core::connections::Taint;
use dormouse_core::network::{Network as _, NetworkGrant, NetworkRun, OpenDoor};
use dormouse_core::program::NoPrograms;
use dormouse_core::sandbox::{Executed, Machine, Owner, SandboxId};
use dormouse_egress::{Audit, Gate, Options, Outside, file};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::list::line;

/// What a secret of these tests is worth.
pub(crate) const VALUE: &str = "a-value-that-nobody-knows";

/// Two hosts: one over https with a secret, one in the clear.
pub(crate) const RULES: &str = r#"
[[profile.default.allow]]
host = "a.test"
port = HTTPS
methods = ["GET"]
paths = ["/v1/**"]
addresses = ["127.0.0.0/8"]

[[profile.default.allow]]
host = "a.test"
port = HTTP
protocol = "http"
methods = ["GET"]
paths = ["/v1/**"]
addresses = ["127.0.0.0/8"]

[[profile.other.allow]]
host = "b.test"
port = HTTPS
addresses = ["127.0.0.0/8"]
"#;

/// Every name is this host.
#[derive(Debug)]
struct Names;

#[async_trait]
impl Resolve for Names {
    async fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        Ok(vec![Ipv4Addr::LOCALHOST.into()])
    }
}

/// Servers, and the gate.
pub(crate) struct World {
    pub(crate) http: u16,
    pub(crate) https: u16,
    accepted: Arc<AtomicUsize>,
    pub(crate) network: Arc<Outside>,
    folder: tempfile::TempDir,
    _servers: JoinSet<()>,
}

impl World {
    /// With rules in which `HTTP` and `HTTPS` stand for the ports. A secret `KEY` is for `a.test`.
    pub(crate) async fn new(rules: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut servers = JoinSet::new();
        let accepted = Arc::new(AtomicUsize::new(0));
        let http = serve(&mut servers, &accepted, None).await;
        let https = serve(&mut servers, &accepted, Some(certificate(folder.path()))).await;
        let key = folder.path().join("key");
        std::fs::write(&key, VALUE).unwrap();
        std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let text = rules.replace("HTTPS", &https.to_string()).replace("HTTP", &http.to_string());
        let text =
            format!("trust = [\"ca.pem\"]\n{text}\n[secret.KEY]\nfile = \"key\"\nhosts = [\"a.test\"]\n");
        let settings = file::parse(&text, &folder.path().join("net.toml")).unwrap();
        let audit = Audit::file(&folder.path().join("audit.jsonl")).unwrap();
        let names: Arc<dyn Resolve> = Arc::new(Names);
        let options = Options {
            settings,
            names: Some(names),
            audit,
            key: Some([7; 32]),
            cassette: None,
            operator: None,
        };
        let gate = Gate::open(options).await.unwrap();
        let network = Arc::new(Outside::new(gate));
        Self { http, https, accepted, network, folder, _servers: servers }
    }

    /// The door of a run of a sandbox.
    pub(crate) fn door(&self, sandbox: &SandboxId, run: &str, grant: &NetworkGrant) -> OpenDoor {
        let (owner, taint) = (Owner::local(), Taint::default());
        let run = NetworkRun { owner: &owner, sandbox: Some(sandbox), run, language: "bash", taint: &taint };
        self.network.door(&run, grant).unwrap()
    }

    /// The lines of the audit.
    pub(crate) fn audit(&self) -> Vec<serde_json::Value> {
        let text = std::fs::read_to_string(self.folder.path().join("audit.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub(crate) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }
}

/// Runs a command line with a door.
pub(crate) async fn run(machine: &mut Box<dyn Machine>, door: &OpenDoor, text: &str) -> Executed {
    let mut request = line(text);
    request.context.network = Some(door.door.clone());
    request.context.offer_variables(door.environment.clone());
    machine.exec(request, Arc::new(NoPrograms)).await.unwrap()
}

/// Python's own client, told by the environment alone.
pub(crate) fn python(url: &str, headers: &str) -> String {
    format!(
        r#"python3 - <<'E'
import os, urllib.request, urllib.error
request = urllib.request.Request("{url}", headers={{{headers}}})
try:
    answer = urllib.request.urlopen(request, timeout=20)
    print(answer.status, answer.headers.get("x-echo"), answer.read().decode())
except urllib.error.HTTPError as error:
    print(error.code, error.headers.get("x-dormouse-denied"), error.read().decode())
except Exception as error:
    print(type(error).__name__, error)
E"#
    )
}

/// A certificate for `a.test`; that of its authority is put into a folder.
fn certificate(folder: &Path) -> Arc<ServerConfig> {
    let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    std::fs::write(folder.join("ca.pem"), params.self_signed(&key).unwrap().pem()).unwrap();
    let issuer = Issuer::new(params, key);
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["a.test".to_owned(), "b.test".to_owned()]).unwrap();
    let signed = params.signed_by(&key, &issuer).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = builder.with_no_client_auth().with_single_cert(vec![signed.der().clone()], key);
    Arc::new(config.unwrap())
}

async fn serve(
    servers: &mut JoinSet<()>,
    accepted: &Arc<AtomicUsize>,
    tls: Option<Arc<ServerConfig>>,
) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let accepted = accepted.clone();
    servers.spawn(async move {
        let mut all = JoinSet::new();
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            accepted.fetch_add(1, Ordering::SeqCst);
            let tls = tls.clone();
            all.spawn(async move {
                match tls {
                    None => echo(stream).await,
                    Some(config) => {
                        if let Ok(stream) = TlsAcceptor::from(config).accept(stream).await {
                            echo(stream).await;
                        }
                    }
                }
            });
        }
    });
    port
}

/// Answers each request with its own head, or with as many bytes as its path asks for (`/v1/bytes/COUNT`).
async fn echo(mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    let mut got = Vec::new();
    loop {
        let mut piece = [0; 4096];
        let Ok(read @ 1..) = stream.read(&mut piece).await else { return };
        got.extend_from_slice(&piece[..read]);
        while let Some(end) = got.windows(4).position(|four| four == b"\r\n\r\n") {
            let head: Vec<u8> = got.drain(..end + 4).collect();
            let text = String::from_utf8_lossy(&head).into_owned();
            let count =
                text.split_once("/v1/bytes/").and_then(|(_, rest)| rest.split(' ').next()?.parse().ok());
            let body = count.map_or(head, |count| vec![b'x'; count]);
            let answer =
                format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nx-echo: {VALUE}\r\n\r\n", body.len());
            if stream.write_all(&[answer.as_bytes(), &body].concat()).await.is_err() {
                return;
            }
        }
    }
}
