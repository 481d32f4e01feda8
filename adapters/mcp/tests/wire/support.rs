//! A client that speaks bytes, and a provider that runs nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use dormouse_core::outcome::Usage;
use dormouse_core::testing::wait_until_async;
use dormouse_core::{
    Captured, EvalRequest, GuestInfo, Outcome, Policy, Provider, Result, Runtime, Status, Stream, Value,
};
use dormouse_mcp::McpError;
use dormouse_tools::Surface;
use serde_json::{Value as Json, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex};
use tokio::task::JoinHandle;

/// The newest protocol revision with a handshake.
pub(crate) const LEGACY: &str = "2025-11-25";
/// The revision without one.
pub(crate) const MODERN: &str = "2026-07-28";

/// How long an attack may hold a place.
pub(crate) const PROMISE: Duration = Duration::from_secs(1);
/// What a busy machine may add to any time.
pub(crate) const NOISE: Duration = Duration::from_secs(2);

/// Counts runs. The source `sleep` takes until its time limit and writes a byte every 10 ms; `work` computes for 2 ms and prints
/// 16 KiB; any other is printed.
#[derive(Default)]
pub(crate) struct Fake {
    /// Runs that began.
    pub(crate) started: AtomicUsize,
    /// Runs whose future was dropped before its end.
    pub(crate) dropped: AtomicUsize,
}

/// Counts a drop unless it is forgotten.
struct Guard<'a>(&'a Fake, bool);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if !self.1 {
            self.0.dropped.fetch_add(1, Ordering::SeqCst);
        }
    }
}

#[async_trait]
impl Provider for Fake {
    fn name(&self) -> &'static str {
        "fake"
    }

    fn guests(&self) -> Vec<GuestInfo> {
        Vec::new()
    }

    async fn eval(&self, request: EvalRequest) -> Result<Outcome> {
        self.started.fetch_add(1, Ordering::SeqCst);
        let mut guard = Guard(self, false);
        if request.code == "sleep" {
            let end = tokio::time::Instant::now() + request.context.limits.wall;
            while tokio::time::Instant::now() < end {
                tokio::time::sleep(Duration::from_millis(10)).await;
                if let Some(sink) = &request.context.output {
                    sink.write(Stream::Stdout, b"x");
                }
            }
        }
        let mut printed = request.code.to_string();
        if printed == "work" {
            // As a guest does that computes: its thread does nothing else meanwhile.
            std::thread::sleep(Duration::from_millis(2));
            printed = "x".repeat(16 << 10);
        }
        guard.1 = true;
        let stdout = Captured::from_bytes(printed.as_bytes(), printed.len() as u64);
        let (stderr, usage) = (Captured::default(), Usage::default());
        Ok(Outcome {
            status: Status::Returned(Value::null()),
            stdout,
            stderr,
            usage,
            provider: "fake",
            fallback_from: None,
            recovery: None,
            warning: None,
            closed_files: Vec::new(),
            recovery_reason: None,
            network: None,
        })
    }
}

impl Fake {
    /// Waits until so many runs have been dropped; at most a second, what an attack may hold a place for, and what a busy machine
    /// adds to it.
    pub(crate) async fn wait_dropped(&self, count: usize) {
        let dropped = || self.dropped.load(Ordering::SeqCst) >= count;
        wait_until_async("the run is dropped", PROMISE + NOISE, dropped).await;
    }

    /// Waits until so many runs have begun.
    pub(crate) async fn wait_started(&self, count: usize) {
        let started = || self.started.load(Ordering::SeqCst) >= count;
        wait_until_async("the run begins", Duration::from_secs(10), started).await;
    }
}

/// Fails after ten seconds.
pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(10), future).await.expect("an answer within ten seconds")
}

/// A client of a server of its own.
pub(crate) struct Client {
    /// What the server reads. None after [`Client::end`].
    pub(crate) input: Option<DuplexStream>,
    /// What the server wrote.
    pub(crate) output: Option<BufReader<DuplexStream>>,
    /// The server.
    pub(crate) server: JoinHandle<std::result::Result<(), McpError>>,
    /// What runs the calls.
    pub(crate) fake: Arc<Fake>,
}

impl Client {
    /// A server without a handshake yet.
    pub(crate) fn new() -> Self {
        let (input, reader) = duplex(8 << 10);
        let (writer, output) = duplex(8 << 10);
        let fake = Arc::new(Fake::default());
        let surface = Arc::new(Surface::new(Runtime::new(Policy::default(), fake.clone())));
        let server = tokio::spawn(dormouse_mcp::serve(surface, reader, writer));
        Self { input: Some(input), output: Some(BufReader::new(output)), server, fake }
    }

    /// A server after a legacy handshake.
    pub(crate) async fn ready() -> Self {
        let mut client = Self::new();
        let answer = client.request(0, "initialize", initialize(LEGACY)).await;
        assert_eq!(answer["result"]["protocolVersion"], LEGACY);
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        client
    }

    /// Sends bytes as they are.
    pub(crate) async fn raw(&mut self, bytes: &[u8]) {
        within(self.input.as_mut().expect("open").write_all(bytes)).await.expect("sent");
    }

    /// Sends one message.
    pub(crate) async fn send(&mut self, message: &Json) {
        self.raw(format!("{message}\n").as_bytes()).await;
    }

    /// Sends a request and returns the next message.
    pub(crate) async fn request(&mut self, id: u64, method: &str, params: Json) -> Json {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        let answer = self.next().await;
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Sends a call of `sandbox_eval` without waiting.
    pub(crate) async fn start(&mut self, id: u64, arguments: Json) {
        let params = json!({"name": "sandbox_eval", "arguments": arguments});
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})).await;
    }

    /// Sends a call of `sandbox_eval` and returns its result.
    pub(crate) async fn eval(&mut self, id: u64, arguments: Json) -> Json {
        let params = json!({"name": "sandbox_eval", "arguments": arguments});
        self.request(id, "tools/call", params).await["result"].take()
    }

    /// Cancels a request.
    pub(crate) async fn cancel(&mut self, id: u64) {
        let params = json!({"requestId": id, "reason": "test"});
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})).await;
    }

    /// The next message. Every line must be one: nothing else may reach the output (MCP-10).
    pub(crate) async fn next(&mut self) -> Json {
        self.try_next().await.expect("a message")
    }

    /// The next message, or None at the end.
    pub(crate) async fn try_next(&mut self) -> Option<Json> {
        let mut line = String::new();
        let read = within(self.output.as_mut().expect("open").read_line(&mut line)).await.expect("read");
        if read == 0 {
            return None;
        }
        let message: Json = serde_json::from_str(&line).expect("a line of the output is JSON");
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        Some(message)
    }

    /// The server still answers, and nothing was sent before the answer.
    pub(crate) async fn still_serves(&mut self, id: u64) {
        let answer = self.request(id, "ping", json!({})).await;
        assert_eq!(answer["result"], json!({}), "{answer}");
    }

    /// Closes the input, and returns what the server still wrote. It must end without an error.
    pub(crate) async fn end(mut self) -> Vec<Json> {
        self.input = None;
        let mut rest = Vec::new();
        while let Some(message) = self.try_next().await {
            rest.push(message);
        }
        within(&mut self.server).await.expect("no panic").expect("a clean end");
        rest
    }
}

/// Parameters of a handshake.
pub(crate) fn initialize(version: &str) -> Json {
    json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}})
}

/// `_meta` of a stateless request.
pub(crate) fn meta(version: &str) -> Json {
    json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    })
}
