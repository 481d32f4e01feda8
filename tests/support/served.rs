//! The real server of `dormouse serve`, and a client of it that sees bytes.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Child;
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::binary::{self, Ran};

/// How long any answer may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running server.
pub struct Served {
    child: Child,
    stderr: Option<JoinHandle<Vec<u8>>>,
    authority: String,
}

/// One answer.
#[derive(Debug)]
pub struct Told {
    /// The status.
    pub status: u16,
    /// The head, in lower case.
    pub head: String,
    /// The body.
    pub body: Vec<u8>,
}

impl Told {
    /// The body as JSON; null when it is none.
    pub fn json(&self) -> Json {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The stable code of a refusal.
    pub fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_default().to_owned()
    }
}

impl Served {
    /// Starts a server on a free port, with further arguments.
    pub fn start(arguments: &[&str]) -> Self {
        Self::start_with(arguments, &[])
    }

    /// The same with environment variables.
    pub fn start_with(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut command = binary::command(&[&["serve", "--listen", "127.0.0.1:0"], arguments].concat());
        command.envs(environment.iter().copied());
        let mut child = command.spawn().expect("the server can be started");
        let stderr = binary::drain(child.stderr.take());
        let mut address = String::new();
        let stdout = child.stdout.take().expect("a pipe was asked for");
        BufReader::new(stdout).read_line(&mut address).expect("the server tells its address");
        let Some(authority) = address.trim().strip_prefix("http://").map(str::to_owned) else {
            let _ = child.kill();
            panic!("no address: {}", String::from_utf8_lossy(&stderr.join().unwrap_or_default()));
        };
        Self { child, stderr: Some(stderr), authority }
    }

    /// The server's process.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Its address and port.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// A connection to it, over which bytes have been sent.
    pub fn raw(&self, bytes: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(&self.authority).expect("the server listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time");
        // A server that refuses may close before everything is sent.
        let _ = stream.write_all(bytes);
        stream
    }

    /// One request with these further headers, begun and not waited for.
    pub fn begin(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> TcpStream {
        let mut head =
            format!("{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            head += &format!("Host: {}\r\n", self.authority);
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        self.raw(&[head.as_bytes(), b"\r\n", body].concat())
    }

    /// One request and its answer.
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Told {
        told(self.begin(method, path, headers, body))
    }

    /// One request of JSON, as the owner of a token if there is one.
    pub fn ask(&self, method: &str, path: &str, token: Option<&str>, body: Option<&Json>) -> Told {
        let bearer = token.map(|token| format!("Bearer {token}"));
        let mut headers = Vec::new();
        headers.extend(bearer.as_deref().map(|bearer| ("Authorization", bearer)));
        headers.extend(body.map(|_| ("Content-Type", "application/json")));
        self.send(method, path, &headers, body.map(Json::to_string).unwrap_or_default().as_bytes())
    }

    /// A call of a tool over MCP, in the form of the revision without a handshake; the whole answer.
    pub fn mcp(&self, token: Option<&str>, tool: &str, arguments: &Json) -> Told {
        told(self.begin_mcp(token, tool, arguments))
    }

    /// The same, not waited for.
    pub fn begin_mcp(&self, token: Option<&str>, tool: &str, arguments: &Json) -> TcpStream {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "served", "version": "0"},
        });
        let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let bearer = token.map(|token| format!("Bearer {token}"));
        let mut headers = vec![
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", tool),
        ];
        headers.extend(bearer.as_deref().map(|bearer| ("Authorization", bearer)));
        self.begin("POST", "/mcp", &headers, message.to_string().as_bytes())
    }

    /// Ends the server at once, as a loss of power does.
    pub fn kill(self) {
        drop(self);
    }

    /// Asks the server to end as a service manager does, and waits for it.
    pub fn end(mut self) -> Ran {
        terminate(self.process());
        let status = binary::wait(&mut self.child, PATIENCE);
        let read = |thread: JoinHandle<Vec<u8>>| thread.join().expect("a reader does not panic");
        let stderr = self.stderr.take().map(read).unwrap_or_default();
        Ran { status, stdout: Vec::new(), stderr }
    }
}

/// A server ends with its test, however that ends.
impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends SIGTERM to a process that a test started.
pub fn terminate(process: u32) {
    signal(process, "TERM");
}

/// Sends a signal, by its name, to a process that a test started. The shell's own `kill`: the program of that name is not
/// everywhere.
pub fn signal(process: u32, name: &str) {
    let line = format!("kill -{name} {process}");
    let ran = binary::finish(binary::started(Path::new("/bin/sh"), &["-c", &line]), b"");
    assert_eq!(ran.status, Some(0), "{}", ran.complaint());
}

/// Reads an answer to its end.
pub fn told(mut stream: TcpStream) -> Told {
    let mut bytes = Vec::new();
    // What was read before the connection broke is what there is.
    let _ = stream.read_to_end(&mut bytes);
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(bytes.len());
    let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
    Told { status, head, body: bytes.get(end + 4..).unwrap_or_default().to_vec() }
}
