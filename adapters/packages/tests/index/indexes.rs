//! Indexes that are slow, gone, or lead elsewhere; what the operator allows; what the cache keeps.

use std::sync::Arc;
use std::time::Duration;

use dormouse_core::packages::{PackageManager, PackageRequest, Packages as _};
use dormouse_core::sandbox::Owner;
use dormouse_core::testing::wait_until_async;
use dormouse_core::{ErrorCode, Resolve};
use dormouse_packages::{AllowList, Bounds, Index, Indexes, Mode, Settings};
use serde_json::json;

use crate::build::{Form, Tarball, Wheel, package, project};
use crate::server::{Say, Server};
use crate::{fetch, names, pip, request, settings, told};

const WHEEL: &str = "/files/lib-1.0-py3-none-any.whl";

async fn one() -> Server {
    let server = Server::start().await;
    project(&server, Form::Json, &[Wheel::new("lib", "1.0")]);
    package(&server, &[Tarball::new("lib", "1.0.0")]);
    server
}

#[tokio::test]
async fn off_is_the_default_and_the_hint_names_the_setting() {
    let server = one().await;
    let off = Settings { mode: Mode::Off, ..settings(&server) };
    for manager in [PackageManager::Pip, PackageManager::Npm] {
        let error = fetch(off.clone(), request(manager, &["lib"])).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::CapabilityUnavailable);
        assert!(told(&error).contains("DORMOUSE_PACKAGES"), "{error}");
        let none = Settings { pip: None, npm: None, ..settings(&server) };
        let error = fetch(none, request(manager, &["lib"])).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::CapabilityUnavailable);
    }
    assert_eq!(Settings::default().mode, Mode::Off);
    assert!(server.asked().is_empty());
}

#[tokio::test]
async fn only_allowed_names_are_fetched_dependencies_included() {
    let server = one().await;
    project(&server, Form::Json, &[Wheel::new("app", "1.0").requires("lib")]);
    package(&server, &[Tarball::new("app", "1.0.0").needs(json!({"lib": "1"}))]);
    let allow = AllowList::parse(["app"]).unwrap();
    for manager in [PackageManager::Pip, PackageManager::Npm] {
        for name in ["app", "lib"] {
            let only = Settings { allow: allow.clone(), ..settings(&server) };
            let error = fetch(only, request(manager, &[name])).await.unwrap_err();
            assert_eq!(error.code(), ErrorCode::CapabilityUnavailable);
            let told = told(&error);
            assert!(told.contains("`lib`") && told.contains("DORMOUSE_PACKAGE_ALLOW"), "{told}");
        }
    }
    assert!(server.asked().iter().all(|asked| !asked.path.contains("lib")));
}

#[tokio::test]
async fn an_index_that_is_gone_is_told() {
    let server = Server::start().await;
    server.stop();
    let error = pip(&server, &["lib"]).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::IndexUnavailable);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://me:secret@{}/simple", listener.local_addr().unwrap());
    drop(listener);
    let gone = Settings { pip: Some(Index::parse(&url).unwrap()), ..settings(&server) };
    let error = fetch(gone, request(PackageManager::Pip, &["lib"])).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::IndexUnavailable);
    assert!(error.message().contains("cannot be reached"), "{error}");
    assert!(!format!("{error:?}").contains("secret"));
}

#[tokio::test]
async fn pkg_02_silence_ends_a_call() {
    for say in [Say::Silent, Say::Stalled] {
        let server = one().await;
        server.put("/simple/lib/", say.clone());
        server.put("/npm/lib", say);
        for manager in [PackageManager::Pip, PackageManager::Npm] {
            let short = Settings { stall: Duration::from_millis(200), ..settings(&server) };
            let error = fetch(short, request(manager, &["lib"])).await.unwrap_err();
            assert_eq!(error.code(), ErrorCode::IndexUnavailable);
            assert!(error.message().contains("silent for 0.2 s"), "{error}");
        }
        let short = Settings { time: Duration::from_millis(200), ..settings(&server) };
        let error = fetch(short, request(PackageManager::Pip, &["lib"])).await.unwrap_err();
        assert!(error.message().contains("within 0.2 s"), "{error}");
    }
}

#[tokio::test]
async fn statuses_are_told_and_passing_ones_tried_again() {
    for (status, tries) in [(401, 1), (403, 1), (400, 1), (500, 3), (503, 3), (429, 3)] {
        let server = one().await;
        server.put("/simple/lib/", Say::Status(status));
        let error = pip(&server, &["lib"]).await.unwrap_err();
        assert_eq!((error.code(), server.asked().len()), (ErrorCode::IndexUnavailable, tries));
        assert!(error.message().contains(&status.to_string()), "{error}");
    }
    let server = one().await;
    server.put("/simple/lib/", Say::Body("application/json", b"[]".to_vec()));
    assert_eq!(pip(&server, &["lib"]).await.unwrap_err().code(), ErrorCode::IndexUnavailable);
    let error = pip(&server, &["nobody"]).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::NotFound);
    assert!(error.message().contains("`nobody`"), "{error}");
}

#[tokio::test]
async fn pkg_05_redirects_stay_with_the_index() {
    let server = one().await;
    let other = one().await;
    server.put("/simple/moved/", Say::Redirect("/simple/lib/".into()));
    server.put(WHEEL, Say::Redirect(format!("{}{WHEEL}", other.url)));
    // The same machine by its own number: followed.
    assert_eq!(names(&pip(&server, &["lib"]).await.unwrap()), ["lib 1.0"]);
    let port = other.url.rsplit(':').next().unwrap().to_owned();
    other.asked();
    for target in
        [format!("http://localhost:{port}"), format!("http://127.0.0.2:{port}"), "file:///etc".into()]
    {
        server.put(WHEEL, Say::Redirect(format!("{target}{WHEEL}")));
        let error = pip(&server, &["lib"]).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::IndexUnavailable, "{target}");
        server.put("/npm/lib", Say::Redirect(format!("{target}/npm/lib")));
        let error = fetch(settings(&server), request(PackageManager::Npm, &["lib"])).await.unwrap_err();
        assert!(error.message().contains("not followed"), "{error}");
    }
    assert!(other.asked().is_empty());
    server.put(WHEEL, Say::Redirect(WHEEL.into()));
    let error = pip(&server, &["lib"]).await.unwrap_err();
    assert!(error.message().contains("without an end"), "{error}");
}

/// Every name is this machine's.
#[derive(Debug)]
struct Inner;

#[async_trait::async_trait]
impl Resolve for Inner {
    async fn resolve(&self, _: &str) -> std::io::Result<Vec<std::net::IpAddr>> {
        Ok(vec!["127.0.0.1".parse().unwrap()])
    }
}

#[tokio::test]
async fn pkg_05_names_that_lead_inside_are_not_followed_unless_the_operator_wrote_them() {
    let (server, other) = (one().await, one().await);
    let by_name = |server: &Server, name: &str| server.url.replace("127.0.0.1", name);
    let own = Index::parse(&format!("{}/simple", by_name(&server, "index.corp.example"))).unwrap();
    let with = Settings { pip: Some(own), names: Some(Arc::new(Inner)), ..settings(&server) };
    let fetched = async || fetch(with.clone(), request(PackageManager::Pip, &["lib"])).await;
    assert_eq!(names(&fetched().await.unwrap()), ["lib 1.0"]);
    server.put(WHEEL, Say::Redirect(format!("{}{WHEEL}", by_name(&other, "files.example"))));
    let error = fetched().await.unwrap_err();
    assert!(error.message().contains("not followed") && !error.message().contains("127.0"), "{error}");
    assert!(other.asked().is_empty());
    // The host that the operator wrote, at another port.
    server.put(WHEEL, Say::Redirect(format!("{}{WHEEL}", by_name(&other, "index.corp.example"))));
    assert_eq!(names(&fetched().await.unwrap()), ["lib 1.0"]);
}

#[tokio::test]
async fn pkg_05_the_secret_goes_to_the_index_only() {
    let (server, other) = (one().await, one().await);
    server.put(WHEEL, Say::Redirect(format!("{}{WHEEL}", other.url)));
    let url = server.url.replace("http://", "http://me:pass@");
    let with = Settings { pip: Some(Index::parse(&format!("{url}/simple")).unwrap()), ..settings(&server) };
    fetch(with, request(PackageManager::Pip, &["lib"])).await.unwrap();
    assert!(server.asked().iter().all(|asked| asked.headers["authorization"] == "Basic bWU6cGFzcw=="));
    let elsewhere = other.asked();
    assert!(elsewhere.len() == 1 && !elsewhere[0].headers.contains_key("authorization"));
    let npm = Index::parse(&format!("{}/npm", server.url)).unwrap().with_token("tok").unwrap();
    let with = Settings { npm: Some(npm), ..settings(&server) };
    fetch(with, request(PackageManager::Npm, &["lib"])).await.unwrap();
    assert!(server.asked().iter().all(|asked| asked.headers["authorization"] == "Bearer tok"));
}

#[tokio::test]
async fn pkg_03_the_cache_serves_without_the_index_and_is_not_believed() {
    let server = one().await;
    let folder = tempfile::tempdir().unwrap();
    let kept = Settings { cache: Some(folder.path().to_owned()), ..settings(&server) };
    for manager in [PackageManager::Pip, PackageManager::Npm] {
        fetch(kept.clone(), request(manager, &["lib"])).await.unwrap();
    }
    server.asked();
    for manager in [PackageManager::Pip, PackageManager::Npm] {
        let fetched = fetch(kept.clone(), request(manager, &["lib"])).await.unwrap();
        assert!(fetched.packages.len() == 1 && fetched.notes.is_empty());
    }
    assert!(server.asked().is_empty(), "all was in the cache");
    server.stop();
    let old = Settings { page_life: Duration::ZERO, ..kept.clone() };
    for manager in [PackageManager::Pip, PackageManager::Npm] {
        let fetched = fetch(old.clone(), request(manager, &["lib"])).await.unwrap();
        assert!(fetched.notes[0].contains("cannot be reached"), "{:?}", fetched.notes);
    }
    for entry in std::fs::read_dir(folder.path()).unwrap().flatten() {
        let mut bytes = std::fs::read(entry.path()).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(entry.path(), bytes).unwrap();
    }
    for manager in [PackageManager::Pip, PackageManager::Npm] {
        let error = fetch(kept.clone(), request(manager, &["lib"])).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::IndexUnavailable);
    }
}

#[tokio::test]
async fn bounds_hold() {
    let server = one().await;
    project(&server, Form::Json, &[Wheel::new("app", "1.0").requires("lib")]);
    package(&server, &[Tarball::new("app", "1.0.0").needs(json!({"lib": "1"}))]);
    for bounds in [
        Bounds { packages: 1, ..Bounds::default() },
        Bounds { archive: 100, ..Bounds::default() },
        Bounds { unpacked: 100, ..Bounds::default() },
        Bounds { page: 100, ..Bounds::default() },
    ] {
        for manager in [PackageManager::Pip, PackageManager::Npm] {
            let small = Settings { bounds, ..settings(&server) };
            let error = fetch(small, request(manager, &["app"])).await.unwrap_err();
            assert_eq!(error.code(), ErrorCode::TooLarge, "{bounds:?} {manager:?}: {error}");
        }
    }
}

/// Waits until the wheel has been asked for so many times. What else was asked is forgotten.
async fn wait_for_wheels(server: &Server, count: usize) {
    let mut seen = 0;
    wait_until_async("the wheel is asked for", Duration::from_secs(60), || {
        seen += server.asked().iter().filter(|asked| asked.path == WHEEL).count();
        seen >= count
    })
    .await;
}

#[tokio::test]
async fn a_dropped_call_asks_no_more() {
    let server = one().await;
    server.put(WHEEL, Say::Stalled);
    let indexes = Indexes::new(settings(&server)).unwrap();
    let wanted = request(PackageManager::Pip, &["lib"]);
    tokio::select! {
        _ = indexes.fetch(&wanted, &|_| {}) => panic!("a stalled index has answered"),
        () = wait_for_wheels(&server, 1) => {}
    }
    // Time in which another request would come.
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(server.asked().is_empty());
}

/// Calls of one owner that wait for a slow index leave places for others: two of four.
#[tokio::test]
async fn pkg_02_an_owner_with_slow_downloads_keeps_no_other_waiting() {
    let server = one().await;
    server.put(WHEEL, Say::Stalled);
    project(&server, Form::Json, &[Wheel::new("app", "1.0")]);
    let indexes = Indexes::new(settings(&server)).unwrap();
    let wanted = |owner: &str, name: &str| PackageRequest {
        owner: Owner::parse(owner).unwrap(),
        ..request(PackageManager::Pip, &[name])
    };
    let slow = (0..6).map(|_| async { indexes.fetch(&wanted("ann", "lib"), &|_| {}).await });
    let slow = futures::future::join_all(slow);
    tokio::pin!(slow);
    let quick = async {
        wait_for_wheels(&server, 2).await;
        tokio::time::timeout(Duration::from_secs(60), indexes.fetch(&wanted("bob", "app"), &|_| {})).await
    };
    tokio::select! {
        _ = &mut slow => panic!("a stalled index has answered"),
        fetched = quick => assert_eq!(fetched.expect("bob waits for ann").unwrap().packages.len(), 1),
    }
}
