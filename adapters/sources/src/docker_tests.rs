//! The source `docker` over containers that only pretend, with servers that are real.

use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use dormouse_core::Access;
use dormouse_core::sandbox::Entry;
use dormouse_core::testing::wait_until_async;
use serde_json::json;

use super::*;
use crate::testing::PATIENCE;
use crate::testing::server::{Heard, Server, legacy, streamable};

/// Containers whose server is a task of the test: what listens is real, the container around it is not.
#[derive(Default)]
struct Pretend {
    asked: Mutex<Vec<ContainerAsk>>,
    /// The names of the files that each was given.
    given: Mutex<Vec<Vec<String>>>,
    commands: Arc<Mutex<Vec<Vec<String>>>>,
    live: Arc<AtomicUsize>,
    /// What the server in the next container does; none: nothing listens.
    router: Mutex<Option<Router>>,
    /// What a program in it ends with.
    exit: Mutex<(i32, String)>,
}

struct PretendRunning {
    server: Mutex<Option<Server>>,
    port: u16,
    commands: Arc<Mutex<Vec<Vec<String>>>>,
    live: Arc<AtomicUsize>,
    exit: (i32, String),
}

#[async_trait]
impl Containers for Pretend {
    async fn start(
        &self,
        ask: ContainerAsk,
        workspace: Option<Arc<dyn Contents>>,
    ) -> Result<Box<dyn Running>> {
        let mut given = Vec::new();
        if let Some(workspace) = workspace {
            given.extend(workspace.list().await?.into_iter().map(|entry| entry.path));
        }
        self.given.lock().unwrap().push(given);
        if ask.image == "absent" {
            return Err(Error::new(ErrorCode::NotFound, "there is no image `absent`"));
        }
        self.asked.lock().unwrap().push(ask);
        let router = self.router.lock().unwrap().clone();
        let server = match router {
            Some(router) => Some(Server::start(router).await),
            None => None,
        };
        // Nothing listens at port 1.
        let port = server.as_ref().map_or(1, |server| server.port);
        self.live.fetch_add(1, Ordering::SeqCst);
        let exit = self.exit.lock().unwrap().clone();
        let (commands, live) = (self.commands.clone(), self.live.clone());
        Ok(Box::new(PretendRunning { server: Mutex::new(server), port, commands, live, exit }))
    }
}

#[async_trait]
impl Running for PretendRunning {
    fn port(&self) -> u16 {
        self.port
    }

    async fn exec(&self, argv: &[String]) -> Result<(i32, String)> {
        self.commands.lock().unwrap().push(argv.to_vec());
        Ok(self.exit.clone())
    }

    async fn remove(&self) -> Result<()> {
        tokio::task::yield_now().await;
        drop(self.server.lock().unwrap().take());
        self.live.fetch_sub(1, Ordering::SeqCst);
        Ok(())
    }
}

/// Clones of which each has one file, named after its branch. Addresses are allowed below `https://allowed/`.
#[derive(Clone, Default)]
struct Clones {
    cloned: Arc<Mutex<Vec<String>>>,
    ended: Arc<AtomicUsize>,
}

struct OneFile {
    name: String,
    ended: Arc<AtomicUsize>,
}

#[async_trait]
impl Repositories for Clones {
    fn check(&self, address: &str) -> Result<()> {
        match address.starts_with("https://allowed/") {
            true => Ok(()),
            false => Err(Error::new(ErrorCode::CapabilityUnavailable, "not this address")),
        }
    }

    async fn cloned(&self, address: &str, branch: Option<&str>) -> Result<Arc<dyn Contents>> {
        self.cloned.lock().unwrap().push(address.to_owned());
        match branch {
            Some("none") => Err(Error::args_invalid("the repository cannot be cloned: no such branch")),
            branch => {
                Ok(Arc::new(OneFile { name: branch.unwrap_or("its own").into(), ended: self.ended.clone() }))
            }
        }
    }
}

#[async_trait]
impl Contents for OneFile {
    async fn list(&self) -> Result<Vec<Entry>> {
        let kind = dormouse_core::sandbox::EntryKind::File;
        Ok(vec![Entry { path: self.name.clone(), kind, bytes: 0, modified_ms: 0, target: None }])
    }

    async fn read(&self, _: &str, _: u64, _: u64) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }

    async fn end(&self) -> Result<()> {
        self.ended.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

fn map(value: Json) -> Map<String, Json> {
    let Json::Object(map) = value else { panic!("a map") };
    map
}

fn source(router: Option<Router>) -> (Arc<Pretend>, DockerSource) {
    let pretend = Arc::new(Pretend { router: Mutex::new(router), ..Pretend::default() });
    (pretend.clone(), DockerSource::new(pretend).with_budget(Duration::from_secs(60)))
}

async fn until_gone(pretend: &Pretend) {
    let gone = || pretend.live.load(Ordering::SeqCst) == 0;
    wait_until_async("the container is removed", PATIENCE, gone).await;
}

#[tokio::test]
async fn a_container_is_started_filled_connected_and_removed() {
    let (pretend, source) = source(Some(legacy(Heard::default())));
    let folder = tempfile::tempdir().unwrap();
    let source =
        source.with_mountable(Mountable::default().folder(folder.path(), Access::ReadWrite).unwrap());
    let source = source.with_network(true);
    let args = map(json!({
        "image": "img:1", "network": true, "repo": "https://example.com/a b.git", "branch": "main", "env": {"DEV_MODE": "1"},
        "mounts": [
            {"source": folder.path(), "target": "/skills/s", "readonly": true},
            {"source": folder.path(), "target": "/data"},
        ],
    }));
    source.check(&args).unwrap();
    assert!(source.takes_mounts());
    let opened = source.open(args).await.unwrap();
    let ask = pretend.asked.lock().unwrap()[0].clone();
    assert_eq!((ask.image.as_str(), ask.port, ask.network), ("img:1", 8080, true));
    assert_eq!(ask.env, [("DEV_MODE".to_owned(), "1".to_owned())]);
    let accesses: Vec<Access> = ask.mounts.iter().map(|mount| mount.access).collect();
    assert_eq!(accesses, [Access::ReadOnly, Access::ReadWrite]);
    let clone = ["git", "clone", "--branch", "main", "--", "https://example.com/a b.git", "/workspace"];
    assert_eq!(*pretend.commands.lock().unwrap(), [clone.map(str::to_owned)]);
    assert!(opened.url.starts_with("http://localhost:"), "{}", opened.url);
    assert_eq!(opened.endpoint.list().await.unwrap().len(), 4);
    let call = Call { tool: "echo".into(), arguments: Map::new(), progress: None, key: None };
    assert_eq!(opened.endpoint.call(call).await.unwrap().text(), "one\ntwo");
    opened.endpoint.close().await.unwrap();
    assert_eq!(pretend.live.load(Ordering::SeqCst), 0);
    opened.endpoint.close().await.unwrap();
}

#[tokio::test]
async fn a_container_that_is_dropped_is_removed() {
    let (pretend, source) = source(Some(streamable(Heard::default())));
    let opened = source.open(map(json!({"image": "x"}))).await.unwrap();
    assert_eq!(opened.endpoint.list().await.unwrap().len(), 4, "/mcp serves where there is no /sse");
    assert!(pretend.commands.lock().unwrap().is_empty());
    drop(opened);
    until_gone(&pretend).await;
}

#[tokio::test]
async fn a_server_that_does_not_come_up_is_a_health_timeout_and_its_container_is_removed() {
    let unwell = Router::new().route("/sse", get(|| async { StatusCode::SERVICE_UNAVAILABLE }));
    let elsewhere = Router::new().route("/other", get(|| async { "hello" }));
    let silent = Router::new().route("/sse", get(std::future::pending::<()>));
    for (router, seen) in [
        (None, "with: connection refused;"),
        (Some(unwell), "with: HTTP status 503 at /sse;"),
        (Some(elsewhere), "with: HTTP status 404 at /sse, 404 at /mcp;"),
        (Some(silent), "with: no answer;"),
    ] {
        let listens = router.is_some();
        let (pretend, source) = source(router);
        let source = source.with_budget(Duration::from_secs(1));
        let error = source.open(map(json!({"image": "x"}))).await.err().unwrap();
        assert_eq!(error.code(), ErrorCode::HealthTimeout);
        assert_eq!(error.message(), "container not healthy: health timeout after 1s");
        let (hint, port) = (error.hint().unwrap(), if listens { "localhost:" } else { "localhost:1 was" });
        assert!(hint.starts_with(port) && hint.contains(seen), "{hint}");
        assert_eq!(pretend.live.load(Ordering::SeqCst), 0);
    }
}

#[tokio::test]
async fn a_server_that_comes_up_late_is_waited_for() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    let late =
        axum::middleware::from_fn(move |request: axum::extract::Request, next: axum::middleware::Next| {
            let counted = counted.clone();
            async move {
                match counted.fetch_add(1, Ordering::SeqCst) {
                    0..3 => axum::response::IntoResponse::into_response(StatusCode::BAD_GATEWAY),
                    _ => next.run(request).await,
                }
            }
        });
    let (_, source) = source(Some(legacy(Heard::default()).layer(late)));
    source.open(map(json!({"image": "x"}))).await.unwrap().endpoint.close().await.unwrap();
    assert!(asked.load(Ordering::SeqCst) > 4);
}

#[tokio::test]
async fn whatever_fails_after_the_start_removes_the_container() {
    // The stream opens and tells a foreign place.
    let bad = Router::new().route(
        "/sse",
        get(|| async {
            ([("content-type", "text/event-stream")], "event: endpoint\ndata: http://example.com/\n\n")
        }),
    );
    let (pretend, source) = source(Some(bad));
    let error = source.open(map(json!({"image": "x"}))).await.err().unwrap();
    assert_eq!(error.code(), ErrorCode::ProviderUnavailable);
    assert_eq!(pretend.live.load(Ordering::SeqCst), 0);
    *pretend.exit.lock().unwrap() = (128, format!("{}fatal: no \u{1b}[31msuch branch", "x".repeat(5_000)));
    let source = source.with_network(true);
    let args = map(json!({"image": "x", "repo": "r", "network": true}));
    let error = source.open(args).await.err().unwrap();
    assert!(
        error.message().contains("git ended with 128") && error.message().ends_with("such branch"),
        "{error}"
    );
    assert!(error.message().len() < 1_200 && !error.message().contains('\u{1b}'));
    assert_eq!(pretend.live.load(Ordering::SeqCst), 0);
    assert_eq!(source.open(map(json!({"image": "absent"}))).await.err().unwrap().code(), ErrorCode::NotFound);
}

#[tokio::test]
async fn an_opening_that_is_given_up_removes_the_container() {
    let silent = Router::new().route("/sse", get(std::future::pending::<()>));
    let (pretend, source) = source(Some(silent));
    let source = source.with_budget(Duration::from_secs(600));
    let begun = || pretend.live.load(Ordering::SeqCst) > 0;
    tokio::select! {
        _ = source.open(map(json!({"image": "x"}))) => panic!("nobody answers"),
        () = wait_until_async("the container is started", PATIENCE, begun) => {}
    }
    until_gone(&pretend).await;
}

#[tokio::test]
async fn mounts_are_those_of_the_operators_rule_as_for_every_source() {
    let folder = tempfile::tempdir().unwrap();
    let (pretend, source) = source(None);
    let source = source.with_mountable(Mountable::default().folder(folder.path(), Access::ReadOnly).unwrap());
    let args = |source: &std::path::Path, readonly: bool| {
        let mount = json!({"source": source, "target": "/x", "readonly": readonly});
        map(json!({"image": "x", "mounts": [mount]}))
    };
    source.check(&args(folder.path(), true)).unwrap();
    for (folder, readonly) in [(folder.path(), false), (std::path::Path::new("/"), true)] {
        assert_eq!(source.check(&args(folder, readonly)).unwrap_err().code(), ErrorCode::PathDenied);
        assert_eq!(source.open(args(folder, readonly)).await.err().unwrap().code(), ErrorCode::PathDenied);
    }
    assert!(pretend.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_container_has_a_network_only_where_its_entry_asks_and_the_operator_allows_it() {
    let (pretend, source) = source(Some(streamable(Heard::default())));
    let args = map(json!({"image": "x", "network": true}));
    for error in [source.check(&args).unwrap_err(), source.open(args.clone()).await.err().unwrap()] {
        assert_eq!(error.code(), ErrorCode::CapabilityUnavailable);
        assert!(error.hint().is_some_and(|hint| hint.contains("--docker-network")), "{error}");
    }
    let source = source.with_network(true);
    source.check(&args).unwrap();
    for args in [args, map(json!({"image": "x", "network": false})), map(json!({"image": "x"}))] {
        source.open(args).await.unwrap().endpoint.close().await.unwrap();
    }
    let asked: Vec<bool> = pretend.asked.lock().unwrap().iter().map(|ask| ask.network).collect();
    assert_eq!(asked, [true, false, false]);
}

#[tokio::test]
async fn without_an_engine_it_says_what_it_lacks_after_what_is_wrong_with_the_arguments() {
    let source = DockerSource::lacking("no image is allowed", "allow one with --docker-image");
    assert!(source.takes_mounts());
    assert_eq!(source.check(&map(json!({"immage": "x"}))).unwrap_err().code(), ErrorCode::ArgsInvalid);
    let args = map(json!({"image": "x"}));
    for error in [source.check(&args).unwrap_err(), source.open(args).await.err().unwrap()] {
        assert_eq!(
            (error.code(), error.message()),
            (ErrorCode::CapabilityUnavailable, "no image is allowed")
        );
        assert_eq!(error.hint(), Some("allow one with --docker-image"));
    }
}

/// S0-22, S0-29: cloned by the host where the operator allows the address; nothing of the container's is asked for it.
#[tokio::test]
async fn a_repository_that_the_operator_allows_is_cloned_by_the_host_and_put_in_before_the_start() {
    let (pretend, source) = source(Some(streamable(Heard::default())));
    let clones = Clones::default();
    let source = source.with_repositories(Arc::new(clones.clone()));
    let with = |more: Json| {
        let mut args = map(json!({"image": "x", "repo": "https://allowed/r.git"}));
        args.extend(map(more));
        args
    };
    for (more, file) in [(json!({}), "its own"), (json!({"branch": "side"}), "side")] {
        source.check(&with(more.clone())).unwrap();
        source.open(with(more)).await.unwrap().endpoint.close().await.unwrap();
        assert_eq!(pretend.given.lock().unwrap().pop().unwrap(), [file]);
    }
    assert_eq!(*clones.cloned.lock().unwrap(), ["https://allowed/r.git"; 2]);
    assert_eq!(clones.ended.load(Ordering::SeqCst), 2, "what was cloned goes when it is in the container");
    assert!(pretend.asked.lock().unwrap().iter().all(|ask| !ask.network));
    assert!(pretend.commands.lock().unwrap().is_empty(), "no program of the container's clones");
    // What cannot be cloned, or started, leaves nothing.
    let error = source.open(with(json!({"branch": "none"}))).await.err().unwrap();
    assert!(error.message().ends_with("no such branch"), "{error}");
    let error = source.open(with(json!({"image": "absent"}))).await.err().unwrap();
    assert_eq!(error.code(), ErrorCode::NotFound);
    assert_eq!(clones.ended.load(Ordering::SeqCst), 3);
    assert_eq!(pretend.live.load(Ordering::SeqCst), 0);
    // It has the folder for itself.
    let folder = tempfile::tempdir().unwrap();
    let mount =
        |target: &str| json!({"mounts": [{"source": folder.path(), "target": target, "readonly": true}]});
    for target in ["/workspace", "/workspace/data"] {
        let error = source.check(&with(mount(target))).unwrap_err();
        assert!(error.message().contains("where the repository goes"), "{error}");
    }
    assert_eq!(source.check(&with(mount("/workspaces"))).unwrap_err().code(), ErrorCode::PathDenied);
}

#[tokio::test]
async fn a_repository_that_nobody_allows_is_refused_before_anything_is_opened_or_is_the_containers_own() {
    let (pretend, source) = source(Some(streamable(Heard::default())));
    let args = map(json!({"image": "x", "repo": "https://other/r.git"}));
    let refused = |error: Error| {
        assert_eq!(error.code(), ErrorCode::CapabilityUnavailable);
        let hint = error.hint().unwrap_or_default();
        assert!(hint.contains("--allow-git") && hint.contains("network: true"), "{error}");
    };
    refused(source.check(&args).unwrap_err());
    let clones = Clones::default();
    let source = source.with_repositories(Arc::new(clones.clone())).with_network(true);
    refused(source.check(&args).unwrap_err());
    refused(source.open(args.clone()).await.err().unwrap());
    assert!(pretend.asked.lock().unwrap().is_empty() && clones.cloned.lock().unwrap().is_empty());
    source.check(&map(json!({"image": "x", "repo": "{{scenario.repo}}"}))).unwrap();
    // With a network of its own the container clones what this host may not.
    let mut args = args;
    args.insert("network".into(), true.into());
    source.open(args).await.unwrap().endpoint.close().await.unwrap();
    let clone = ["git", "clone", "--", "https://other/r.git", "/workspace"];
    assert_eq!(*pretend.commands.lock().unwrap(), [clone.map(str::to_owned)]);
    assert!(clones.cloned.lock().unwrap().is_empty());
}

#[test]
fn arguments_are_checked_with_their_names() {
    let (_, source) = source(None);
    let with = |key: &str, value: Json| {
        let mut args = map(json!({"image": "x"}));
        args.insert(key.into(), value);
        args
    };
    let mount = |mount: Json| with("mounts", json!([mount]));
    let fine = [
        map(json!({"image": "{{scenario.image}}"})),
        with("repo", json!("")),
        with("network", json!(false)),
        with("branch", json!("b")),
        with("env", json!({})),
        mount(json!({"source": "{{scenario.d}}", "target": "/x"})),
    ];
    for args in fine {
        source.check(&args).unwrap();
    }
    let refused = [
        (map(json!({})), "`image` is missing"),
        (map(json!({"image": ""})), "`image` is missing"),
        (map(json!({"image": 1})), "`image` is a number, not a text"),
        (map(json!({"image": "--privileged"})), "`image` cannot be"),
        (with("surprise", json!(1)), "no argument `surprise`"),
        (with("repo", json!("-x")), "`repo` cannot be"),
        (with("repo", json!(["x"])), "`repo` is a list"),
        (with("branch", json!("a\nb")), "`branch` cannot be"),
        (with("network", json!("yes")), "`network` is a text, not a flag"),
        (with("env", json!(["A=1"])), "`env` is a list, not a map"),
        (with("env", json!({"A": 1})), "`env.A` is a number, not a text"),
        (with("env", json!({"A=B": "1"})), "no environment variable"),
        (with("env", json!({"A": "x\0"})), "NUL"),
        (with("mounts", json!({})), "`mounts` is a map, not a list"),
        (mount(json!("x")), "`mounts.0` is a text"),
        (mount(json!({"source": "/x"})), "`mounts.0.target` is missing"),
        (mount(json!({"source": "x", "target": "/y"})), "mounts.0.source is no absolute path"),
        (mount(json!({"source": "/x", "target": "y"})), "not a sandbox path"),
        (mount(json!({"source": "/x", "target": "/a/../b"})), "not a sandbox path"),
        (mount(json!({"source": "/x", "target": "/"})), "target is `/`"),
        (mount(json!({"source": "/x", "target": "/y", "readonly": "yes"})), "`mounts.0.readonly` is a text"),
        (mount(json!({"source": "/x", "target": "/y", "mode": "rw"})), "unknown key `mode`"),
        (
            with("mounts", json!([{"source": "/x", "target": "/y"}, {"source": "/z", "target": "/y"}])),
            "two mounts",
        ),
    ];
    for (args, part) in refused {
        let error = source.check(&args).unwrap_err();
        assert_eq!(error.code(), ErrorCode::ArgsInvalid);
        assert!(error.message().contains(part), "{part}: {error}");
    }
}
