//! A client of `dormouse mcp`: one request at a time.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value as Json, json};

/// A running server and both ends of its pipes.
pub(crate) struct Client {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last: u64,
}

impl Client {
    /// Starts the server over a state folder of its own and shakes hands.
    pub(crate) fn start(program: &Path, state: &Path) -> Result<Self> {
        let mut child = Command::new(program)
            .args(["mcp", "--tools", "all", "--state-dir"])
            .arg(state)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let input = child.stdin.take().context("a pipe was asked for")?;
        let output = BufReader::new(child.stdout.take().context("a pipe was asked for")?);
        let mut client = Self { child, input, output, last: 0 };
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "suite", "version": "0"}});
        client.ask("initialize", &hello)?;
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(client)
    }

    /// Calls a tool and returns its structured result.
    ///
    /// # Errors
    ///
    /// What the server answered instead of a result, and a server that has gone.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Json) -> Result<Json> {
        let mut result = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}))?;
        if result["isError"] == true {
            bail!("{tool}: {}", result["content"][0]["text"].as_str().unwrap_or_default());
        }
        Ok(result["structuredContent"].take())
    }

    fn ask(&mut self, method: &str, params: &Json) -> Result<Json> {
        self.last += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}))?;
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line)? == 0 {
                bail!("the server has gone");
            }
            let mut answer: Json = serde_json::from_str(&line)?;
            if answer["id"] != self.last {
                continue;
            }
            match answer.get("error") {
                Some(error) => bail!("{method}: {error}"),
                None => return Ok(answer["result"].take()),
            }
        }
    }

    fn send(&mut self, message: &Json) -> Result<()> {
        writeln!(self.input, "{message}")?;
        Ok(self.input.flush()?)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
