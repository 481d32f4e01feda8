//! An endpoint of a language model that says what the test tells it to: a real server on a free port, which keeps every
//! request.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Response, StatusCode, Uri};
use serde_json::{Value as Json, json};

/// What the server does for one request.
#[derive(Clone, Debug)]
pub(crate) enum Say {
    /// Answers this text, in the form that the request's path asks for.
    Text(String),
    /// Answers this status, with a `Retry-After` if there is one, and this body.
    Status(u16, Option<&'static str>, String),
    /// Answers these bytes with status 200.
    Raw(String),
    /// Answers a body without an end.
    Endless,
    /// Begins a body and waits with the rest.
    Stalled,
    /// Answers nothing for this long, then "late".
    After(Duration),
}

/// One request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// Its path.
    pub(crate) path: String,
    /// Its headers.
    pub(crate) headers: HeaderMap,
    /// Its body.
    pub(crate) body: Json,
}

#[derive(Default)]
struct Script {
    next: VecDeque<Say>,
    asked: Vec<Asked>,
    under_way: usize,
    most_under_way: usize,
}

/// The server. It ends with its runtime.
#[derive(Clone)]
pub(crate) struct Server {
    script: Arc<Mutex<Script>>,
    /// Its address, such as `http://127.0.0.1:4711`.
    pub(crate) url: String,
}

impl Server {
    /// A server that says these things, one for each request, and after them repeats what it is asked.
    pub(crate) async fn start(says: impl IntoIterator<Item = Say>) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let script = Arc::new(Mutex::new(Script { next: says.into_iter().collect(), ..Script::default() }));
        let router = Router::new().fallback(answer).with_state(script.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { script, url }
    }

    /// A server that says these texts.
    pub(crate) async fn texts<const N: usize>(texts: [&str; N]) -> Self {
        Self::start(texts.map(|text| Say::Text(text.into()))).await
    }

    /// What it was asked so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        lock(&self.script).asked.clone()
    }

    /// How many requests were in progress at one time at most.
    pub(crate) fn most_under_way(&self) -> usize {
        lock(&self.script).most_under_way
    }

    /// How many requests are in progress: asked, and neither answered nor given up.
    pub(crate) fn under_way(&self) -> usize {
        lock(&self.script).under_way
    }
}

fn lock(script: &Mutex<Script>) -> MutexGuard<'_, Script> {
    script.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts a request in progress; the server drops it when its client has gone.
struct UnderWay(Arc<Mutex<Script>>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        lock(&self.0).under_way -= 1;
    }
}

async fn answer(
    State(script): State<Arc<Mutex<Script>>>,
    uri: Uri,
    headers: HeaderMap,
    bytes: Bytes,
) -> Response<Body> {
    let path = uri.path().to_owned();
    let say = {
        let mut script = lock(&script);
        let body: Json = serde_json::from_slice(&bytes).unwrap_or(Json::Null);
        script.under_way += 1;
        script.most_under_way = script.most_under_way.max(script.under_way);
        let last = body["messages"].as_array().and_then(|messages| messages.last());
        let echo = || Say::Text(last.map_or("", |last| last["content"].as_str().unwrap_or("")).to_owned());
        let say = script.next.pop_front().unwrap_or_else(echo);
        script.asked.push(Asked { path: path.clone(), headers, body });
        say
    };
    let _under_way = UnderWay(script);
    match say {
        Say::Text(text) => respond(200, None, said(&path, &text)),
        Say::Status(status, after, body) => respond(status, after, body),
        Say::Raw(body) => respond(200, None, body),
        Say::Endless => {
            let chunk = || Some((Ok::<_, std::io::Error>(Bytes::from(vec![b' '; 64 << 10])), ()));
            let body = Body::from_stream(futures::stream::unfold((), move |()| async move { chunk() }));
            Response::new(body)
        }
        Say::Stalled => {
            let first = Ok::<_, std::io::Error>(Bytes::from_static(b"{"));
            let rest = futures::stream::pending();
            Response::new(Body::from_stream(futures::StreamExt::chain(futures::stream::iter([first]), rest)))
        }
        Say::After(time) => {
            tokio::time::sleep(time).await;
            respond(200, None, said(&path, "late"))
        }
    }
}

fn respond(status: u16, after: Option<&str>, body: String) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::from_u16(status).expect("a status");
    if let Some(after) = after {
        let after = after.parse().expect("a header");
        response.headers_mut().insert("retry-after", after);
    }
    response
}

/// A text as the endpoint of that path says it: 10 tokens of prompt, 5 of answer.
fn said(path: &str, text: &str) -> String {
    let body = if path.ends_with("/messages") {
        json!({
            "type": "message",
            "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": text}],
            "usage": {"input_tokens": 10, "output_tokens": 5},
        })
    } else {
        json!({
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
        })
    };
    body.to_string()
}
