//! Containers that serve on a port.

use std::time::Duration;

use dormouse_core::sandbox::SpecMount;
use dormouse_core::{Access, ErrorCode};
use dormouse_docker::PublishedSpec;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::support::{Bench, path};

fn server() -> PublishedSpec {
    let serve = "mkdir -p /tmp/www; echo \"$WHO\" > /tmp/www/index.html; exec httpd -f -p 8080 -h /tmp/www";
    PublishedSpec {
        command: ["sh", "-c", serve].map(str::to_owned).into(),
        environment: vec![("WHO".into(), "a server".into())],
        ..PublishedSpec::default()
    }
}

async fn get(address: std::net::SocketAddr) -> String {
    for _ in 0..100 {
        if let Ok(mut stream) = TcpStream::connect(address).await {
            let asked = stream.write_all(b"GET / HTTP/1.0\r\n\r\n").await;
            let mut answer = String::new();
            if asked.is_ok() && stream.read_to_string(&mut answer).await.is_ok() && !answer.is_empty() {
                return answer;
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("nobody serves at {address}");
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
    let networks = bench.docker.list_networks(None).await.unwrap();
    if !networks.iter().any(|network| network.name.as_deref() == Some("bridge")) {
        println!("skipped: published: the engine has no bridge network");
        return bench.end().await;
    }
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
    let slow = ["sleep", "60"].map(str::to_owned);
    let late = published.exec(slow.into(), Duration::from_millis(200)).await.unwrap_err();
    assert_eq!(late.code(), ErrorCode::HealthTimeout);
    published.close().await.unwrap();
    assert_eq!(bench.left().await, (0, 0));
    // Dropped, or given up while it starts, it goes as well.
    drop(bench.provider.publish(server()).await.unwrap());
    let starting = bench.provider.publish(server());
    assert!(tokio::time::timeout(Duration::from_millis(30), starting).await.is_err());
    // CON-05: the same rules for folders of the host.
    let denied = PublishedSpec { mounts: vec![mount(std::path::Path::new("/"))], ..server() };
    assert_eq!(bench.provider.publish(denied).await.err().unwrap().code(), ErrorCode::PathDenied);
    bench.end().await;
}
