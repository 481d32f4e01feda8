//! A peer's process: one JSON command a line in, one JSON answer a line out, times taken inside the peer.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, anyhow, bail};
use serde::Deserialize;
use serde_json::{Value as Json, json};

/// What a peer answers; which fields depends on the command.
#[derive(Debug, Deserialize)]
struct Answer {
    #[serde(default)]
    ms: Vec<f64>,
    out: Option<String>,
    rate: Option<f64>,
    kib: Option<f64>,
    version: Option<String>,
    error: Option<String>,
}

/// A peer that runs. Ends with its standard input.
pub(crate) struct Driver {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Driver {
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("the peer does not start")?;
        let stdin = child.stdin.take();
        let stdout =
            child.stdout.take().map(BufReader::new).ok_or_else(|| anyhow!("the peer has no output"))?;
        Ok(Self { child, stdin, stdout })
    }

    fn send(&mut self, command: &Json) -> Result<()> {
        let stdin = self.stdin.as_mut().ok_or_else(|| anyhow!("the peer has ended"))?;
        writeln!(stdin, "{command}").and_then(|()| stdin.flush()).context("the peer has ended")
    }

    fn receive(&mut self) -> Result<Answer> {
        let mut line = String::new();
        if self.stdout.read_line(&mut line).context("the peer has ended")? == 0 {
            bail!("the peer has ended");
        }
        let answer: Answer = serde_json::from_str(&line).context("the peer's answer is no answer")?;
        match answer.error {
            Some(error) => bail!("the peer failed: {error}"),
            None => Ok(answer),
        }
    }

    fn ask(&mut self, command: &Json) -> Result<Answer> {
        self.send(command)?;
        self.receive()
    }

    /// Fresh sandboxes, one after the other: milliseconds of each.
    pub(crate) fn fresh(&mut self, code: &str, times: usize) -> Result<Vec<f64>> {
        Ok(self.ask(&json!({"do": "fresh", "code": code, "times": times}))?.ms)
    }

    /// What importing our package took, in milliseconds.
    pub(crate) fn import(&mut self) -> Result<f64> {
        let answer = self.ask(&json!({"do": "import"}))?;
        answer.ms.first().copied().ok_or_else(|| anyhow!("the package told no time"))
    }

    /// Milliseconds of one call of a function of the program: `code` calls it `CALLS` times.
    pub(crate) fn callback(&mut self, code: &str, times: usize) -> Result<Vec<f64>> {
        Ok(self.ask(&json!({"do": "callback", "code": code, "times": times}))?.ms)
    }

    /// Calls on one kept sandbox: milliseconds of each.
    pub(crate) fn warm(&mut self, code: &str, times: usize) -> Result<Vec<f64>> {
        Ok(self.ask(&json!({"do": "warm", "code": code, "times": times}))?.ms)
    }

    /// One run in a fresh sandbox: milliseconds, and what it printed.
    pub(crate) fn run(&mut self, code: &str) -> Result<(f64, String)> {
        let answer = self.ask(&json!({"do": "run", "code": code}))?;
        let ms = answer.ms.first().copied().ok_or_else(|| anyhow!("the peer told no time"))?;
        Ok((ms, answer.out.unwrap_or_default().trim().to_owned()))
    }

    /// Milliseconds of a run in a fresh sandbox that may reach servers of this machine.
    pub(crate) fn network(&mut self, code: &str) -> Result<f64> {
        let answer = self.ask(&json!({"do": "network", "code": code}))?;
        answer.ms.first().copied().ok_or_else(|| anyhow!("the peer told no time"))
    }

    /// Milliseconds between a time limit and the moment the call came back.
    pub(crate) fn late(&mut self, code: &str, limit_ms: u64) -> Result<Vec<f64>> {
        Ok(self.ask(&json!({"do": "late", "code": code, "limit_ms": limit_ms}))?.ms)
    }

    /// KiB of private dirty memory that each of `kept` idle sessions holds.
    pub(crate) fn idle(&mut self, code: &str, kept: usize) -> Result<f64> {
        let answer = self.ask(&json!({"do": "idle", "code": code, "kept": kept}))?;
        answer.kib.ok_or_else(|| anyhow!("the peer told no size"))
    }

    /// A session saved after `code`: milliseconds of saving.
    pub(crate) fn snapshot(&mut self, code: &str) -> Result<Vec<f64>> {
        Ok(self.ask(&json!({"do": "snapshot", "code": code}))?.ms)
    }

    /// The session that was saved last, in a new one, and one call: milliseconds of both.
    pub(crate) fn restore(&mut self, code: &str) -> Result<Vec<f64>> {
        Ok(self.ask(&json!({"do": "restore", "code": code}))?.ms)
    }

    /// The peer's version.
    pub(crate) fn version(&mut self) -> Result<String> {
        let answer = self.ask(&json!({"do": "version"}))?;
        answer.version.ok_or_else(|| anyhow!("the peer told no version"))
    }
}

/// Fresh sandboxes a second, of several processes of one peer at once.
pub(crate) fn throughput(drivers: &mut [Driver], code: &str, seconds: f64) -> Result<f64> {
    for driver in &mut *drivers {
        driver.send(&json!({"do": "throughput", "code": code, "seconds": seconds}))?;
    }
    let mut sum = 0.0;
    for driver in drivers {
        sum += driver.receive()?.rate.ok_or_else(|| anyhow!("the peer told no rate"))?;
    }
    Ok(sum)
}

impl Drop for Driver {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.wait();
    }
}
