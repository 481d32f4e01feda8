//! An endpoint of a model that says what the test tells it to: a real server on a free port, which keeps every request.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Response};
use serde_json::{Value as Json, json};

/// What the server does for one request.
pub(crate) enum Say {
    /// A text.
    Text(&'static str),
    /// Calls of tools: name and arguments, as the model writes them.
    Calls(Vec<(&'static str, &'static str)>),
    /// A status and a body.
    Status(u16, &'static str),
    /// These bytes.
    Raw(&'static str),
    /// Nothing, for ever.
    Silence,
}

/// One request as it came.
#[derive(Clone)]
pub(crate) struct Asked {
    pub(crate) key: Option<String>,
    pub(crate) body: Json,
}

#[derive(Default)]
struct Script {
    next: VecDeque<Say>,
    asked: Vec<Asked>,
}

/// The server. It ends with its runtime. After its script it calls `Say` for ever.
#[derive(Clone)]
pub(crate) struct Server {
    script: Arc<Mutex<Script>>,
    pub(crate) url: String,
}

impl Server {
    pub(crate) async fn start(says: impl IntoIterator<Item = Say>) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let script = Arc::new(Mutex::new(Script { next: says.into_iter().collect(), ..Script::default() }));
        let router = Router::new().fallback(answer).with_state(script.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { script, url }
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.script.lock().unwrap().asked.clone()
    }
}

async fn answer(
    State(script): State<Arc<Mutex<Script>>>,
    headers: HeaderMap,
    bytes: Bytes,
) -> Response<Body> {
    let say = {
        let mut script = script.lock().unwrap();
        let key = headers.get("authorization").map(|key| key.to_str().unwrap().to_owned());
        script.asked.push(Asked { key, body: serde_json::from_slice(&bytes).unwrap() });
        script.next.pop_front().unwrap_or(Say::Calls(vec![("Say", "{}")]))
    };
    let message = match say {
        Say::Text(text) => json!({"role": "assistant", "content": text}),
        Say::Calls(calls) => {
            let calls = calls.iter().enumerate().map(|(at, (name, arguments))| {
                json!({"id": format!("c{at}"), "type": "function", "function": {"name": name, "arguments": arguments}})
            });
            json!({"role": "assistant", "content": null, "tool_calls": calls.collect::<Vec<_>>()})
        }
        Say::Status(status, body) => {
            return Response::builder().status(status).body(Body::from(body)).unwrap();
        }
        Say::Raw(body) => return Response::new(Body::from(body)),
        Say::Silence => std::future::pending().await,
    };
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 5});
    Response::new(Body::from(
        json!({"choices": [{"index": 0, "message": message}], "usage": usage}).to_string(),
    ))
}
