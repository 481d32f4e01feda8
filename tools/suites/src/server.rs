//! The server that others' programs are driven against.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use dormouse_chores::{process, program};

/// How long the HTTP server may take to end.
const END: Duration = Duration::from_secs(30);

/// Builds the command line if need be; `dormouse mcp` and `dormouse serve` are the servers.
pub(super) fn dormouse() -> Result<PathBuf> {
    process::cargo(&["build", "--quiet", "--release", "--workspace", "--bins"])?;
    Ok(process::tool("dormouse"))
}

/// A running `dormouse serve`, with all tools.
pub(super) struct Served {
    child: Child,
    address: String,
}

impl Served {
    /// Starts it on a free port, over a state folder.
    pub(super) fn start(program: &Path, state: &Path) -> Result<Self> {
        let mut child = Command::new(program)
            .args(["serve", "--listen", "127.0.0.1:0", "--tools", "all", "--state-dir"])
            .arg(state)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let output = child.stdout.take().context("a pipe was asked for")?;
        let mut address = String::new();
        BufReader::new(output).read_line(&mut address)?;
        ensure!(address.starts_with("http://"), "the server told no address");
        Ok(Self { child, address: address.trim().to_owned() })
    }

    /// `http://`, address and port.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Asks it to end, as a service manager does; it has to end well.
    pub(super) fn stop(mut self) -> Result<()> {
        let process = self.child.id().to_string();
        program::run(Command::new("sh").args(["-c", "kill -TERM $0", &process]), END)?;
        let asked = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                ensure!(status.success(), "the server ended with {status}");
                return Ok(());
            }
            ensure!(asked.elapsed() < END, "the server did not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}
