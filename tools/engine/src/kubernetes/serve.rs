//! The server and its store, from their start to their end.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use dormouse_chores::program::on_path;
use dormouse_chores::progress::Progress;
use dormouse_chores::{Cache, apt, program};

use super::build;

/// How long each of them may take until it answers.
const START: Duration = Duration::from_secs(60);
/// How often that is looked at.
const BEAT: Duration = Duration::from_millis(100);
/// Lines of a log that are shown when one of them does not start.
const SHOWN: usize = 8;

/// The API server with its store, on loopback. Dropped, both end and their data goes.
pub struct Machinery {
    folder: tempfile::TempDir,
    port: u16,
    running: Vec<(&'static str, Child)>,
}

impl Machinery {
    /// Starts both, and waits until they answer. What is missing is built or installed first, where that is possible.
    ///
    /// # Errors
    ///
    /// What keeps it from being built or started.
    pub fn start() -> Result<Self> {
        let progress = Progress::new("kubernetes");
        let server = build::program(&Cache::open()?, &progress)?;
        if on_path("etcd").is_none() {
            let otherwise =
                "there is no etcd, and apt-get cannot install etcd-server here (it needs root and Debian)";
            apt::install_quietly(&progress, &["etcd-server"], otherwise)?;
        }
        let etcd = on_path("etcd").context("its package was installed, and there is no etcd")?;
        let folder = tempfile::Builder::new().prefix("dormouse-kubernetes-").tempdir()?;
        let [port, clients, peers] = ports()?;
        let mut machinery = Self { folder, port, running: Vec::new() };
        machinery.run("etcd", &etcd, |command, folder| {
            let (clients, peers) =
                (format!("http://127.0.0.1:{clients}"), format!("http://127.0.0.1:{peers}"));
            command.arg("--data-dir").arg(folder.join("data"));
            command.args(["--listen-client-urls", &clients, "--advertise-client-urls", &clients]);
            command.args(["--listen-peer-urls", &peers, "--initial-advertise-peer-urls", &peers]);
            command.args(["--initial-cluster", &format!("default={peers}")]);
        })?;
        // The library wants a kubeconfig, whoever it would ask by it.
        let kubeconfig = machinery.folder.path().join("kubeconfig");
        fs::write(&kubeconfig, machinery.kubeconfig())?;
        machinery.run("server", &server, |command, folder| {
            command.args(["--etcd-servers", &format!("http://127.0.0.1:{clients}")]);
            command.args(["--bind-address", "127.0.0.1", "--secure-port", &port.to_string()]);
            command.arg("--cert-dir").arg(folder.join("certs")).arg("--kubeconfig").arg(&kubeconfig);
        })?;
        machinery.until_it_answers()?;
        Ok(machinery)
    }

    /// Where it answers. Its certificate is its own, and nobody is asked who he is.
    #[must_use]
    pub fn address(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// Ends both, and removes what they wrote.
    ///
    /// # Errors
    ///
    /// One of them does not end, or the folder cannot be removed.
    pub fn stop(mut self) -> Result<()> {
        self.end()?;
        let folder = std::mem::replace(&mut self.folder, tempfile::tempdir()?);
        folder.close().context("what the API server wrote cannot be removed")
    }

    fn run(
        &mut self,
        name: &'static str,
        program: &Path,
        arguments: impl FnOnce(&mut Command, &Path),
    ) -> Result<()> {
        let log = File::create(self.log(name))?;
        let mut command = Command::new(program);
        arguments(&mut command, self.folder.path());
        let child = command
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("`{}` does not start", program.display()))?;
        self.running.push((name, child));
        Ok(())
    }

    fn log(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(format!("{name}.log"))
    }

    fn kubeconfig(&self) -> String {
        format!(
            r#"{{"apiVersion": "v1", "kind": "Config", "current-context": "own",
"clusters": [{{"name": "own", "cluster": {{"server": "{}", "insecure-skip-tls-verify": true}}}}],
"contexts": [{{"name": "own", "context": {{"cluster": "own", "user": "own"}}}}],
"users": [{{"name": "own", "user": {{"token": "own"}}}}]}}
"#,
            self.address()
        )
    }

    fn until_it_answers(&mut self) -> Result<()> {
        let started = Instant::now();
        let ready = format!("{}/livez", self.address());
        loop {
            for at in 0..self.running.len() {
                let (name, child) = &mut self.running[at];
                if let Some(status) = child.try_wait()? {
                    let name = *name;
                    bail!("{name} ended with {status}: {}", self.end_of_log(name));
                }
            }
            let asked = program::run(
                Command::new("curl").args(["--silent", "--insecure", "--max-time", "2", &ready]),
                START,
            )?;
            if asked.stdout.trim() == "ok" {
                return Ok(());
            }
            ensure!(
                started.elapsed() < START,
                "the API server did not answer within {} s: {}",
                START.as_secs(),
                self.end_of_log("server")
            );
            std::thread::sleep(BEAT);
        }
    }

    fn end_of_log(&self, name: &str) -> String {
        let log = fs::read(self.log(name)).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(SHOWN)..].join(" / ")
    }

    /// The server first: it would complain of its store.
    fn end(&mut self) -> Result<()> {
        while let Some((name, mut child)) = self.running.pop() {
            child.kill().with_context(|| format!("{name} does not end"))?;
            child.wait()?;
        }
        Ok(())
    }
}

impl Drop for Machinery {
    fn drop(&mut self) {
        // Nobody is left to tell.
        let _ = self.end();
    }
}

/// Ports of loopback that nothing listens on now.
fn ports<const N: usize>() -> Result<[u16; N]> {
    // All are open at once, so that no two are the same.
    let open: Vec<TcpListener> =
        (0..N).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<std::io::Result<_>>()?;
    let mut ports = [0; N];
    for (port, listener) in ports.iter_mut().zip(&open) {
        *port = listener.local_addr()?.port();
    }
    Ok(ports)
}
