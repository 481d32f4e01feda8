//! Real servers of MCP on this machine's loopback address: legacy HTTP+SSE, and whatever a test routes.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use dormouse_core::testing::wait_for_async;
use serde_json::{Value as Json, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// A server that ends with the test.
pub(crate) struct Server {
    pub(crate) port: u16,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    pub(crate) async fn start(router: Router) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { port, task }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }
}

/// What a server heard and whom it talks to.
#[derive(Clone, Default)]
pub(crate) struct Heard {
    pub(crate) messages: Arc<Mutex<Vec<Json>>>,
    pub(crate) headers: Arc<Mutex<Vec<HeaderMap>>>,
    streams: Arc<Mutex<HashMap<String, mpsc::UnboundedSender<Bytes>>>>,
}

impl Heard {
    pub(crate) fn methods(&self) -> Vec<String> {
        let messages = self.messages.lock().unwrap();
        messages.iter().map(|message| message["method"].as_str().unwrap_or("answer").to_owned()).collect()
    }

    /// Waits for a message.
    pub(crate) async fn until(&self, method: &str) -> Json {
        wait_for_async(method, super::PATIENCE, async || {
            let messages = self.messages.lock().unwrap();
            messages.iter().find(|one| one["method"] == method).cloned().ok_or_else(|| messages.clone())
        })
        .await
    }
}

/// A body that is fed from elsewhere.
pub(crate) fn fed() -> (mpsc::UnboundedSender<Bytes>, Body) {
    let (sender, receiver) = mpsc::unbounded_channel::<Bytes>();
    let stream = futures::stream::unfold(receiver, |mut receiver| async move {
        receiver.recv().await.map(|bytes| (Ok::<_, Infallible>(bytes), receiver))
    });
    (sender, Body::from_stream(stream))
}

pub(crate) fn event_stream(body: Body) -> Response {
    ([("content-type", "text/event-stream")], body).into_response()
}

pub(crate) fn event(message: &Json) -> Bytes {
    format!("event: message\ndata: {message}\n\n").into()
}

pub(crate) fn tool(name: &str) -> Json {
    json!({
        "name": name, "description": "It is a tool.", "annotations": {"readOnlyHint": true, "x-own": [1]},
        "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}, "x-own": true},
        "outputSchema": {"type": "object"},
    })
}

/// What the tools of these servers do. `slow` answers when it is cancelled, which is too late.
pub(crate) fn answers(message: &Json) -> Vec<Json> {
    let id = &message["id"];
    let result = |result: Json| vec![json!({"jsonrpc": "2.0", "id": id, "result": result})];
    let refuse = |code: i64, text: &str| {
        vec![json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": text}})]
    };
    let arguments = &message["params"]["arguments"];
    match (message["method"].as_str(), message["params"]["name"].as_str()) {
        (Some("initialize"), _) => result(json!({
            "protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}},
            "serverInfo": {"name": "test", "version": "1"},
        })),
        (Some("tools/list"), _) => match message["params"]["cursor"].as_str() {
            None => result(json!({"tools": [tool("echo"), tool("slow")], "nextCursor": "2"})),
            Some(_) => result(json!({"tools": [tool("progress"), tool("fails")]})),
        },
        (Some("tools/call"), Some("echo")) => result(json!({
            "content": [{"type": "text", "text": "one"}, {"type": "x-own", "data": {"a": 1}}, {"type": "text", "text": "two"}],
            "structuredContent": {"args": arguments, "deep": [null, 1.5]}, "x-own": 1,
        })),
        (Some("tools/call"), Some("progress")) => {
            let token = &message["params"]["_meta"]["progressToken"];
            let progress = |done: u32| {
                let params = json!({"progressToken": token, "progress": done, "total": 2, "message": format!("step {done}")});
                json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
            };
            [vec![progress(1), progress(2)], result(json!({"content": []}))].concat()
        }
        (Some("tools/call"), Some("fails")) => {
            result(json!({"content": [{"type": "text", "text": "no"}], "isError": true}))
        }
        (Some("tools/call"), Some("slow")) => Vec::new(),
        (Some("tools/call"), Some("picky")) => refuse(-32602, "n is odd"),
        (Some("tools/call"), Some("breaks")) => refuse(-32603, "broke \u{1b}[31m"),
        (Some("tools/call"), _) => refuse(-32602, "Unknown tool: x"),
        (Some("notifications/cancelled"), _) => {
            vec![json!({"jsonrpc": "2.0", "id": message["params"]["requestId"], "result": {"content": []}})]
        }
        _ if id.is_null() => Vec::new(),
        _ => refuse(-32601, "Method not found"),
    }
}

/// A legacy HTTP+SSE server, as images of the seed have it: `/sse` and `/messages`.
pub(crate) fn legacy(heard: Heard) -> Router {
    async fn stream(State(heard): State<Heard>) -> Response {
        let (sender, body) = fed();
        let id = heard.streams.lock().unwrap().len().to_string();
        sender.send(format!("event: endpoint\r\ndata: /messages?session={id}\r\n\r\n").into()).unwrap();
        heard.streams.lock().unwrap().insert(id, sender);
        event_stream(body)
    }
    async fn message(State(heard): State<Heard>, uri: Uri, body: Bytes) -> StatusCode {
        let message: Json = serde_json::from_slice(&body).unwrap();
        heard.messages.lock().unwrap().push(message.clone());
        let streams = heard.streams.lock().unwrap();
        let Some(sender) = streams.get(uri.query().unwrap().trim_start_matches("session=")) else {
            return StatusCode::NOT_FOUND;
        };
        for answer in answers(&message) {
            let _ = sender.send(event(&answer));
        }
        StatusCode::ACCEPTED
    }
    Router::new().route("/sse", get(stream)).route("/messages", post(message)).with_state(heard)
}

/// A Streamable HTTP server of the older era with sessions, at `/mcp`, that answers in streams.
pub(crate) fn streamable(heard: Heard) -> Router {
    async fn message(State(heard): State<Heard>, headers: HeaderMap, body: Bytes) -> Response {
        let message: Json = serde_json::from_slice(&body).unwrap();
        heard.messages.lock().unwrap().push(message.clone());
        heard.headers.lock().unwrap().push(headers.clone());
        let first = message["method"] == "initialize";
        if !first && headers.get("mcp-session-id").is_none_or(|id| id != "s-1") {
            return (StatusCode::BAD_REQUEST, "no session").into_response();
        }
        if message["id"].is_null() {
            return StatusCode::ACCEPTED.into_response();
        }
        let (sender, body) = fed();
        for answer in answers(&message) {
            sender.send(event(&answer)).unwrap();
        }
        if message["params"]["name"] == "slow" {
            // The stream stays open.
            heard.streams.lock().unwrap().insert("slow".into(), sender);
        }
        let mut response = event_stream(body);
        response.headers_mut().insert("mcp-session-id", "s-1".parse().unwrap());
        response
    }
    async fn end(State(heard): State<Heard>, headers: HeaderMap) -> StatusCode {
        let session = headers["mcp-session-id"].to_str().unwrap().to_owned();
        heard.messages.lock().unwrap().push(json!({"method": "DELETE", "session": session}));
        StatusCode::OK
    }
    Router::new().route("/mcp", post(message).delete(end)).with_state(heard)
}
