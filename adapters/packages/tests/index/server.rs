//! An index that says what the test tells it to: a real server on a free port, which keeps what it is asked.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Response, StatusCode, Uri};

/// What the server does for a path.
#[derive(Clone, Debug)]
pub(crate) enum Say {
    /// Answers these bytes of this type.
    Body(&'static str, Vec<u8>),
    /// Answers this status.
    Status(u16),
    /// Leads elsewhere.
    Redirect(String),
    /// Answers a body without an end.
    Endless,
    /// Begins a body and waits with the rest.
    Stalled,
    /// Never answers.
    Silent,
}

/// One request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
}

#[derive(Default)]
struct Script {
    says: HashMap<String, Say>,
    asked: Vec<Asked>,
}

/// The server. It ends with its runtime, or when it is stopped.
pub(crate) struct Server {
    script: Arc<Mutex<Script>>,
    task: tokio::task::JoinHandle<()>,
    /// Its address, such as `http://127.0.0.1:4711`.
    pub(crate) url: String,
}

impl Server {
    pub(crate) async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let script: Arc<Mutex<Script>> = Arc::default();
        let router = Router::new().fallback(answer).with_state(script.clone());
        let task = tokio::spawn(async move {
            let _ = axum::serve(listener, router).await;
        });
        Self { script, task, url }
    }

    pub(crate) fn put(&self, path: impl Into<String>, say: Say) {
        lock(&self.script).says.insert(path.into(), say);
    }

    /// The bytes of a path.
    pub(crate) fn bytes(&self, path: &str) -> Vec<u8> {
        match lock(&self.script).says.get(path) {
            Some(Say::Body(_, bytes)) => bytes.clone(),
            other => panic!("{path}: {other:?}"),
        }
    }

    /// What it was asked so far; forgotten then.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut lock(&self.script).asked)
    }

    /// From now on every request fails.
    pub(crate) fn stop(&self) {
        for say in lock(&self.script).says.values_mut() {
            *say = Say::Status(503);
        }
        self.task.abort();
    }
}

fn lock(script: &Mutex<Script>) -> MutexGuard<'_, Script> {
    script.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn answer(State(script): State<Arc<Mutex<Script>>>, uri: Uri, headers: HeaderMap) -> Response<Body> {
    let path = uri.path().to_owned();
    let say = {
        let mut script = lock(&script);
        script.asked.push(Asked { path: path.clone(), headers });
        script.says.get(&path).cloned().unwrap_or(Say::Status(404))
    };
    let mut response = Response::new(Body::empty());
    match say {
        Say::Body(kind, bytes) => {
            *response.body_mut() = Body::from(bytes);
            response.headers_mut().insert("content-type", kind.parse().unwrap());
        }
        Say::Status(status) => *response.status_mut() = StatusCode::from_u16(status).unwrap(),
        Say::Redirect(to) => {
            *response.status_mut() = StatusCode::FOUND;
            response.headers_mut().insert("location", to.parse().unwrap());
        }
        Say::Endless => {
            let chunk = || Some((Ok::<_, std::io::Error>(Bytes::from(vec![b' '; 64 << 10])), ()));
            *response.body_mut() =
                Body::from_stream(futures::stream::unfold((), move |()| async move { chunk() }));
        }
        Say::Stalled => {
            let first = futures::stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(b"{"))]);
            let rest = futures::stream::pending();
            *response.body_mut() = Body::from_stream(futures::StreamExt::chain(first, rest));
        }
        Say::Silent => std::future::pending::<()>().await,
    }
    response
}
