//! A real git server: Debian's `git http-backend` behind HTTP, in a folder of bare repositories.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Response, StatusCode};
use dormouse_tests::{binary, sandbox};

/// Longest request of a test, in bytes.
const MAX_REQUEST: usize = 64 << 20;

/// What it saw and what it asks for.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Methods and addresses.
    pub(crate) requests: Vec<String>,
    /// What was said of who comes.
    pub(crate) authorizations: Vec<Option<String>>,
}

struct Shared {
    folder: PathBuf,
    /// The header that callers must show.
    wanted: Option<String>,
    seen: Mutex<Seen>,
}

/// A server on this machine.
pub(crate) struct Server {
    pub(crate) url: String,
    shared: Arc<Shared>,
}

impl Server {
    /// Serves the bare repositories of a folder to those who show the header.
    pub(crate) fn start(folder: &Path, wanted: Option<&str>) -> Self {
        let (folder, wanted) = (folder.to_owned(), wanted.map(str::to_owned));
        let shared = Arc::new(Shared { folder, wanted, seen: Mutex::default() });
        let routes = Router::new().fallback(answer).with_state(shared.clone());
        let url = sandbox::wait(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let url = format!("http://{}", listener.local_addr().unwrap());
            tokio::spawn(async move { axum::serve(listener, routes).await });
            url
        });
        Self { url, shared }
    }

    pub(crate) fn seen(&self) -> Seen {
        std::mem::take(&mut self.shared.seen.lock().unwrap())
    }
}

async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let authorization = parts.headers.get("authorization").map(|value| value.to_str().unwrap().to_owned());
    {
        let mut seen = shared.seen.lock().unwrap();
        seen.requests.push(format!("{} {}", parts.method, parts.uri));
        seen.authorizations.push(authorization.clone());
    }
    let plain = |status: StatusCode| Response::builder().status(status);
    if parts.uri.path().starts_with("/moved") {
        let to = parts.uri.to_string().replace("/moved", "");
        return plain(StatusCode::FOUND).header("location", to).body(Body::empty()).unwrap();
    }
    if parts.uri.path().starts_with("/page") {
        return plain(StatusCode::OK)
            .header("content-type", "text/html")
            .body(Body::from("<p>hello"))
            .unwrap();
    }
    if parts.uri.path().starts_with("/silent") {
        return std::future::pending().await;
    }
    if parts.uri.path().starts_with("/trickle") {
        let bytes = futures::stream::unfold((), async |()| {
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            Some((Ok::<_, std::convert::Infallible>("0"), ()))
        });
        return plain(StatusCode::OK)
            .header("content-type", "application/x-git-upload-pack-advertisement")
            .body(Body::from_stream(bytes))
            .unwrap();
    }
    if parts.uri.path().starts_with("/endless") {
        let chunk = || Ok::<_, std::convert::Infallible>(vec![b'x'; 1 << 20]);
        let body = Body::from_stream(futures::stream::repeat_with(chunk));
        return plain(StatusCode::OK)
            .header("content-type", "application/x-git-upload-pack-advertisement")
            .body(body)
            .unwrap();
    }
    if shared.wanted.is_some() && shared.wanted != authorization {
        return plain(StatusCode::UNAUTHORIZED).body(Body::from("secret words of the server")).unwrap();
    }
    let body = to_bytes(body, MAX_REQUEST).await.unwrap();
    let (path, query) = (parts.uri.path().to_owned(), parts.uri.query().unwrap_or_default().to_owned());
    let method = parts.method.to_string();
    let command = backend(&shared.folder, &method, &path, &query, &parts.headers);
    let ran = tokio::task::spawn_blocking(move || binary::finish(command, &body)).await.unwrap();
    let end = ran.stdout.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(ran.stdout.len());
    let head = String::from_utf8_lossy(&ran.stdout[..end]).into_owned();
    let mut response = Response::builder();
    for (name, value) in head.lines().filter_map(|line| line.split_once(": ")) {
        response = match name {
            "Status" => response.status(value[..3].parse::<u16>().unwrap()),
            _ => response.header(name, value),
        };
    }
    response.body(Body::from(ran.stdout[(end + 4).min(ran.stdout.len())..].to_vec())).unwrap()
}

fn backend(folder: &Path, method: &str, path: &str, query: &str, headers: &HeaderMap) -> Command {
    let mut command = binary::started(Path::new("git"), &["http-backend"]);
    command.env("GIT_PROJECT_ROOT", folder).env("GIT_HTTP_EXPORT_ALL", "1");
    command.env("REQUEST_METHOD", method).env("PATH_INFO", path).env("QUERY_STRING", query);
    command.env("REMOTE_USER", "someone").env("REMOTE_ADDR", "127.0.0.1").env("GIT_CONFIG_NOSYSTEM", "1");
    let header =
        |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    command.env("CONTENT_TYPE", header("content-type"));
    command
        .env("CONTENT_LENGTH", header("content-length"))
        .env("HTTP_CONTENT_ENCODING", header("content-encoding"));
    command
}
