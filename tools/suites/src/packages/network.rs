//! Packages that speak with a server, over the network that a run was granted.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result};
use dormouse_chores::workspace;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use serde::Deserialize;
use tempfile::TempDir;

/// The servers, and the rules with which a run reaches them.
pub(super) struct Servers {
    process: Child,
    folder: TempDir,
    ports: Ports,
    gone: u16,
}

#[derive(Deserialize)]
#[serde(rename_all = "UPPERCASE")]
struct Ports {
    http: u16,
    https: u16,
}

impl Drop for Servers {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Servers {
    /// Starts HTTP and HTTPS on 127.0.0.1, with a certificate that an authority of this run signs.
    pub(super) fn start() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let path = |name: &str| folder.path().join(name);
        certify(&path("ca.pem"), &path("server.pem"), &path("server.key"))?;
        let mut process = Command::new("python3")
            .arg(workspace().join("tests/conformance/packages/server.py"))
            .args([path("server.pem"), path("server.key")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the server of the packages")?;
        let mut told = String::new();
        let output = process.stdout.take().context("a pipe was asked for")?;
        BufReader::new(output).read_line(&mut told)?;
        let ports: Ports = serde_json::from_str(&told).context("the server of the packages did not start")?;
        // A port that was free a moment ago.
        let gone = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let rule = |port: u16, protocol: &str| {
            format!(
                "[[profile.default.allow]]\nhost = \"127.0.0.1\"\nport = {port}\n\
                 protocol = \"{protocol}\"\nwebsocket = true\n"
            )
        };
        let rules = [(ports.http, "http"), (ports.https, "https"), (gone, "https")];
        let rules: String = rules.into_iter().map(|(port, protocol)| rule(port, protocol)).collect();
        fs::write(path("net.toml"), format!("trust = [\"ca.pem\"]\n{rules}"))?;
        Ok(Self { process, folder, ports, gone })
    }

    /// A snippet of the list as it is run.
    pub(super) fn code(&self, code: &str) -> String {
        let Ports { http, https } = self.ports;
        code.replace("\\n", "\n")
            .replace("$HTTPS", &format!("https://127.0.0.1:{https}"))
            .replace("$HTTP", &format!("http://127.0.0.1:{http}"))
            .replace("$GONE", &self.gone.to_string())
    }

    /// The options with which a run reaches the servers.
    pub(super) fn options(&self) -> [PathBuf; 4] {
        let path = |name: &str| self.folder.path().join(name);
        ["--network".into(), path("net.toml"), "--network-audit".into(), path("network.jsonl")]
    }
}

/// Writes the certificate of an authority, one that it signed for 127.0.0.1, and the key of that.
fn certify(authority: &Path, server: &Path, key_file: &Path) -> Result<()> {
    let mut params = CertificateParams::new(Vec::<String>::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate()?;
    fs::write(authority, params.self_signed(&key)?.pem())?;
    let issuer = Issuer::new(params, key);
    let key = KeyPair::generate()?;
    fs::write(server, CertificateParams::new(vec!["127.0.0.1".to_owned()])?.signed_by(&key, &issuer)?.pem())?;
    fs::write(key_file, key.serialize_pem())?;
    Ok(())
}
