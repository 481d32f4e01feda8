//! Containers that serve on a port.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use dormouse_core::sandbox::{Contents, Entry, EntryKind, SpecMount};
use dormouse_core::testing::wait_for_async;
use dormouse_core::{Access, Error, ErrorCode, Result};
use dormouse_docker::PublishedSpec;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::list::{BUSYBOX, PATIENCE, path};
use crate::support::Bench;

fn server() -> PublishedSpec {
    let serve = "mkdir -p /tmp/www; echo \"$WHO\" > /tmp/www/index.html; exec httpd -f -p 8080 -h /tmp/www";
    PublishedSpec {
        command: ["sh", "-c", serve].map(str::to_owned).into(),
        environment: vec![("WHO".into(), "a server".into())],
        ..PublishedSpec::default()
    }
}

async fn get(address: std::net::SocketAddr) -> String {
    wait_for_async("the published port answers", PATIENCE, async || {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(b"GET / HTTP/1.0\r\n\r\n").await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        if answer.is_empty() {
            Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof))
        } else {
            Ok(answer)
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_serves_on_a_port_of_the_loopback_until_it_is_closed() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("a"), "from the host").unwrap();
    let Some(bench) =
        Bench::with("published", |settings| settings.roots = vec![root.path().to_owned()]).await
    else {
        return;
    };
    let mount = |source: &std::path::Path| SpecMount {
        source: source.into(),
        target: path("/data"),
        access: Access::ReadOnly,
    };
    let spec = PublishedSpec { mounts: vec![mount(root.path())], ..server() };
    let published = bench.provider.publish(spec).await.unwrap();
    assert!(published.address().ip().is_loopback());
    assert!(get(published.address()).await.ends_with("a server\n"));
    let text = "cat /data/a; touch /x 2>/dev/null || echo ' no'; exit 3";
    let argv = ["sh", "-c", text].map(str::to_owned);
    let ended = published.exec(argv.into(), Duration::from_secs(10)).await.unwrap();
    assert_eq!((ended.status, ended.stdout.text.as_str()), (3, "from the host no\n"));
    let argv = ["grep", "CapEff", "/proc/self/status"].map(str::to_owned);
    let ended = published.exec(argv.into(), Duration::from_secs(10)).await.unwrap();
    assert!(ended.stdout.text.contains("0000000000000000"), "{}", ended.stdout.text);
    // CON-07: nothing outside it, not even this host; and many at once, each piece as it comes.
    let argv = ["sh", "-c", "ls /sys/class/net; cat /proc/net/route | wc -l"].map(str::to_owned);
    let ended = published.exec(argv.into(), Duration::from_secs(10)).await.unwrap();
    assert_eq!(ended.stdout.text, "lo\n1\n");
    let address = published.address();
    for got in futures::future::join_all((0..100).map(|_| get(address))).await {
        assert!(got.ends_with("a server\n"));
    }
    let slow = ["sleep", "60"].map(str::to_owned);
    let late = published.exec(slow.into(), Duration::from_millis(200)).await.unwrap_err();
    assert_eq!(late.code(), ErrorCode::HealthTimeout);
    published.close().await.unwrap();
    assert_eq!(bench.left().await, (0, 0));
    assert!(TcpStream::connect(address).await.is_err(), "nobody listens any more");
    // Dropped, or given up while it starts, it goes as well.
    drop(bench.provider.publish(server()).await.unwrap());
    let starting = bench.provider.publish(server());
    assert!(tokio::time::timeout(Duration::from_millis(30), starting).await.is_err());
    // CON-05: the same rules for folders of the host.
    let denied = PublishedSpec { mounts: vec![mount(std::path::Path::new("/"))], ..server() };
    assert_eq!(bench.provider.publish(denied).await.err().unwrap().code(), ErrorCode::PathDenied);
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_has_a_network_where_it_is_to_have_one() {
    let Some(bench) = Bench::new("published_network").await else { return };
    let networks = bench.docker.list_networks(None).await.unwrap();
    if !networks.iter().any(|network| network.name.as_deref() == Some("bridge")) {
        println!("skipped: published_network: the engine has no bridge network");
        return bench.end().await;
    }
    let published = bench.provider.publish(PublishedSpec { network: true, ..server() }).await.unwrap();
    assert!(get(published.address()).await.ends_with("a server\n"));
    let argv = ["ls", "/sys/class/net"].map(str::to_owned);
    let ended = published.exec(argv.into(), Duration::from_secs(10)).await.unwrap();
    assert!(ended.stdout.text.contains("eth0"), "{}", ended.stdout.text);
    published.close().await.unwrap();
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_server_sends_comes_at_once_and_an_end_is_an_end_on_both_sides() {
    let Some(bench) = Bench::new("published_pieces").await else { return };
    // Says a word, waits for one, says it back, and ends.
    let serve =
        "echo 'echo ready; read word; echo \"[$word]\"' > /tmp/say; exec nc -ll -p 8080 -e sh /tmp/say";
    let command = ["sh", "-c", serve].map(str::to_owned).into();
    let published =
        bench.provider.publish(PublishedSpec { command, ..PublishedSpec::default() }).await.unwrap();
    let mut stream = wait_for_async("the program greets", PATIENCE, async || {
        let mut stream = TcpStream::connect(published.address()).await.unwrap();
        stream.read_exact(&mut [0; 6]).await.map(|_| stream)
    })
    .await;
    stream.write_all(b"word\n").await.unwrap();
    let mut heard = String::new();
    stream.read_to_string(&mut heard).await.unwrap();
    assert_eq!(heard, "[word]\n");
    published.close().await.unwrap();
    bench.end().await;
}

/// Files that a container begins with: a text, a program and a link in a folder.
struct Begins {
    fails: bool,
}

#[async_trait]
impl Contents for Begins {
    async fn list(&self) -> Result<Vec<Entry>> {
        let entry = |path: &str, kind, bytes, target: Option<&str>| Entry {
            path: path.into(),
            kind,
            bytes,
            modified_ms: 1_700_000_000_000,
            target: target.map(str::to_owned),
        };
        Ok(vec![
            entry("below", EntryKind::Folder, 0, None),
            entry("below/run", EntryKind::File, 19, None),
            entry("link", EntryKind::Link, 0, Some("../workspace/below/run")),
            entry("text", EntryKind::File, 5, None),
        ])
    }

    async fn read(&self, path: &str, offset: u64, _: u64) -> Result<Vec<u8>> {
        match (path, offset) {
            ("below/run", 0) => Ok(b"#!/bin/sh\necho ran\n".to_vec()),
            ("text", 0) if self.fails => Err(Error::new(ErrorCode::NotFound, "it is gone")),
            ("text", 0) => Ok(b"text\n".to_vec()),
            _ => Ok(Vec::new()),
        }
    }
}

/// S0-22: files are there before the container's own command begins, and belong to whoever the image runs.
#[tokio::test(flavor = "multi_thread")]
async fn a_container_begins_with_the_files_that_it_is_given() {
    let Some(bench) = Bench::new("published_begins").await else { return };
    let begins = |image: &str, fails| PublishedSpec {
        image: Some(image.into()),
        // What is there when it begins is kept aside.
        command: ["sh", "-c", "cat /workspace/text > /tmp/first; exec sleep 600"].map(str::to_owned).into(),
        writable: true,
        workspace: Some(Arc::new(Begins { fails })),
        ..PublishedSpec::default()
    };
    for (image, user) in [(BUSYBOX, "0:0"), ("dormouse-test/surprise:1", "1234:1234")] {
        if !bench.has("published_begins", image).await {
            continue;
        }
        let mut spec = begins(image, false);
        if image != BUSYBOX {
            // Its own command does not end.
            spec.command = Vec::new();
        }
        let published = bench.provider.publish(spec).await.unwrap();
        let text = "cd /workspace && cat text && ./link && stat -c %u:%g . text below link && touch below/mine && echo written";
        let argv = ["sh", "-c", text].map(str::to_owned);
        let ended = published.exec(argv.into(), Duration::from_secs(10)).await.unwrap();
        let wanted = format!("text\nran\n{user}\n{user}\n{user}\n{user}\nwritten\n");
        assert_eq!(ended.stdout.text, wanted, "{image}: {}", ended.stderr.text);
        if image == BUSYBOX {
            let argv = ["sh", "-c", "cat /tmp/first"].map(str::to_owned);
            let ended = published.exec(argv.into(), Duration::from_secs(10)).await.unwrap();
            assert_eq!(ended.stdout.text, "text\n");
        }
        published.close().await.unwrap();
    }
    let error = bench.provider.publish(begins(BUSYBOX, true)).await.err().unwrap();
    assert_eq!((error.code(), error.message()), (ErrorCode::NotFound, "it is gone"));
    bench.end().await;
}
